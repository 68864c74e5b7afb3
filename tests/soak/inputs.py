"""The campaign "inputs": files of every format with bytes changed; no traceback, no bug reported, no hang."""

from __future__ import annotations

import functools
import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import calling
import polars as pl
from drawing import Draw
from in_process import workers_in_this_process
from soaking import Campaign, Finding

from shoal.files.spreadsheets import write_excel
from shoal.files.statistics_packages import write_statistics
from shoal.report.chart import Chart

SECONDS = 10
"""A command that takes longer in processor time, or thirty times as long by the clock, hangs."""

PEOPLE = """age,zip,admitted,items,diagnosis
34,02138,2024-02-29,a b,flu
36,02139,2024-03-01,b,gout
35,02141,2023-12-31,,flu
52,03038,2024-01-01,a,burn
58,02138,2024-02-28,c a,cold
49,02139,1999-12-31,b c,gout
34.5,02141,2024-02-29,a b,flu
?,03038,,b,burn
"""
SCHEMA = """[columns.age]
role = "quasi"
kind = "numeric"
domain = [0, 120]
missing_marks = ["?"]
weight = 2.0

[columns.zip]
role = "quasi"
hierarchy = "zip.csv"

[columns.admitted]
role = "quasi"
kind = "date"
missing = "suppress"

[columns.items]
role = "identifier"

[columns.diagnosis]
role = "sensitive"
label = "what they had"
"""
HIERARCHY = "02138;0213*;021**;*\n02139;0213*;021**;*\n02141;0214*;021**;*\n03038;0303*;030**;*\n"
PATTERNS = """up_to = 2
never = []
priorities = [["zip", "admitted"]]
leftovers = "suppress"
weights = {zip = 2.0}
"""
TRANSACTIONS = "1 2 3\n2 3\n1\n\n4 5 1\n2 3 4\n"

TOKENS = [
    b",", b";", b"\t", b"|", b'"', b"'", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\\", b"*", b"..", b"[", b"]", b"{", b"}", b"=", b"#", b"-", b"+", b".",
    b"e999999999", b"1e400", b"nan", b"inf", b"-inf", b"NaN", b"null", b"None", b"true",
    b"99999999999999999999999999", b"0x10", b"1_000", b"\xe2\x88\x9e", b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae", b"2024-02-30", b"0000-00-00", b"99999-01-01", b"T25:61:61", b"+99:99", b"^", b"$",
    b"../../etc/passwd", b"quasi", b"numeric", b"ordinal", b"items", b"person", b"k", b"[columns.x]",
    b'"""', b"''", b"\x1a", b"%", b"{0}", b" ",
]  # fmt: skip
"""What is put into files: signs that mean something, and values at the edge of what can be kept."""

AUDIT = [
    "audit",
    "people.csv",
    "out/release.csv",
    "--schema",
    "schema.toml",
    "--k",
    "2",
    "--key",
    "out/key.csv",
]
ANONYMIZE = ("--k", "2", "-o", "out", "--seed", "1", "--quiet")


LEDGER = {
    "version": 1,
    "secret": "0f" * 32,
    "releases": [
        {
            "created": "2026-01-01T00:00:00+00:00",
            "model": {"name": "k-anonymity", "k": 2},
            "sha256": "0a" * 32,
            "persons": ["0b" * 16, "0c" * 16],
            "records": ["0d" * 16, "0e" * 16],
        }
    ],
}
PROJECT = {
    "format": "shoal project",
    "version": 1,
    "table": "people.csv",
    "schema": SCHEMA.replace('hierarchy = "zip.csv"', "hierarchy = {prefixes = [3, 2]}"),
    "settings": {"model": "k-anonymity", "k": 2},
    "runs": [{"name": "first", "settings": {"model": "freeform", "k": 3, "l": 2}}],
}


def plain_files() -> dict[str, bytes]:
    """Return the files that are text, by name."""
    return {
        "people.csv": PEOPLE.encode(),
        "people.tsv": PEOPLE.replace(",", "\t").encode(),
        "zip.csv": HIERARCHY.encode(),
        "schema.toml": SCHEMA.encode(),
        "patterns.toml": PATTERNS.encode(),
        "baskets.dat": TRANSACTIONS.encode(),
        "ledger.json": json.dumps(LEDGER, indent=1).encode(),
        "project.json": json.dumps(PROJECT, indent=1).encode(),
    }


@functools.cache
def seeds() -> dict[str, bytes]:
    """Return the files that are changed, by name; those of a release are made once."""
    files = plain_files()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each, content in files.items():
            (folder / each).write_bytes(content)
        frame = pl.read_csv(folder / "people.csv", infer_schema=False)
        for file, write in (
            ("people.parquet", frame.write_parquet),
            ("people.arrow", frame.write_ipc),
            ("people.jsonl", frame.write_ndjson),
            ("people.xlsx", partial(write_excel, frame)),
            ("people.sav", partial(write_statistics, frame)),
            ("people.dta", partial(write_statistics, frame)),
        ):
            write(folder / file)
            files[file] = (folder / file).read_bytes()
        ended = run(folder, ["anonymize", "people.csv", "--schema", "schema.toml", *ANONYMIZE, "--keep-key"])
        if ended.returncode:
            raise Finding(ended.stderr)
        for file in ("release.csv", "certificate.json", "codebook.json", "key.csv"):
            files[f"out/{file}"] = (folder / "out" / file).read_bytes()
    return files


