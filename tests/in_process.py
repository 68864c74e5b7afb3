"""Workers of blocks and of compared runs in this process, one after the other, to save their start."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def workers_in_this_process() -> Iterator[None]:
    """Let workers run here, unless a run has a time limit or was stopped."""
    from shoal.engines import workers  # late: not before the compiled core is chosen
    from shoal.engines.workers import Crew

    in_a_process = Crew.ask

    def ask(self: Crew, code: str, task: bytes) -> dict[str, Any]:
        if self._limit is not None or self._stopped:
            return in_a_process(self, code, task)
        asked, told = io.BytesIO(), io.BytesIO()
        workers._send(asked, task)
        asked.seek(0)
        with (
            _ONE_AT_A_TIME,
            mock.patch.object(sys, "stdin", SimpleNamespace(buffer=asked)),
            mock.patch.object(sys, "stdout", SimpleNamespace(buffer=told)),
            mock.patch("shoal.base.starting.loading", nullcontext),  # what tests left is still collected
        ):
            exec(code, {})
        told.seek(0)
        answer: dict[str, Any] = json.loads(workers._received(told) or b"")
        return answer

    with mock.patch.object(Crew, "ask", ask):
        yield
