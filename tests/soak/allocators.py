"""What a process holds: files, threads, and memory, with and without what allocators keep for later."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVERY_ARENA = 4096
"""The number that means all arenas to jemalloc."""


@dataclass(frozen=True)
class Held:
    """What a process holds at one moment; memory is in bytes, and 0 where that is not told.

    Parameters
    ----------
    files, threads
        The number of open files and of Python's threads.
    before, memory
        The memory of the process before and after its allocators gave back what they keep unused.
    c, arrow
        What was asked for and not given back: with the allocator of the C library, which C++ uses, too, and
        with that of Arrow. The allocator of Polars, jemalloc, is built without such figures.
    blocks
        The number of blocks of memory that Python's objects have.
    """

    files: int
    threads: int
    before: int
    memory: int
    c: int
    arrow: int
    blocks: int

    def __str__(self) -> str:
        """Write it for a person."""
        before, memory, c, arrow = (
            f"{each / 2**20:.1f} MiB" for each in (self.before, self.memory, self.c, self.arrow)
        )
        return (
            f"{memory} ({before} before allocators gave back what they keep), C {c}, Arrow {arrow}, "
            f"{self.blocks:,} blocks of Python, {self.files} files, {self.threads} threads"
        )


def held() -> Held:
    """Return what this process holds, after a collection of garbage."""
    import pyarrow as pa

    gc.collect()
    before = memory()
    give_back()
    return Held(
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        before,
        memory(),
        _of_c(),
        pa.total_allocated_bytes(),
        sys.getallocatedblocks(),
    )


def memory() -> int:
    """Return how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def give_back() -> None:
    """Let the allocators of C and of Polars give back what they keep unused to the operating system."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
    if (tell := _jemalloc()) is not None:
        tell(b"thread.tcache.flush", None, None, None, 0)
        tell(f"arena.{EVERY_ARENA}.purge".encode(), None, None, None, 0)


class _Mallinfo(ctypes.Structure):
    """What `mallinfo2` of glibc returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _of_c() -> int:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return 0
    library.mallinfo2.restype = _Mallinfo
    told = library.mallinfo2()
    return int(told.uordblks + told.hblkhd)


@functools.cache
def _jemalloc() -> Any:
    """Return the function that commands jemalloc, the allocator of Polars; None if there is none.

    It is not exported, so `nm` looks for it.
    """
    maps = Path("/proc/self/maps").read_text()
    mapped = re.findall(r"^([0-9a-f]+)-\S+ \S+ 00000000 .*?(/\S*_polars_runtime\S*)$", maps, re.MULTILINE)
    if not mapped or shutil.which("nm") is None:
        return None
    start, file = mapped[0]
    symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=False).stdout
    at = re.search(r"^([0-9a-f]+) \w _rjem_mallctl$", symbols, re.MULTILINE)
    if at is None:
        return None
    pointer = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, pointer, pointer, pointer, ctypes.c_size_t)
    return kind(int(start, 16) + int(at[1], 16))
