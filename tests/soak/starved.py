"""The process of the campaign "allocations": allocations of kernels fail in turn while worlds are released.

``LD_PRELOAD=failing_new.so python starved.py SEED WORLDS FOLDER``
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # helpers of all tests

import worlds

import shoal
from shoal.kernels import _native

IN_TURN = 40
"""Number of first allocations of a call that fail in turn; of the later ones, a random choice fails."""
ATTEMPTS = 40
"""How often a world may begin anew."""
ENOUGH = 2**40
"""More allocations than any kernel makes."""
ALLOCATOR = ctypes.CDLL(None)


class Starved:
    """Lets allocations of kernels fail, one after the other.

    A function is called until it succeeds: each time, another of its allocations fails. An object may be
    unusable after a failure, so a failure in one of its methods ends the world, which then begins anew.

    Parameters
    ----------
    draw
        Where random choices come from.
    calling
        A file that has the name of the kernel which is called.
    """

    def __init__(self, draw: random.Random, calling: Path) -> None:
        self.draw = draw
        self.calling = os.open(calling, os.O_WRONLY | os.O_CREAT)
        self.failed = 0
        self.called = 0
        self.for_good = False
        self.spared: dict[str, int] = {}

    def function(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function, or a class, that is called until no allocation fails."""

        def call(*given: Any, **named: Any) -> Any:
            spared = 0
            held = ALLOCATOR.shoal_held()
            while True:
                result = None  # what a call returned that could do without an allocation is no leak
                try:
                    result, failed = self.once(name, spared, kernel, given, named)
                except MemoryError:
                    failed = True
                    if (kept := ALLOCATOR.shoal_held() - held) > 0:
                        raise RuntimeError(
                            f"{name}, allocation {spared}: {kept} pieces of memory leak"
                        ) from None
                if not failed:
                    if type(result).__module__.endswith("_native"):
                        return Kept(self, name, result)
                    return result
                spared = self.next(spared)

        return call

    def method(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of which another allocation fails in each world that calls it, until none does."""

        def call(*given: Any, **named: Any) -> Any:
            spared = self.spared.get(name, 0)
            result, failed = self.once(name, spared, kernel, given, named)
            self.spared[name] = self.next(spared) if failed else ENOUGH
            return result

        return call

    def once(
        self, name: str, spared: int, kernel: Callable[..., Any], given: Any, named: Any
    ) -> tuple[Any, bool]:
        """Return the result of a kernel of which an allocation fails, and whether one did."""
        given = tuple(bare(each) for each in given)
        named = {word: bare(each) for word, each in named.items()}
        told = f"{name}, allocation {spared}{' and all after it' if self.for_good else ''}"
        os.pwrite(self.calling, told.ljust(200, "\0").encode(), 0)
        self.called += 1
        ALLOCATOR.shoal_arm(spared, self.for_good)
        try:
            result = kernel(*given, **named)
        except MemoryError:
            if not ALLOCATOR.shoal_disarm():
                raise RuntimeError(f"{told}: no memory, although no allocation failed") from None
            self.failed += 1
            self.spared[name] = self.next(spared)
            raise
        except BaseException:
            ALLOCATOR.shoal_disarm()
            raise
        failed = bool(ALLOCATOR.shoal_disarm())
        self.failed += failed
        return result, failed

    def next(self, spared: int) -> int:
        """Return which allocation fails next."""
        return spared + (1 if spared < IN_TURN else self.draw.randint(1, spared))


class Kept:
    """An object of the native module whose methods are starved."""

    def __init__(self, starved: Starved, name: str, kept: Any) -> None:
        self._starved, self._name, self._kept = starved, name, kept

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._kept, attribute)
        return self._starved.method(f"{self._name}.{attribute}", found) if callable(found) else found


def bare(value: Any) -> Any:
    """Return an argument as kernels take it."""
    if isinstance(value, Kept):
        return value._kept
    if isinstance(value, (list, tuple)) and any(isinstance(each, Kept) for each in value):
        return type(value)(bare(each) for each in value)
    return value


def main(seed: str, count: str, folder: str) -> None:
    """Release and judge some worlds with starved kernels; print how many allocations failed."""
    warnings.simplefilter("ignore", shoal.ShoalWarning)
    draw = random.Random(seed)
    starved = Starved(draw, Path(folder) / "calling")
    for name, kernel in vars(_native).copy().items():
        if callable(kernel) and not name.startswith("_"):
            setattr(_native, name, starved.function(name, kernel))
    for number in range(int(count)):
        seed = str(draw.random())
        starved.for_good = draw.random() < 0.5
        starved.spared.clear()
        for attempt in range(ATTEMPTS):
            inside = Path(folder) / f"{number} {attempt}"
            inside.mkdir()
            try:
                worlds.case(random.Random(seed), inside)
            except MemoryError:
                continue
            break
    print(starved.failed, starved.called)


if __name__ == "__main__":
    main(*sys.argv[1:])
