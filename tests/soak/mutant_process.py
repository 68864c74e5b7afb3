"""A process in which one module is changed: a copy of this one, so that nothing is loaded again."""

from __future__ import annotations

import ast
import gc
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

SURVIVED, KILLED, KILLED_BY_TESTS, NOT_APPLIED, TOO_SLOW = 0, 1, 2, 77, 78
WAITING = 20
"""How many seconds may pass for each second of processor time; more of them mean that nothing happens."""


def tried(file: Path, tree: ast.Module, judge: Callable[[], int], seconds: float) -> int:
    """Return how the judgement of a changed module ended: killed and by what, too slow, or survived.

    Parameters
    ----------
    file, tree
        The module, and its changed code. Only bodies of functions may differ.
    judge
        Called in the other process; returns one of `SURVIVED`, `KILLED` and `KILLED_BY_TESTS`.
    seconds
        How much processor time it may take: on a busy machine, that is far less than the time by the clock.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        limit_time(seconds)
        quiet()
        try:
            applied = apply(compile(tree, str(file), "exec", dont_inherit=True), file)
            os._exit(judge() if applied else NOT_APPLIED)
        except BaseException:  # whatever it is, the change was noticed
            os._exit(KILLED_BY_TESTS)
    end = time.monotonic() + WAITING * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            ended = (SURVIVED, KILLED, NOT_APPLIED)
            return TOO_SLOW if code == -signal.SIGXCPU else code if code in ended else KILLED_BY_TESTS
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TOO_SLOW


def threads() -> list[str]:
    """Return the names of the threads of this process; none where that is not told."""
    return [each.read_text().strip() for each in Path("/proc/self/task").glob("*/comm")]


def limit_time(seconds: float) -> None:
    """Let the operating system end this process after some processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 10))


def apply(code: CodeType, file: Path) -> bool:
    """Give all functions of a loaded module the code that they have in another version of it.

    Returns
    -------
    bool
        Whether all of them have it.
    """
    new = {(each.co_qualname, each.co_firstlineno): each for each in _functions(code)}
    found = 0
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        old = function.__code__
        other = new.get((old.co_qualname, old.co_firstlineno))
        if other is None or Path(old.co_filename) != file:
            continue
        if len(other.co_freevars) != len(old.co_freevars):
            return False
        function.__code__ = other
        found += 1
    return found > 0


def _functions(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _functions(each)


def quiet() -> None:
    """Let this process read and write nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
