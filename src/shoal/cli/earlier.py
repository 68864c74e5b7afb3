"""Earlier releases on the command line: which tables, releases and keys belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal import engines
from shoal.base.commands import option
from shoal.engines.again import anonymize_again, anonymize_new, released_alone
from shoal.engines.ledger import Ledger
from shoal.errors import InputError, Reason
from shoal.files.access import exists, is_file, is_folder
from shoal.files.reading import read_table
from shoal.models import Model
from shoal.reading.opening import released_table
from shoal.release import Release, read_key
from shoal.release.claims import CERTIFICATE
from shoal.release.saving import sha256
from shoal.schema import Schema


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
        for given, named in ((self.tables, f"{self.option}-table"), (self.keys, self.key_option)):
            if given and len(given) != len(self.releases):
                raise InputError(
                    f"{named} must be given as often as {self.option}, in the same order, or not at all",
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
        return read_key(file) if is_release_folder(release) and is_file(file) else None


@dataclass(frozen=True)
class PublishingAgain:
    """Whether and how a table is published after earlier releases.

    Parameters
    ----------
    earlier
        The earlier releases that options name.
    stable
        Whether rows of the newest are kept.
    ledger
        The file that says what was published before, if there is one.
    """

    earlier: EarlierFiles
    stable: bool
    ledger: Path | None

    def asked(self, form: str | None) -> bool:
        """Return whether there may be earlier releases, and refuse what needs or does not support them."""
        if self.stable and not self.earlier.releases:
            raise InputError("--stable needs --after", reason=Reason.PARAMETER)
        if self.stable and form not in (None, "csv"):
            raise InputError("--stable keeps rows as text: --format csv", reason=Reason.PARAMETER)
        return bool(self.earlier.releases) or self.ledger is not None

    def anonymize(self, frame: Any, schema: Schema, model: Model, choices: dict[str, Any]) -> Release:
        """Make the release; persons whom the ledger knows are left out, or their releases must be named."""
        known = None if self.ledger is None else Ledger.read(self.ledger)
        if not self.earlier.releases:
            new = None if known is None else known.unpublished(frame, schema)
            if known is None or new is None or not known.releases:
                return engines.anonymize(frame, schema, model, **choices)
            _refuse(choices, "hold_out", "leave_out", "predict", "run_again")
            return released_alone(frame, schema, model, new, choices)
        _refuse(choices, "hold_out", "leave_out", "predict", "run_again")
        after = self.earlier.read()
        if known is not None:
            known.require_named([sha256(_file_of(each)) for each in self.earlier.releases])
        if not self.stable:
            return anonymize_new(frame, schema, model, after=after, **choices)
        _refuse(choices, "most_per_person")
        return anonymize_again(frame, schema, model, after=after, **choices)

    def remember(self, frame: Any, schema: Schema, release: Release, folder: Path) -> None:
        """Write the release into the ledger, before it is moved into its place."""
        if self.ledger is not None:
            digest = sha256(_file_of(folder))
            known = Ledger.read(self.ledger)
            known.with_release(frame, schema, release.model, key=release.key, digest=digest).write(
                self.ledger
            )


def _refuse(choices: dict[str, Any], *names: str) -> None:
    """Refuse options that a release after others does not support, and take them out."""
    for name in names:
        if choices.pop(name, None):
            raise InputError(
                f"{option(name)} is not supported for a release after others", reason=Reason.PARAMETER
            )


def _file_of(release: Path) -> Path:
    """Return the table of a release, given as a file or as its folder."""
    names = [release / name for name in ("release.parquet", "release.csv") if is_file(release / name)]
    return names[0] if names else release


def is_release_folder(path: Path) -> bool:
    """Return whether a path is the folder of a release, with its certificate."""
    return is_folder(path) and exists(path / CERTIFICATE)


def release_at(path: Path) -> Any:
    """Return a released table, given as a file or as the folder of a release."""
    return released_table(path)[0] if is_release_folder(path) else read_table(path)
