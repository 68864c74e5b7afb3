"""An earlier release, and how another one is made after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.engines.again import anonymize_again, anonymize_new
from shoal.files.reading import read_table
from shoal.methods import Progress
from shoal.models import Model
from shoal.release import Release, read_key
from shoal.schema import Schema


@dataclass(frozen=True)
class After:
    """An earlier release after which another one is made; files with the names that users gave them.

    Parameters
    ----------
    release, table, key
        The released table, its original, and its key, if known.
    stable
        Whether unchanged records keep their rows.
    """

    release: tuple[str, Path]
    table: tuple[str, Path]
    key: tuple[str, Path] | None
    stable: bool

    @property
    def options(self) -> dict[str, Any]:
        """The same as options of the command line."""
        names = {"after": self.release, "after_table": self.table, "key": self.key}
        return {**{name: file and file[0] for name, file in names.items()}, "stable": self.stable}


def anonymize_after(
    frame: Any, schema: Schema, model: Model, after: After, progress: Progress, choices: Mapping[str, Any]
) -> Release:
    """Make a release after an earlier one."""
    key = None if after.key is None else read_key(after.key[1])
    earlier = (read_table(after.table[1]), read_table(after.release[1]), key)
    made = anonymize_again if after.stable else anonymize_new
    return made(frame, schema, model, after=[earlier], progress=progress, **choices)
