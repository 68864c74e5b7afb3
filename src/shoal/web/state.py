"""The state of one user's work: a table, its schema, the runs so far, and the running task."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from shiny import Session, reactive, req

from shoal.models import Model
from shoal.release import COPIES, Format
from shoal.schema import Schema
from shoal.web.earlier import After
from shoal.web.memory import FILE_FIELDS, Fields, Memory
from shoal.web.tasks import Source
from shoal.web.work import Job

ABOUT_RECORDS = ("hold_out", "leave_out", "most_per_person")
"""Fields of a run that leave out records."""
Problems = dict[str, str]
"""Error messages by the name of the field or step."""
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """A release to be made.

    Parameters
    ----------
    source, schema, model
        The table, its schema and the privacy model.
    choices
        Method, its options and seed, if chosen.
    form
        Format of the released file.
    keep_key
        Whether the key is also written.
    dangers
        What was confirmed although it is dangerous, as sentences.
    after
        The earlier release after which this one is made; None if there is none.
    """

    source: Source
    schema: Schema
    model: Model
    choices: dict[str, Any]
    form: Format = "csv"
    keep_key: bool = False
    dangers: tuple[str, ...] = ()
    after: After | None = None

    @property
    def leaves_out(self) -> bool:
        """Whether records are left out: which ones, only the key says."""
        return self.after is not None or any(name in self.choices for name in ABOUT_RECORDS)

    @property
    def files(self) -> list[str]:
        """The names of the files of the release: the table, and a copy for another program, if wanted."""
        table = "release.parquet" if self.form == "parquet" else "release.csv"
        return [table, *([f"release.{self.form}"] if self.form in COPIES else [])]


@dataclass(frozen=True)
class Snapshot:
    """Everything that determined a release, to come back to it.

    Parameters
    ----------
    source, seen, used, schema, weighed, files, confirmed
        As in `Desk`.
    entries
        The content of the fields, by name.
    """

    source: Source
    seen: dict[str, Any]
    used: list[object]
    schema: Schema
    weighed: dict[str, Any]
    files: dict[str, tuple[str, Path]]
    confirmed: tuple[str, ...]
    entries: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A release that was made.

    Parameters
    ----------
    number
        1, 2, 3, ... in the order of the runs.
    plan
        How it was made.
    folder
        Where its files are.
    result
        What the task `make` returned.
    settings
        The content of all fields when the run was started.
    snapshot
        The same, to come back to it.
    """

    number: int
    plan: Plan
    folder: Path
    result: dict[str, Any]
    settings: object = None
    snapshot: Snapshot | None = None

    @property
    def file(self) -> Path:
        """The file of the release."""
        return self.folder / self.plan.files[0]


