"""The releases that the benchmark `reading` reads: each is made once and kept below `build/benchmarks`.

`python -m benchmarks.reading_releases --only cmc --k 2,10` makes some of them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import harness
from benchmarks.rivals import RIVALS, readable, run_rival
from shoal import (
    KK,
    Concealment,
    Freeform,
    InfeasibleError,
    KAnonymity,
    KOne,
    OneK,
    Patterned,
    Schema,
    ShoalWarning,
    anonymize,
    read_table,
)
from shoal.models import Model
from shoal.samples import hospital

DATA = ("adult", "acs", "cmc")
MADE_UP = {
    "made-up 1": (600, 5),
    "made-up 2": (1000, 8),
    "made-up 3": (12000, 8),
    "made-up 4": (1500, 9),
    "made-up 5": (25000, 9),
    "made-up 6": (12000, 6),
}
"""Rows and quasi-identifiers of random tables."""
CENSUS = {
    "census 1": (1500, (1, 3, 4, 8, 16, 20, 21, 24), 64),
    "census 2": (1500, (0, 1, 5, 10, 30, 44, 45, 57, 60), 65),
    "census 3": (800, (3, 4, 6, 7, 21, 46, 61, 63), 66),
    "census 4": (4334, (0, 3, 4, 8, 16, 21, 40, 45, 57), 67),
}
"""Records, quasi-identifiers and sensitive column of tables from Pumsb, a census."""
CENSUS_ORDERED = (3, 21, 44, 63)
"""The columns of Pumsb that are read as numbers."""
NUMBERS = "nursery numbers"
"""All of Nursery, with numbers instead of three or more labels."""
TRAINING = ("patients", "many patients", "nursery", NUMBERS, *MADE_UP, *CENSUS)
"""Data that the reader's figures are fitted to; the benchmark does not use them."""
KS = (2, 5, 10, 25, 50, 100)
METHODS: dict[str, tuple[Callable[..., Model], str]] = {
    "matching": (Freeform, "matching"),
    "sort_greedy": (Freeform, "sort_greedy"),
    "greedy": (Freeform, "greedy"),
    "ring": (Freeform, "ring"),
    "chain": (KAnonymity, "chain"),
    "agglomerative": (KAnonymity, "agglomerative"),
    "forest": (KAnonymity, "forest"),
    "mondrian": (KAnonymity, "mondrian"),
    "concealment": (Concealment, "expansion"),
    "kk": (KK, "expansion"),
    "paper-concealment": (partial(Concealment, chance=1), "expansion"),
    "paper-kk": (partial(KK, chance=1), "expansion"),
    "k1": (KOne, "expansion"),
    "1k": (OneK, "expansion"),
    "patterned": (Patterned, "suppression"),
}
"""What the page calls each method, its model, and the method's name."""
WITHOUT_EFFORT = ("mondrian", "agglomerative", "forest")
LARGE = ("adult", "acs", "many patients", NUMBERS, "made-up 3", "made-up 5", "made-up 6")
BALANCED = ("matching", 10)
"""On large tables, only this method and k runs with the effort `balanced`; the others with `fast`."""
LONGEST = 150
"""A release that takes more processor seconds is not made."""
RELEASES = harness.MEASURED / "releases"


def loaded(data: str) -> tuple[pl.DataFrame, Schema]:
    """Return a data set and its schema."""
    if data in DATA:
        frame = getattr(harness, data)()
        return frame, getattr(harness, f"{data}_schema")(frame)
    if data in ("patients", "many patients"):
        rows = 1500 if data == "patients" else 12_000
        frame = pl.DataFrame(hospital(rows, seed=9)).drop("patient", "name")
        return frame, Schema.infer(
            frame, quasi=["age", "sex", "zip", "occupation", "marital"], sensitive=["diagnosis"]
        )
    if data == "nursery":
        frame = read_table(harness.data_folder() / "nursery.csv.gz").sample(2500, seed=1)
        return frame, Schema.infer(frame, quasi=frame.columns[:-1], sensitive=frame.columns[-1:])
    if data == NUMBERS:
        return nursery_numbers()
    if data in CENSUS:
        return census(*CENSUS[data], seed=list(CENSUS).index(data))
    frame = made_up(*MADE_UP[data], seed=list(MADE_UP).index(data))
    return frame, Schema.infer(frame, quasi=frame.columns[:-1], sensitive=["last"])


def nursery_numbers() -> tuple[pl.DataFrame, Schema]:
    """Return all of Nursery with numbers for labels, where a column has three or more, and its schema."""
    frame = read_table(harness.data_folder() / "nursery.csv.gz")
    *quasi, last = frame.columns
    labels = {name: frame[name].unique(maintain_order=True).to_list() for name in quasi}
    numbered = [name for name in quasi if len(labels[name]) >= 3]
    frame = frame.with_columns(
        pl.col(name).replace_strict(labels[name], range(len(labels[name]))).alias(name) for name in numbered
    )
    return frame, Schema.infer(frame, quasi=quasi, sensitive=[last], kinds=dict.fromkeys(numbered, "numeric"))


