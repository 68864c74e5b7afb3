"""The campaigns "readers" and "guided": readers of files get many inputs, without a command around them.

Bytes are changed at random, or so that they reach new code. The latter needs atheris
(``pip install atheris``), which exists for Linux only, and runs only by its name.
"""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

import inputs
from drawing import Draw
from guided_targets import TARGETS
from soaking import Campaign, Finding

RUNS = {"release": 3_000}
"""Inputs in a case; fewer where a reader takes longer than a millisecond."""
USUAL = 30_000
UNGUIDED = {
    "CSV": 20_000,
    "TSV": 20_000,
    "Parquet": 50_000,
    "Arrow": 60_000,
    "transactions": 60_000,
    "schema": 140_000,
    "hierarchy": 130_000,
    "codebook": 300_000,
    "certificate": 150_000,
    "ledger": 100_000,
    "Stata": 20_000,
    "SPSS": 5_000,
    "release": 3_000,
    "project": 140_000,
    "patterns": 250_000,
}
"""Inputs in a case that are changed at random: about 20 s of processor time for each reader."""
BINARY = ("Parquet", "Arrow")
"""Files that Polars reads, and for which it takes as much memory as they ask for; see docs/security.md."""
PROCESS = str(Path(__file__).with_name("guided_targets.py"))


def case(draw: Draw, folder: Path) -> str:
    """Let one reader read many inputs, each derived from those that reached new code.

    Raises
    ------
    Finding
        If one ends in something other than a `ShoalError`, hangs, or takes more than 2 GiB.
    """
    if importlib.util.find_spec("atheris") is None:
        return "atheris is not installed"
    target = draw.choice(list(TARGETS))
    corpus = write_corpus(target, folder)
    tokens = "\n".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"' for token in inputs.TOKENS)
    (folder / "tokens").write_text(tokens + "\n")
    done = subprocess.run(
        [
            *(sys.executable, PROCESS, target, str(folder)),
            *(
                f"-runs={RUNS.get(target, USUAL)}",
                f"-seed={draw.randrange(1, 2**31)}",
                f"-timeout={30 * inputs.SECONDS}",
            ),
            *("-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"),
            *(f"-dict={folder / 'tokens'}", f"-artifact_prefix={folder}/", str(corpus)),
        ],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if "Is the code instrumented" in done.stderr:
        raise Finding(f"{target}: no input reached new code, so none was derived from another")
    if target in BINARY and "memory allocation of" in done.stderr:
        CAMPAIGN.counts["inputs that Polars ended the process for"] += 1
        return f"{target}: a part that claims to be huge"
    if target == "SPSS" and "readstat" in done.stderr:
        CAMPAIGN.counts["inputs that ReadStat ended the process for"] += 1
        return f"{target}: a fault of ReadStat"
    if done.returncode:
        found = [each.read_bytes()[:2000] for each in folder.glob("*-*") if each.is_file()]
        raise Finding(f"{target} with {found}: {(done.stdout + done.stderr)[-3000:]}")
    told = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    CAMPAIGN.counts["inputs"] += int(told[1]) if told else 0
    return target


def write_corpus(target: str, folder: Path) -> Path:
    """Write the files that a reader starts from into a new folder, and return it."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, content in inputs.seeds().items():
        if TARGETS[target].fits(name):
            (corpus / name.replace("/", "-")).write_bytes(content)
    return corpus


def unguided(draw: Draw, folder: Path) -> str:
    """Let one reader read many inputs with bytes changed at random.

    Raises
    ------
    Finding
        If one ends in something other than a `ShoalError`, hangs, or takes more than 2 GiB.
    """
    target, seed = draw.choice(list(TARGETS)), draw.randrange(10**9)
    write_corpus(target, folder)
    done, many = 0, UNGUIDED.get(target, USUAL)
    while done < many:
        ended = subprocess.run(
            [sys.executable, PROCESS, target, str(folder), "unguided", *map(str, (seed, done, many - done))],
            capture_output=True,
            text=True,
            check=False,
        )
        before, done = done, int((folder / "last").read_text()) + 1
        READERS.counts[f"inputs of {target}"] += done - before
        READERS.counts["inputs"] += done - before
        if target in BINARY and "memory allocation of" in ended.stderr:  # a part that claims to be huge
            READERS.counts["inputs that Polars ended the process for"] += 1
        elif target == "SPSS" and ended.returncode == -signal.SIGSEGV:  # a fault of ReadStat
            READERS.counts["inputs that ReadStat ended the process for"] += 1
        elif ended.returncode:
            data = (folder / "work" / TARGETS[target].file).read_bytes()
            raise Finding(
                f"{target}, exit code {ended.returncode}, with {data[:4000]!r}: {ended.stderr[-3000:]}"
            )
    return target


CAMPAIGN = Campaign("guided", case, slice=0, by_name=True)
READERS = Campaign("readers", unguided, slice=0)