COMMANDS: dict[str, list[list[str]]] = {
    "people.csv": [
        ["scan", "people.csv", "--overwrite"],
        ["anonymize", "people.csv", "--schema", "schema.toml", *ANONYMIZE],
        ["anonymize", "people.csv", "--quasi", "age,zip", "--sensitive", "diagnosis", *ANONYMIZE],
        ["anonymize", "people.csv", "--quasi", "age,items", "--kind", "items=items", *ANONYMIZE],
        ["audit", "people.csv", "out/release.csv", "--schema", "schema.toml", "--k", "2"],
    ],
    "people.tsv": [
        ["scan", "people.tsv", "--overwrite"],
        ["anonymize", "people.tsv", "--quasi", "age,zip", *ANONYMIZE],
    ],
    "people.parquet": [
        ["scan", "people.parquet", "--overwrite"],
        ["anonymize", "people.parquet", "--quasi", "zip", *ANONYMIZE],
    ],
    "people.arrow": [
        ["scan", "people.arrow", "--overwrite"],
        ["anonymize", "people.arrow", "--quasi", "zip", *ANONYMIZE],
    ],
    "people.jsonl": [
        ["scan", "people.jsonl", "--overwrite"],
        ["anonymize", "people.jsonl", "--quasi", "zip", *ANONYMIZE],
    ],
    "baskets.dat": [["scan", "baskets.dat", "--overwrite"], ["anonymize", "baskets.dat", *ANONYMIZE]],
    "zip.csv": [["anonymize", "people.csv", "--schema", "schema.toml", *ANONYMIZE]],
    "schema.toml": [
        ["anonymize", "people.csv", "--schema", "schema.toml", *ANONYMIZE],
        ["audit", "people.csv", "out/release.csv", "--schema", "schema.toml", "--k", "2"],
    ],
    "patterns.toml": [
        [
            "anonymize",
            "people.csv",
            "--schema",
            "schema.toml",
            "--model",
            "patterned",
            "--patterns",
            "patterns.toml",
            *ANONYMIZE,
        ],
    ],
    "out/release.csv": [
        AUDIT,
        ["read", "out", "-o", "read", "--draw", "1", "--seed", "1"],
        ["query", "out", "age 30..50, zip=02138", "--by", "diagnosis"],
    ],
    "out/certificate.json": [["read", "out", "-o", "read", "--as", "middle"]],
    "out/codebook.json": [
        ["read", "out", "-o", "read", "--as", "long"],
        ["query", "out", "age 30..50, zip=02138", "--by", "diagnosis"],
    ],
    "out/key.csv": [AUDIT],
}
"""What is called with each file."""


def case(draw: Draw, folder: Path) -> str:
    """Change some bytes of one file, and run a command with it."""
    changed = draw.choice(list(COMMANDS))
    command = draw.choice(COMMANDS[changed])
    (folder / "out").mkdir()
    for name, content in seeds().items():
        (folder / name).write_bytes(mutated(draw, content, name) if name == changed else content)
    if command[0] == "anonymize":
        command = ["new" if word == "out" else word for word in command]
    ended = run(folder, command)
    shown = f"{' '.join(command)} with {(folder / changed).read_bytes()!r}: {ended.stderr}"
    if ended.returncode not in (0, 1, 2) or "Traceback" in ended.stderr:
        raise Finding(shown[:4000])
    if ended.returncode == 0 and command[0] == "anonymize":
        json.loads((folder / "new" / "certificate.json").read_text())
    elif (folder / "new").exists():
        raise Finding(f"a folder is left: {shown}"[:4000])
    return f"{changed}: exit code {ended.returncode}"


BINARY = (".parquet", ".arrow", ".xlsx", ".sav", ".dta")
"""How the names of files end that have no lines."""


def mutated(draw: Draw, content: bytes, name: str) -> bytes:
    """Return a file with some changes: bytes flipped, put in, taken out, parts doubled, moved or cut off."""
    data = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        place = draw.randrange(len(data) + 1)
        end = min(len(data), place + draw.choice([1, 1, 2, 8, 40]))
        match draw.choice(["flip", "put", "put", "put", "cut", "double", "end", "lines", "value"]):
            case "flip" if place < len(data):
                data[place] ^= 1 << draw.randrange(8)
            case "put":
                data[place:place] = draw.choice(TOKENS)
            case "cut":
                del data[place:end]
            case "double":
                data[place:place] = data[place:end] * draw.choice([1, 2, 50])
            case "end" if draw.random() < 0.3:
                del data[place:]
            case "lines" if not name.endswith(BINARY):
                lines = bytes(data).split(b"\n")
                one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
                lines[one], lines[other] = lines[other], draw.choice(lines)
                data = bytearray(b"\n".join(lines))
            case "value" if not name.endswith(BINARY):
                data = bytearray(other_value(draw, bytes(data)))
    return bytes(data)


def other_value(draw: Draw, data: bytes) -> bytes:
    """Return a file in which one word is replaced by a token or by another of its words."""
    words = [word for word in data.replace(b"\n", b",").split(b",") if word]
    if not words:
        return data
    return data.replace(draw.choice(words), draw.choice([*TOKENS, *words]), draw.choice([1, -1]))


def run(folder: Path, command: list[str]) -> Any:
    """Return how a command ended, which is called in this process.

    Raises
    ------
    Finding
        If it takes too long.
    """
    here = SimpleNamespace(derandomize=True)
    with (
        mock.patch.object(calling, "settings", return_value=here),
        mock.patch.object(Chart, "html", return_value=""),  # charts take most of the time
        workers_in_this_process(),
        limited(f"{command} takes more than {SECONDS} s"),
    ):
        return calling.call(folder, *command)


@contextmanager
def limited(what: str) -> Iterator[None]:
    """Interrupt what takes too long."""

    def ring(*_: Any) -> None:
        raise Finding(what)

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, SECONDS),
        signal.SIGALRM: (signal.ITIMER_REAL, 30 * SECONDS),
    }
    before = {number: signal.signal(number, ring) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


CAMPAIGN = Campaign("inputs", case, slice=25)
