"""The campaign "faults": signals at random moments, files that cannot grow; nothing partial is left."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from drawing import Draw
from soaking import Campaign, Finding

from shoal.release import RELEASE_FILES
from shoal.samples import hospital

ROWS = 400
LONGEST = 4.0
"""Signals are sent within so many seconds."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
QUASI = "age,sex,zip,marital"


def case(draw: Draw, folder: Path) -> str:
    """Disturb a run, look at what it leaves, and repeat it without a disturbance."""
    hospital(ROWS, seed=1).write_csv(folder / "people.csv")
    if earlier := draw.random() < 0.3:
        finished(folder, command("memory", "7"))
    before = released(folder)
    engine = draw.choice(["memory", "blocks"])
    if draw.random() < 0.3:
        most = draw.choice([0, 1, 100, 4096, draw.randint(1, 60_000)])
        what, code = "no space", disturbed(folder, engine, limit=most)
        if code not in (0, 1, 2):
            raise Finding(f"files of at most {most} bytes: exit code {code}")
    else:
        name = draw.choice(SIGNALS)
        sent = signal.Signals[name]
        what, code = name, disturbed(folder, engine, sent=sent, after=draw.uniform(0.0, LONGEST))
        if code not in (0, -sent, 128 + sent):
            raise Finding(f"{name}: exit code {code}")
    found = released(folder)
    if code and found != before:
        raise Finding(f"{what}: exit code {code}, but the output is another: {found}")
    finished(folder, command(engine, "3"))
    left = sorted(each.name for each in folder.iterdir())
    if left != ["out", "people.csv"]:
        raise Finding(f"{what}, {engine}: {left} are left")
    return f"{what}, {engine}{', over an earlier release' if earlier else ''}"


def command(engine: str, k: str) -> list[str]:
    """Return a command that makes a release."""
    made = ["anonymize", "people.csv", "--quasi", QUASI, "--sensitive", "diagnosis", "--drop", "patient,name"]
    made += ["--k", k, "-o", "out", "--overwrite", "--quiet"]
    blocks = ["--block-rows", "100", "--jobs", "1"] if engine == "blocks" else []
    return [sys.executable, "-m", "shoal", *made, *blocks]


def disturbed(
    folder: Path,
    engine: str,
    *,
    sent: signal.Signals | None = None,
    after: float = 0.0,
    limit: int | None = None,
) -> int:
    """Return the exit code of a run that gets a signal, or whose files cannot be longer than a limit.

    Raises
    ------
    Finding
        If it does not end, or shows a traceback.
    """
    limited: Callable[[], None] | None = None
    if limit is not None:
        most = limit

        def limited() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    run = subprocess.Popen(
        command(engine, "3"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    )
    if sent is not None:
        time.sleep(after)
        run.send_signal(sent)
    try:
        _, told = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        raise Finding(f"{engine}: the run does not end after {sent}") from None
    # Before Shoal begins, Python itself answers Ctrl-C.
    starting = sent == signal.SIGINT and "/shoal/" not in told
    if ("Traceback" in told and not starting) or "terminate called" in told:
        raise Finding(f"{engine}, {sent}, {limit}: {told}")
    return run.returncode


def finished(folder: Path, words: list[str]) -> None:
    """Run a command to its end.

    Raises
    ------
    Finding
        If it fails.
    """
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode and "--fresh" in done.stderr:  # another run was interrupted here
        shutil.rmtree(folder / ".out.work", ignore_errors=True)
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or released(folder) is None:
        raise Finding(f"{words}: exit code {done.returncode}: {done.stderr}")


def released(folder: Path) -> str | None:
    """Return the digest of a release that is complete; None if there is none.

    Raises
    ------
    Finding
        If a part of it is missing, or its certificate is of another.
    """
    out = folder / "out"
    if not out.exists():
        return None
    names = {each.name for each in out.iterdir()}
    wanted = {"release.csv", "certificate.json", "codebook.json", "report.html", "report.json"}
    if not wanted <= names <= set(RELEASE_FILES):
        raise Finding(f"the output is {sorted(names)}")
    digest = hashlib.sha256((out / "release.csv").read_bytes()).hexdigest()
    if digest not in str(json.loads((out / "certificate.json").read_text())["files"]):
        raise Finding("the certificate is of another release")
    return digest


CAMPAIGN = Campaign("faults", case, slice=1)
