"""What is asked about a release that was made: the answer is kept, and shown only with its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from htmltools import TagChild

from shoal.web.state import Desk, Problems, Run


@dataclass(frozen=True)
class Reply:
    """What came of a question about a release.

    Parameters
    ----------
    run
        The run that was asked about.
    found
        What the task returned.
    command
        The command that does the same; empty if there is none.
    """

    run: Run
    found: dict[str, Any]
    command: str


class Question:
    """A question about releases, with the last answer for each run.

    Answers belong to the desk: a page that is opened again shows them.

    Parameters
    ----------
    desk
        The desk.
    task
        The task that answers.
    fields
        Where errors are shown: at the field that an error names, or at the first of these.
    """

    def __init__(self, desk: Desk, task: str, *fields: str) -> None:
        self._desk = desk
        self._task = task
        self._fields = fields

    def ask(self, run: Run, command: str = "", **arguments: Any) -> None:
        """Start the task."""
        self._desk.start(
            self._task,
            run.plan.source,
            lambda found: self._desk.keep(self._task, run.number, Reply(run, found, command)),
            partial(_where, self._fields),
            **arguments,
        )

    @property
    def answer(self) -> Reply | None:
        """The answer for the selected run; None if there is none."""
        run = self._desk.run_shown()
        return None if run is None else self._desk.kept(self._task, run.number)

    def shown(self, draw: Callable[[Reply], TagChild]) -> TagChild:
        """Return the answer for the selected run as it is drawn; None if there is none."""
        answer = self.answer
        return None if answer is None else draw(answer)


def _where(fields: tuple[str, ...], error: Mapping[str, Any]) -> Problems:
    """Return at which field an error is shown."""
    about = error["parameter"]
    return {about if about in fields else fields[0]: error["message"]}
