"""Options of the command line about engines, and tables that are larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from shoal.cli.declared import ENGINE, bundled, in_panel
from shoal.engines.blocks import BLOCK_ROWS

Engine = Annotated[
    str,
    in_panel(
        ENGINE,
        "--engine",
        help="memory (the whole table at once), blocks (larger than memory), spark (a cluster) or auto.",
    ),
]
BlockRows = Annotated[
    int, in_panel(ENGINE, "--block-rows", help="blocks, spark: approximate number of records in a block.")
]
Work = Annotated[
    Path | None,
    in_panel(
        ENGINE,
        "--work",
        help="blocks, spark: folder for temporary files, removed at the end; beside the output if omitted.",
    ),
]
Jobs = Annotated[
    int | None,
    in_panel(
        ENGINE,
        "--jobs",
        min=1,
        help="blocks: number of blocks to work on at a time; one for each core if omitted.",
    ),
]
Fresh = Annotated[
    bool, in_panel(ENGINE, "--fresh", help="blocks: discard an interrupted run and start over.")
]
Master = Annotated[
    str | None,
    in_panel(
        ENGINE,
        "--master",
        help="spark: address of the cluster, such as spark://host:7077 or local[2].",
    ),
]


@dataclass(frozen=True)
class Pieces:
    """The engine, and how a table is divided by those that divide it.

    Parameters
    ----------
    engine
        The engine that was asked for.
    block_rows, work
        The number of records in a block, and the folder for temporary files.
    jobs, fresh
        Of blocks: how many at a time, and whether an interrupted run is discarded.
    master
        Of Spark: the address of the cluster.
    """

    engine: str
    block_rows: int
    work: Path | None
    jobs: int | None
    fresh: bool
    master: str | None

    @property
    def on_spark(self) -> dict[str, Any]:
        """The options of a run on Spark."""
        return {"block_rows": self.block_rows, "work": self.work}

    @property
    def on_disk(self) -> dict[str, Any]:
        """The options of a run in blocks on disk."""
        return {**self.on_spark, "jobs": self.jobs, "fresh": self.fresh}


def _pieces(
    engine: Engine = "auto",
    master: Master = None,
    block_rows: BlockRows = BLOCK_ROWS,
    jobs: Jobs = None,
    work: Work = None,
    fresh: Fresh = False,
) -> Pieces:
    return Pieces(engine, block_rows, work, jobs, fresh, master)


PIECES = bundled(_pieces)
"""The options that choose an engine, and say how a table is divided."""