def census(rows: int, quasi: Sequence[int], sensitive: int, seed: int) -> tuple[pl.DataFrame, Schema]:
    """Return a table from the census of Pumsb, and its schema.

    Parameters
    ----------
    rows
        The number of records, which are drawn at random.
    quasi, sensitive
        The places of the columns in a record.
    seed
        Of the random numbers.
    """
    with gzip.open(harness.data_folder() / "pumsb_first4334.dat.gz", "rt", encoding="utf-8") as lines:
        items = np.array([line.split() for line in lines], dtype=np.int64)
    chosen = items[np.random.default_rng(seed).permutation(len(items))[:rows]]
    columns = {
        f"column {place}": chosen[:, place]
        if place in CENSUS_ORDERED
        else [f"value {value}" for value in chosen[:, place]]
        for place in (*quasi, sensitive)
    }
    frame = pl.DataFrame(columns)
    return frame, Schema.infer(frame, quasi=frame.columns[:-1], sensitive=frame.columns[-1:])


def made_up(rows: int, quasi: int, seed: int) -> pl.DataFrame:
    """Return a random table: columns follow a few common factors, and most of their values are rare.

    Parameters
    ----------
    rows, quasi
        The numbers of rows and of quasi-identifiers; there is one sensitive column more.
    seed
        Of the random numbers.
    """
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(rows, 3))
    columns: dict[str, Any] = {}
    for number in range(quasi + 1):
        name = "last" if number == quasi else f"column {number}"
        loads = generator.normal(size=3) * generator.uniform(0.2, 1.5)
        line = factors @ loads + generator.normal(size=rows)
        levels = int(generator.choice([2, 3, 5, 8, 15, 40])) if number < quasi else 4
        shares = (1 / np.arange(1, levels + 1) ** generator.uniform(0.3, 1.5))[generator.permutation(levels)]
        cuts = np.quantile(line, np.cumsum(shares / shares.sum())[:-1])
        values = np.searchsorted(cuts, line)
        ordered = levels >= 8 and generator.random() < 0.7
        columns[name] = values if ordered else [f"value {value}" for value in values]
    return pl.DataFrame(columns)


def effort_of(data: str, method: str, k: int) -> str | None:
    """Return the effort that a method runs with; None if it has none."""
    if method in WITHOUT_EFFORT:
        return None
    return "fast" if data in LARGE and (method, k) != BALANCED else "balanced"


def release_in_time(data: str, method: str, k: int) -> str | None:
    """Make a release in a process of its own, which ends after `LONGEST` processor seconds.

    Returns
    -------
    str | None
        None if there is a release now, otherwise ``late`` or ``infeasible``.

    Raises
    ------
    RuntimeError
        If the process fails for another reason.
    """
    file = RELEASES / f"{data}-{method}-{k}" / "made.json"
    if file.exists():
        return None
    options = ("--only", data, "--methods", method, "--k", str(k))
    limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (LONGEST, LONGEST + 5))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reading_releases", *options],
        cwd=harness.ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "late"
    if done.returncode:
        raise RuntimeError(f"{data}-{method}-{k}: {done.stderr}")
    return None if file.exists() else "infeasible"


def released_by_rival(rival: str, k: int) -> pl.DataFrame:
    """Return another tool's release of Adult; the first call makes it.

    Raises
    ------
    RuntimeError
        If the tool fails.
    """
    file = RELEASES / f"{rival} {k}.csv"
    if not file.exists():
        frame = harness.adult().select(*harness.ADULT_QUASI, "income")
        figures = run_rival(RIVALS[rival], frame, k=k)
        if "released" not in figures:
            raise RuntimeError(f"{rival}: {figures['failed']}")
        readable(figures["released"], frame, RIVALS[rival].by_hierarchies).write_csv(file)
    return pl.read_csv(file, infer_schema=False)


def release_of(data: str, method: str, k: int) -> Path:
    """Return the folder of a release; the first call makes it."""
    folder = RELEASES / f"{data}-{method}-{k}"
    if not (folder / "made.json").exists():
        frame, schema = loaded(data)
        model, name = METHODS[method]
        effort = effort_of(data, method, k)
        options: dict[str, Any] = {} if effort is None else {"effort": effort}
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)  # releases from a seed are not to be published
            release = anonymize(frame, schema, model(k=k), method=name, seed=1, **options)
        seconds = time.process_time() - started
        folder.mkdir(parents=True, exist_ok=True)
        release.written("csv").write_csv(folder / "release.csv", quote_style="non_numeric")
        book = json.dumps(release.certified.codebook())
        (folder / "codebook.json").write_text(book, encoding="utf-8")
        made = {
            "commit": harness.commit(),
            "gcp": release.loss.gcp,
            "seconds": seconds,
            "effort": effort,
        }
        (folder / "made.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


def main(options: Sequence[str]) -> None:
    """Make releases, those of small tables first."""
    parser = argparse.ArgumentParser("reading_releases")
    parser.add_argument("--only", default=",".join(DATA[::-1]))
    parser.add_argument("--k", default=",".join(map(str, KS)))
    parser.add_argument("--methods", default=",".join(METHODS))
    given = parser.parse_args(options)
    for data in given.only.split(","):
        for method in given.methods.split(","):
            for k in map(int, given.k.split(",")):
                try:
                    folder = release_of(data, method, k)
                except InfeasibleError as error:
                    print(f"{data}-{method}-{k}: {error}")
                    continue
                made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
                print(f"{folder.name}: GCP {made['gcp']:.4f}, {made['seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
