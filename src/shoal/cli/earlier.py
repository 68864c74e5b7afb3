"""Earlier releases on the command line: which tables, releases and keys belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, Reason
from shoal.files.reading import read_table
from shoal.reading.opening import released_table
from shoal.release import read_key
from shoal.release.claims import CERTIFICATE


@dataclass(frozen=True)
class EarlierFiles:
    """The files of earlier releases, as options name them.

    Parameters
    ----------
    option
        The option that names the releases; those of tables and keys begin with it.
    releases, tables, keys
        The files; as many tables and keys as releases, or none.
    key_option
        The option that names the keys.
    """

    option: str
    releases: list[Path]
    tables: list[Path]
    keys: list[Path]
    key_option: str

    def read(self, table: Any = None) -> list[tuple[Any, Any, Any]]:
        """Return original, release and key of each; `table` is the original where none is named."""
        for given, option in ((self.tables, f"{self.option}-table"), (self.keys, self.key_option)):
            if given and len(given) != len(self.releases):
                raise InputError(
                    f"{option} must be given as often as {self.option}, in the same order, or not at all",
                    reason=Reason.PARAMETER,
                )
        if not self.tables and table is None and self.releases:
            raise InputError(f"{self.option} needs {self.option}-table", reason=Reason.PARAMETER)
        originals = [read_table(each) for each in self.tables] or [table] * len(self.releases)
        keys = [read_key(each) for each in self.keys] or [self._key_of(each) for each in self.releases]
        return list(zip(originals, map(release_at, self.releases), keys, strict=True))

    @staticmethod
    def _key_of(release: Path) -> Any:
        file = release / "key.csv"
        return read_key(file) if is_release_folder(release) and file.is_file() else None


def is_release_folder(path: Path) -> bool:
    """Return whether a path is the folder of a release, with its certificate."""
    return path.is_dir() and (path / CERTIFICATE).exists()


def release_at(path: Path) -> Any:
    """Return a released table, given as a file or as the folder of a release."""
    return released_table(path)[0] if is_release_folder(path) else read_table(path)
