"""The process of the campaigns "guided" and "readers": one reader of Shoal, which reads many inputs.

``python guided_targets.py TARGET FOLDER [OPTIONS OF LIBFUZZER]`` lets atheris see the code that is reached;
``python guided_targets.py TARGET FOLDER unguided SEED FIRST INPUTS`` changes bytes at random.
"""

from __future__ import annotations

import functools
import os
import random
import resource
import signal
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # helpers of all tests

if __name__ == "__main__" and "unguided" not in sys.argv:
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
import polars as pl
from soaking import Finding

import shoal
import shoal.auditing.auditor
from shoal.models.patterned import read_patterns
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
    """Read a table; for one file of 16, also what its columns could be, which takes most of the time."""
    found = shoal.read_table(path)
    return suggest(found) if zlib.crc32(path.read_bytes()) % 16 == 0 else found


def schema(path: Path) -> object:
    """Read a schema; its hierarchy is beside it."""
    (path.parent / "zip.csv").write_text("02138;0213*;*\n02139;0213*;*\n")
    return shoal.Schema.of(path)


def certificate(path: Path) -> object:
    """Read a certificate beside a codebook."""
    (path.parent / "codebook.json").write_text('{"codebook": 1, "columns": []}')
    claims = Claims.read(path.parent)
    found: Any = SimpleNamespace(rows=4, records=4, k=2, concealment=2, holds=False, promise=None)
    return claims.model(), list(claims.disagreements(found))


def ledger(path: Path) -> object:
    """Read a ledger, and who of two persons is in none of its releases."""
    found = shoal.Ledger.read(path)
    found.require_named([each["sha256"] for each in found.releases])
    return found.unpublished(*persons())


@functools.cache
def persons() -> tuple[pl.DataFrame, shoal.Schema]:
    """Return a table of two persons, and its schema."""
    table = pl.DataFrame({"age": [30, 40], "name": ["a", "b"]})
    return table, shoal.Schema.infer(table, quasi=["age"], person="name")


def project(path: Path) -> object:
    """Read a project of the page."""
    from shoal.web.project import read_project  # late: it takes as long as all other modules

    return read_project(path.name, path)


def patterns(path: Path) -> object:
    """Read patterns of suppression, and make a model of them."""
    return shoal.Patterned(k=2, **read_patterns(path))


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
    "Excel": Target("people.xlsx", table, ".xlsx"),
    "SPSS": Target("people.sav", table, ".sav"),
    "Stata": Target("people.dta", table, ".dta"),
    "transactions": Target("baskets.dat", table, ".dat"),
    "schema": Target("schema.toml", schema, ".toml"),
    "hierarchy": Target("zip.csv", shoal.Hierarchy.from_file, "zip.csv"),
    "codebook": Target("codebook.json", Codebook.from_file, "codebook.json"),
    "certificate": Target("certificate.json", certificate, "certificate.json"),
    "key": Target("key.csv", read_key, "key.csv"),
    "ledger": Target("ledger.json", ledger, "ledger.json"),
    "project": Target("project.json", project, "project.json"),
    "patterns": Target("patterns.toml", patterns, "patterns.toml"),
    "release": Target("release.csv", release, "release.csv"),
}
"""All readers by name."""


MEMORY = 2 << 30
"""The bytes that a process may hold after it has read an input."""


def prepared(name: str, folder: Path) -> Callable[[bytes], None]:
    """Return what lets a reader read one input, and raises what a reader may not raise."""
    target = TARGETS[name]
    place = folder / "work"
    place.mkdir(exist_ok=True)
    file = place / target.file

    def once(data: bytes) -> None:
        file.write_bytes(data)
        try:
            target.read(file)
        except shoal.ShoalError as error:
            if type(error).__name__ == "InternalError":
                raise

    return once


def unguided(name: str, folder: Path, seed: str, first: int, many: int) -> None:
    """Read files with bytes changed at random, which only their numbers decide on.

    What takes longer than the limit ends the process by a signal. The number of the last input and its bytes
    are left in the folder.

    Raises
    ------
    Finding
        If the process holds too much memory.
    """
    once = prepared(name, folder)
    starts = [each.read_bytes() for each in sorted((folder / "corpus").iterdir())]
    last = os.open(folder / "last", os.O_WRONLY | os.O_CREAT)
    for number in range(first, first + many):
        os.pwrite(last, b"%20d" % number, 0)
        draw = random.Random(f"{seed} {number}")
        data = inputs.mutated(draw, draw.choice(starts), TARGETS[name].file)
        signal.setitimer(signal.ITIMER_PROF, inputs.SECONDS)
        once(data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > MEMORY:
            raise Finding(f"the process held more than {MEMORY:,} bytes")
    os.close(last)


def main(name: str, folder: str, *options: str) -> None:
    """Read inputs until libFuzzer has enough; the last of its options is the folder of the first inputs."""
    warnings.simplefilter("ignore")
    if options[0] == "unguided":
        unguided(name, Path(folder), options[1], int(options[2]), int(options[3]))
        return
    once = prepared(name, Path(folder))
    for each in sorted(Path(options[-1]).iterdir()):  # which loads all modules that readers need
        once(each.read_bytes())
    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
