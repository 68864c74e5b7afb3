"""Blocks in a working folder: each is released by a process of its own, some at a time."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.additions import packed, unpacked
from shoal.engines.blocks import BlockFacts, Task, anonymize_block, united
from shoal.engines.cutting import CutTree
from shoal.engines.workers import DIED, PARALLEL, Crew, answering, tell
from shoal.engines.workspace import emptied, private_file, unfinished, write_whole
from shoal.errors import InputError, Reason
from shoal.files.writing import write_parquet
from shoal.methods import Progress

PART, FACTS = "part.parquet", "facts.pickle"
"""The files of a block that is done: the rows to publish, and what is known about them."""
_TASK, _UNITS, _BLOCKS = "task.pickle", "units.json", "blocks"
WORKER = answering("shoal.engines.disk_blocks")
"""What the process of a block runs."""


class DiskBlocks:
    """The blocks in a working folder, with what an earlier run finished.

    Blocks that are worked on together are a *unit*: a range of their numbers.

    Parameters
    ----------
    folder
        The working folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def clear(self) -> None:
        """Remove the records of all blocks."""
        emptied(self.folder / _BLOCKS)

    def append(self, turn: int, frame: pl.DataFrame, blocks: NDArray[np.int32]) -> None:
        """Write records to a file in the folder of each block.

        Parameters
        ----------
        turn
            A number that no other call has; files are read in its order.
        frame, blocks
            The records, and the block of each.
        """
        order = np.argsort(blocks, kind="stable")
        frame, blocks = frame[order], blocks[order]
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(blocks)], strict=True):
            place = self.folder / _BLOCKS / str(blocks[start])
            place.mkdir(mode=0o700, exist_ok=True)
            file = private_file(place / f"{turn:06}.arrow")
            frame[int(start) : int(stop)].write_ipc(file, compression="lz4")

    def prepare(self, task: Task, units: Sequence[range]) -> None:
        """Write what the processes of the blocks need."""
        write_whole(self.folder / _TASK, packed(task, task.call.modules))
        self._remember(units)

    def done(self, unit: range) -> Path:
        """Return the folder that a unit has once it is done."""
        return self.folder / "done" / f"{unit.start}-{unit.stop}"

    def facts(self, unit: range) -> BlockFacts:
        """Return what is known about the release of a unit that is done."""
        with (self.done(unit) / FACTS).open("rb") as opened:
            facts: BlockFacts = pickle.load(opened)
        return facts

    def release_all(self, tree: CutTree, counts: Sequence[int], jobs: int, progress: Progress) -> list[range]:
        """Make the releases of all blocks that are not done yet.

        A unit for which the guarantee is infeasible is united with the part it was cut from, and tried again.

        Parameters
        ----------
        tree
            The tree that divides the table.
        counts
            The number of records in each block.
        jobs
            The number of units worked on at a time.
        progress
            Called with the number of units and the share that is done; may raise to cancel.

        Returns
        -------
        list
            The units, in their order.
        """
        ends = json.loads((self.folder / _UNITS).read_text())
        units = [range(first, last) for first, last in ends]
        share = str(max(1, (os.cpu_count() or 1) // jobs))
        crew = Crew(environment=dict.fromkeys(PARALLEL, share), lasting=True)
        with ThreadPoolExecutor(jobs) as pool:
            try:
                return self._released(pool, crew, tree, counts, units, progress)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                crew.stop()

    def _released(
        self,
        pool: ThreadPoolExecutor,
        crew: Crew,
        tree: CutTree,
        counts: Sequence[int],
        units: list[range],
        progress: Progress,
    ) -> list[range]:
        waiting: dict[Future[dict[str, Any]], range] = {}

        def begin(unit: range) -> None:
            task = pickle.dumps((str(self.folder), unit))
            waiting[pool.submit(crew.ask, WORKER, task)] = unit

        # The largest take longest: begun first, they do not run alone at the end.
        left = [unit for unit in units if not self.done(unit).exists()]
        for unit in sorted(left, key=lambda unit: -sum(counts[unit.start : unit.stop])):
            begin(unit)
        while waiting:
            unfinished = set(waiting.values())
            finished = sum(unit not in unfinished for unit in units)
            progress(f"{finished} of {len(units)} blocks", finished / len(units))
            for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                unit, told = waiting.pop(done), done.result()
                if unit not in units or "reason" not in told:
                    continue  # it is part of a larger unit by now, or succeeded
                _require_alive(told)
                units, wider = united(units, tree, unit, told)
                for future in [each for each, other in waiting.items() if other.start in wider]:
                    if future.cancel():
                        del waiting[future]
                self._remember(units)
                begin(wider)
        return units

    def _remember(self, units: Sequence[range]) -> None:
        ends = [(unit.start, unit.stop) for unit in units]
        write_whole(self.folder / _UNITS, json.dumps(ends).encode())


def _require_alive(told: Mapping[str, Any]) -> None:
    if told["reason"] == DIED:
        raise unfinished(
            f"a block's worker process died, perhaps for lack of memory ({told['message']}); call again with "
            "fewer jobs to go on with what is finished, or begin anew with smaller blocks"
        )


def answer() -> None:
    """Make the releases of the units that are asked for: the program of a worker process."""

    def work(asked: bytes) -> dict[str, Any]:
        folder, unit = pickle.loads(asked)
        release_unit(Path(folder), unit)
        return {}

    tell(work)


def release_unit(folder: Path, unit: range) -> None:
    """Make the release of some blocks together; it appears in the working folder in one step.

    Parameters
    ----------
    folder
        The working folder.
    unit
        The blocks.

    Raises
    ------
    InfeasibleError
        If no release of them keeps the guarantee.
    InputError
        If the release cannot be written, or a module that it depends on cannot be imported here.
    """
    task: Task = unpacked((folder / _TASK).read_bytes())
    files = [file for block in unit for file in sorted((folder / _BLOCKS / str(block)).glob("*.arrow"))]
    frame = pl.concat([pl.read_ipc(file) for file in files], rechunk=True)
    release, facts = anonymize_block(frame, task, unit.start)
    done = DiskBlocks(folder).done(unit)
    try:
        done.parent.mkdir(mode=0o700, exist_ok=True)
        # If a run was killed and begun again, two processes may work on these blocks: one result is kept.
        aside = Path(tempfile.mkdtemp(dir=folder))
        try:
            write_parquet(release, private_file(aside / PART))
            write_whole(aside / FACTS, pickle.dumps(facts))
            if not done.exists():
                aside.rename(done)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        if not done.exists():
            raise InputError(
                f"a block cannot be written: {(error.strerror or str(error)).lower()}",
                reason=Reason.OUTPUT_UNWRITABLE,
            ) from error