@dataclass
class Pace:
    """The progress of a task, and an estimate of the remaining time.

    Parameters
    ----------
    clock
        Returns the time in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    stage: str = ""
    share: float = 0.0
    since: float = field(default=0.0)
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    def at(self, stage: str, share: float) -> Pace:
        """Record the current stage and the share of it that is done."""
        if stage != self.stage:
            self.stage, self.since = stage, self.clock()
        self.share = share
        return self

    def left(self) -> str:
        """Return the remaining time of the stage in words; empty if it cannot be estimated."""
        gone = self.clock() - self.since
        if gone < 1 or not 0.02 < self.share < 1:
            return ""
        seconds = gone * (1 - self.share) / self.share
        if seconds < 90:
            return f"about {max(1, round(seconds))} s left in this stage"
        return f"about {round(seconds / 60)} minutes left in this stage"

    def words(self) -> str:
        """Return how long the task has been running, and the remaining time of the stage if it is known."""
        minutes, seconds = divmod(round(self.clock() - self.begun), 60)
        gone = f"{minutes} min {seconds} s so far" if minutes else f"{seconds} s so far"
        left = self.left()
        return f"{gone}, {left}" if left else gone


class Desk:
    """The state of one user's work; users share nothing.

    It outlives the connection to the browser: a session of Shiny ends with its connection, and the page that
    is opened again is attached to the same desk.

    Parameters
    ----------
    folder
        A private folder, which is deleted with the desk.
    most_bytes
        Maximum size of a table.
    shared
        Folder whose files can be chosen; None for none.
    """

    input: Fields
    """The fields of the page."""

    def __init__(self, folder: Path, most_bytes: int, shared: Path | None) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self.shared = shared
        self.source: reactive.Value[Source | None] = reactive.Value(None)
        self.used: reactive.Value[list[object] | None] = reactive.Value(None)
        """Content of the column fields when “Use these columns” was pressed; None after an edit."""
        self.seen: reactive.Value[dict[str, Any] | None] = reactive.Value(None)
        self.schema: reactive.Value[Schema | None] = reactive.Value(None)
        self.weighed: reactive.Value[dict[str, Any] | None] = reactive.Value(None)
        self.runs: reactive.Value[tuple[Run, ...]] = reactive.Value(())
        self.shown: reactive.Value[int | None] = reactive.Value(None)
        self.outdated: reactive.Value[bool] = reactive.Value(False)
        """Whether the selected run was made with settings other than those on the page."""
        self.dangers: reactive.Value[tuple[str, ...]] = reactive.Value(())
        """What would be dangerous about a release with the settings on the page."""
        self.confirmed: reactive.Value[tuple[str, ...]] = reactive.Value(())
        """The dangers that were on the page when the box beside them was ticked."""
        self.files: reactive.Value[dict[str, tuple[str, Path]]] = reactive.Value({})
        """Name and path of the hierarchy files, by field."""
        self.places: reactive.Value[list[int]] = reactive.Value([])
        """The numbers of the columns whose fields are on the page."""
        self.editing: reactive.Value[Any] = reactive.Value(None)
        """The hierarchy that is being edited; see `hierarchies.Editing`."""
        self.drawings: reactive.Value[int] = reactive.Value(0)
        """How often all fields were drawn again; what draws fields reads it."""
        self.memory = Memory()
        self._answers: dict[str, reactive.Value[dict[int, Any]]] = {}
        self._session: Session | None = None
        self._told: dict[str, dict[str, object]] = {}
        self._job: Job | None = None
        self._following: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()  # the event loop keeps no reference to a task

    # --- The page -------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        """The session of the page that shows this desk; None if no page is open."""
        return self._session

    def attach(self, session: Session) -> None:
        """Show the desk on a page, and not on another one."""
        before, self._session = self._session, session
        self.input = Fields(session.input)
        self.memory.follow(session, self.input)
        if before is not None:
            task = asyncio.ensure_future(_send_away(before))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        for kind, message in self._told.items():
            self._send(kind, message)

    def detach(self, session: Session) -> bool:
        """Leave a page; return whether it was the one that shows this desk."""
        if session is not self._session:
            return False
        self.memory.learn()
        self._session = None
        return True

    @property
    def is_empty(self) -> bool:
        """Whether no table was ever chosen."""
        with reactive.isolate():
            return self.source() is None and not self.runs()

    def entry(self, name: str) -> Any:
        """Return the content of a field; None if the field was never on the page."""
        if name.startswith(FILE_FIELDS):
            return self.files().get(name)
        field = self.input[name]
        return field() if field.is_set() else self.memory.entries.get(name)

    def present(self, name: str) -> Any:
        """Return the content of a field; if it is not on the page yet, the reaction ends silently."""
        if not name.startswith(FILE_FIELDS):
            self.input[name]()
        return self.entry(name)

    def snapshot(self, fields: Iterable[str]) -> Snapshot:
        """Return everything that determines a release, with the content of some fields."""
        return Snapshot(
            source=needed(self.source()),
            seen=needed(self.seen()),
            used=needed(self.used()),
            schema=needed(self.schema()),
            weighed=needed(self.weighed()),
            files=self.files(),
            confirmed=self.confirmed(),
            entries={name: self.entry(name) for name in fields},
        )

    def restore(self, kept: Snapshot) -> None:
        """Bring back everything that determines a release, and draw all fields again."""
        self.memory.recall(kept.entries)
        self.source.set(kept.source)
        self.seen.set(kept.seen)
        self.files.set(kept.files)
        self.used.set(kept.used)
        self.schema.set(kept.schema)
        self.weighed.set(kept.weighed)
        self.confirmed.set(kept.confirmed)
        self.redraw()

    def redraw(self) -> None:
        """Draw all fields again."""
        with reactive.isolate():
            self.drawings.set(self.drawings() + 1)

    def run_shown(self) -> Run | None:
        """Return the selected run."""
        return next((run for run in self.runs() if run.number == self.shown()), None)

    def keep(self, question: str, run: int, answer: Any) -> None:
        """Keep the answer to a question about a run, also for the next page that shows this desk."""
        answers = self._answers_to(question)
        with reactive.isolate():
            answers.set({**answers(), run: answer})

    def kept(self, question: str, run: int) -> Any:
        """Return the last answer to a question about a run; None if there is none."""
        return self._answers_to(question)().get(run)

    def _answers_to(self, question: str) -> reactive.Value[dict[int, Any]]:
        return self._answers.setdefault(question, reactive.Value({}))

    def take(self, source: Source) -> None:
        """Load another table; hierarchy files of the previous one are detached, and its runs are kept."""
        self.source.set(source)
        self.seen.set(None)
        self.unsettle()
        self.files.set({})

    def unsettle(self) -> None:
        """Discard the confirmed columns and everything that depends on them."""
        for value in (self.used, self.schema, self.weighed, self.shown):
            value.set(None)

    def tell(self, problems: Problems) -> None:
        """Show error messages instead of the previous ones."""
        self._send("problems", {"problems": problems})

    def send(self, kind: str, message: dict[str, object]) -> None:
        """Send a message to the page, if it is open."""
        if self._session is None:
            return
        task = asyncio.ensure_future(self._session.send_custom_message(kind, message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def mark_steps(self, states: Mapping[str, str]) -> None:
        """Show the state of each step in the list of steps."""
        self._send("steps", {"states": dict(states)})

    def say(self, words: str) -> None:
        """Show a short message for a few seconds."""
        self.send("said", {"words": words})

    def show(self, selector: str) -> None:
        """Scroll to a part of the page and give it the focus, as soon as it is drawn.

        Parameters
        ----------
        selector
            A CSS selector that finds the part.
        """
        if self._session is not None:
            self._session.on_flushed(lambda: self.send("part", {"selector": selector}), once=True)

    def go_to(self, name: str) -> None:
        """Scroll to a step as soon as it is drawn."""
        if self._session is not None:
            self._session.on_flushed(lambda: self.send("step", {"name": name}), once=True)

    # --- Tasks ----------------------------------------------------------------------------------------------

    def start(
        self,
        task: str,
        source: Source,
        done: Callable[[dict[str, Any]], object],
        failed: Callable[[dict[str, Any]], Problems],
        **arguments: Any,
    ) -> None:
        """Run a task in another process; a running one is stopped.

        Parameters
        ----------
        task, source, arguments
            As for `Job`.
        done
            Called with the result.
        failed
            Called with an error as `ShoalError.as_dict` returns it; returns at which fields to show it.
        """
        self.stop()
        self.tell({})
        self._job = Job(task, source, arguments, self.folder)
        self._following = asyncio.create_task(self._follow(self._job, done, failed))

    def stop(self) -> bool:
        """Stop the running task; return whether there was one."""
        if self._job is None:
            return False
        self._job.end()
        self._job = None
        self._send("progress", {"busy": False})
        return True

    async def close(self) -> None:
        """Stop all work and delete the folder."""
        if self._job is not None:
            self._job.end()
        if self._following is not None:
            await self._following
        await asyncio.to_thread(shutil.rmtree, self.folder, True)

    async def _follow(
        self,
        job: Job,
        done: Callable[[dict[str, Any]], object],
        failed: Callable[[dict[str, Any]], Problems],
    ) -> None:
        pace = Pace().at("starting", 0.0)
        ticking = asyncio.create_task(self._tick(job, pace))
        async for message in job.messages():
            if job is not self._job:
                continue  # stopped; another task may be running already
            if "progress" in message:
                self._show(pace.at(*message["progress"]))
                continue
            ticking.cancel()
            self._job = None
            self._send("progress", {"busy": False})
            async with reactive.lock():
                with reactive.isolate():
                    if "error" in message:
                        self.tell(failed(message["error"]))
                    else:
                        done(message["result"])
                await reactive.flush()

    async def _tick(self, job: Job, pace: Pace) -> None:
        """Show the time of a task every second, also while it reports nothing."""
        while job is self._job:
            self._show(pace)
            await asyncio.sleep(1)

    def _show(self, pace: Pace) -> None:
        shown = {"busy": True, "stage": pace.stage, "share": pace.share, "left": pace.words()}
        self._send("progress", shown)

    def _send(self, kind: str, message: dict[str, object]) -> None:
        """Send a message, also to the next page that shows this desk."""
        self._told[kind] = message
        self.send(kind, message)


async def _send_away(session: Session) -> None:
    """Tell a page that the desk is now on another one, and end its session."""
    with suppress(Exception):  # the page may be gone already
        await session.send_custom_message("elsewhere", {})
    await session.close()


def put(value: reactive.Value[T], content: T) -> None:
    """Set a value only if it changes: Shiny takes equal objects for different ones, and draws again."""
    with reactive.isolate():
        if value() != content:
            value.set(content)


def needed(value: T | None) -> T:
    """Return a value that a reaction needs; if it is None, the reaction ends silently."""
    req(value is not None)
    assert value is not None
    return value
