"""Memory that was freed goes back to the operating system."""

import platform
import sys
from pathlib import Path
from unittest import mock

import pytest

from shoal.base.memory import give_back_memory


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="another allocator than glibc's"
)
def test_small_pieces_are_given_back() -> None:
    pieces = [bytes(2_000) for _ in range(50_000)]
    last = bytes(2_000)  # without it, the allocator would give back everything that lies before
    pieces.clear()
    before = _resident()
    give_back_memory(10_000)
    assert _resident() < before - 50_000_000
    assert len(last) == 2_000


def test_it_does_no_harm() -> None:
    give_back_memory(10_000)


def test_after_a_small_table_nothing_is_returned() -> None:
    with mock.patch("shoal.base.memory._trim") as trim:
        give_back_memory(9_999)
        trim.return_value.assert_not_called()
        give_back_memory(10_000)
        trim.return_value.assert_called_once_with(0)
