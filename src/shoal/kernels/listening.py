"""How far a kernel is: long loops tell a listener, a few times a second, the share of their turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shoal.kernels import _native

Listener = Callable[[float], None]
"""Called with the share of its work that a kernel has done; may raise to end the kernel."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let kernels that are called meanwhile, in the same thread, tell how far they are.

    Parameters
    ----------
    listener
        Called about five times a second while a kernel works.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _tell(done: float) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(done)


_native.listen(_tell)
