"""Progress that also moves while a kernel works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.kernels import listening
from shoal.methods.method import Progress


class MovingProgress:
    """Passes progress on, and continues it while kernels say how far they are.

    What a kernel does lies between two reports of a method. The next report is expected as far ahead as the
    last one was from the one before, or at the end of the stage if there was none. A kernel fills half of
    what is left until there, and so does each further one. What is shown never goes back within a stage.

    Parameters
    ----------
    progress
        Called with the current stage and the share of it that is done.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage = ""
        self._reported = self._expected = 0.0
        self._shown = self._start = self._heard = 0.0

    def __call__(self, stage: str, share: float) -> None:
        """Report what a method reports."""
        step = share - self._reported if stage == self._stage else 0.0
        if stage != self._stage:
            self._stage, self._shown = stage, 0.0
        self._expected = min(share + step, 1.0) if step > 0 else 1.0
        self._reported = share
        self._show(max(share, self._shown))
        self._start, self._heard = self._shown, 0.0

    def hear(self, done: float) -> None:
        """Report the share of its work that a kernel has done."""
        if not self._stage:
            return
        if done < self._heard:  # another kernel
            self._start = self._shown
        self._heard = done
        self._show(
            max(self._shown, self._start + max(self._expected - self._start, 0.0) / 2 * min(done, 1.0))
        )

    def _show(self, share: float) -> None:
        self._shown = share
        self._progress(self._stage, share)


@contextmanager
def paced(progress: Progress) -> Iterator[Progress]:
    """Yield a callback for progress that also moves while a kernel works."""
    pace = MovingProgress(progress)
    with listening(pace.hear):
        yield pace
