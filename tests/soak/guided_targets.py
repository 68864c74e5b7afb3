"""The process of the campaign "guided": one reader of Shoal, in which atheris sees the code that is reached.

``python guided_targets.py TARGET FOLDER [OPTIONS OF LIBFUZZER]``
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # helpers of all tests

if __name__ == "__main__":
    import atheris

    ordinary = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> object:
        """Return the code of a module, changed to tell which parts of it are reached.

        Atheris can do so itself, but not where a package has a loader of its own, as one has that is
        installed for development.
        """
        code = ordinary(self, fullname)
        if code is None or fullname.partition(".")[0] not in ("shoal", "tomllib", "json"):
            return code
        return atheris.patch_code(code, trace_dataflow=True)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]

import inputs

import shoal
import shoal.auditing.auditor
from shoal.reading.codebook import Codebook
from shoal.release.claims import Claims
from shoal.release.saving import read_key
from shoal.schema.suggesting import suggest


@dataclass(frozen=True)
class Target:
    """A reader of files.

    Parameters
    ----------
    file
        The name of the file that it reads.
    read
        Reads the file.
    ends
        What the names of files end with that it could start from.
    """

    file: str
    read: Callable[[Path], object]
    ends: str

    def fits(self, name: str) -> bool:
        """Return whether it could start from a file."""
        return name.endswith(self.ends)


def table(path: Path) -> object:
    """Read a table, and what its columns could be."""
    return suggest(shoal.read_table(path))


def schema(path: Path) -> object:
    """Read a schema; its hierarchy is beside it."""
    (path.parent / "zip.csv").write_text("02138;0213*;*\n02139;0213*;*\n")
    return shoal.Schema.of(path)


def certificate(path: Path) -> object:
    """Read a certificate beside a codebook."""
    (path.parent / "codebook.json").write_text('{"codebook": 1, "columns": []}')
    return Claims.read(path.parent).model()


def release(path: Path) -> object:
    """Read released cells of every kind, as the audit does."""
    folder = path.parent
    if not (folder / "schema.toml").exists():
        for name in ("schema.toml", "zip.csv", "people.csv"):
            (folder / name).write_bytes(inputs.plain_files()[name])
    people, released = shoal.read_table(folder / "people.csv"), shoal.read_table(path)
    return shoal.audit(people, released, folder / "schema.toml", shoal.KAnonymity(k=2)).holds


TARGETS: dict[str, Target] = {
    "CSV": Target("people.csv", table, "people.csv"),
    "TSV": Target("people.tsv", table, ".tsv"),
    "JSON lines": Target("people.jsonl", table, ".jsonl"),
    "Parquet": Target("people.parquet", table, ".parquet"),
    "Arrow": Target("people.arrow", table, ".arrow"),
    "transactions": Target("baskets.dat", table, ".dat"),
    "schema": Target("schema.toml", schema, ".toml"),
    "hierarchy": Target("zip.csv", shoal.Hierarchy.from_file, "zip.csv"),
    "codebook": Target("codebook.json", Codebook.from_file, "codebook.json"),
    "certificate": Target("certificate.json", certificate, "certificate.json"),
    "key": Target("key.csv", read_key, "key.csv"),
    "ledger": Target("ledger.json", shoal.Ledger.read, "certificate.json"),
    "release": Target("release.csv", release, "release.csv"),
}
"""All readers by name."""


def main(name: str, folder: str, *options: str) -> None:
    """Read inputs until libFuzzer has enough; the last of its options is the folder of the first inputs."""
    warnings.simplefilter("ignore")
    target = TARGETS[name]
    place = Path(folder) / "work"
    place.mkdir()
    file = place / target.file

    def once(data: bytes) -> None:
        file.write_bytes(data)
        try:
            target.read(file)
        except shoal.ShoalError as error:
            if type(error).__name__ == "InternalError":
                raise

    for each in sorted(Path(options[-1]).iterdir()):  # which loads all modules that readers need
        once(each.read_bytes())
    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
