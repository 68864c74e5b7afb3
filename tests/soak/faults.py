"""The campaign "faults": signals, full disks, refused calls, no memory; nothing partial is left."""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from drawing import Draw
from soaking import Campaign, Finding

from shoal.release import RELEASE_FILES
from shoal.samples import hospital

ROWS = 400
LONGEST = 4.0
"""Maximum number of seconds before a signal is sent."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
QUASI = "age,sex,zip,marital"


def case(draw: Draw, folder: Path) -> str:
    """Disturb a run, look at what it leaves, and repeat it without a disturbance."""
    hospital(ROWS, seed=1).write_csv(folder / "people.csv")
    if earlier := draw.random() < 0.3:
        finished(folder, command("memory", "7"))
    before = released(folder)
    engine = draw.choice(["memory", "blocks"])
    what, code = draw.choice(DISTURBANCES)(draw, folder, engine)
    found = released(folder)
    if (
        code and found != before and not (code < 0 and what in SIGNALS)
    ):  # killed after the output was in place
        raise Finding(f"{what}: exit code {code}, but the output is another: {found}")
    finished(folder, command(engine, "3"))
    left = sorted(each.name for each in folder.iterdir())
    if left != ["out", "people.csv"]:
        raise Finding(f"{what}, {engine}: {left} are left")
    return f"{what.split(',')[0]}, {engine}{', over an earlier release' if earlier else ''}"


def signalled(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Send a signal at a random moment."""
    name = draw.choice(SIGNALS)
    sent = signal.Signals[name]
    fitting = (0, -sent, 128 + sent)
    return name, disturbed(folder, engine, fitting, sent=sent, after=draw.uniform(0.0, LONGEST))


def full_disk(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Let files be no longer than a limit."""
    most = draw.choice([0, 1, 100, 4096, draw.randint(1, 60_000)])
    return f"no space, {most} bytes", disturbed(folder, engine, limits={resource.RLIMIT_FSIZE: most})


def little_memory(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Let the process have little address space: libraries in Rust end the process then, C++ must not."""
    most = draw.randint(200, 2_000) * 2**20
    code = disturbed(folder, engine, None, limits={resource.RLIMIT_AS: most}, quiet=False)
    return f"no memory, {most // 2**20} MiB", code


def refused_call(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Let one call of the operating system, or all from then on, fail."""
    call, reason = draw.choice(REFUSED)
    known = {
        "SHOAL_FAILS": call,
        "SHOAL_FAILS_AFTER": str(draw.choice([0, 0, 1, 2, draw.randint(0, 40)])),
        "SHOAL_FAILS_FOR": draw.choice(["1", "1000000"]),
        "SHOAL_FAILS_WITH": str(reason),
    }
    return f"{call} refused, {errno.errorcode[reason]}, {known}", disturbed(folder, engine, known=known)


def refused_threads(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Let no thread be started, from some moment on: libraries in Rust fail then, C++ must not."""
    known = {
        "SHOAL_FAILS": "thread",
        "SHOAL_FAILS_AFTER": str(draw.randint(0, 12)),
        "SHOAL_FAILS_FOR": draw.choice(["1", "1000000"]),
        "SHOAL_FAILS_WITH": str(errno.EAGAIN),
    }
    return f"threads refused, {known}", disturbed(folder, engine, None, known=known, quiet=False)


def wrong_clock(draw: Draw, folder: Path, engine: str) -> tuple[str, int]:
    """Let the clock of the day jump by seconds or years, forwards and backwards."""
    known = {"SHOAL_CLOCK_JUMPS": draw.choice(["5", "4000", "100000", "1000000000"])}
    return "clock jumps", disturbed(folder, engine, (0,), known=known)


DISTURBANCES = [signalled] * 5 + [full_disk] * 2
if sys.platform == "linux" and shutil.which("cc"):  # others load no library before that of C
    DISTURBANCES += [refused_call] * 4 + [little_memory, refused_threads, wrong_clock]
REFUSED = [
    *((call, reason) for call in ("write", "fsync") for reason in (errno.ENOSPC, errno.EIO, errno.EDQUOT)),
    ("rename", errno.EXDEV),
    ("rename", errno.EIO),
    *((call, reason) for call in ("mkdir", "open") for reason in (errno.EROFS, errno.EACCES, errno.ENOSPC)),
    ("unlink", errno.EBUSY),
]
"""Calls that fail, and why: a full or broken disk, a read-only folder, a folder on another device."""


@functools.cache
def refusing() -> str:
    """Return the library whose calls fail, compiled once."""
    made = Path(tempfile.mkdtemp(prefix="shoal-soak-calls-")) / "failing_calls.so"
    source = Path(__file__).resolve().with_name("failing_calls.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", made, "-ldl"], check=True, timeout=60)
    return str(made)


def command(engine: str, k: str, *, fresh: bool = False) -> list[str]:
    """Return a command that makes a release."""
    made = ["anonymize", "people.csv", "--quasi", QUASI, "--sensitive", "diagnosis", "--drop", "patient,name"]
    made += ["--k", k, "-o", "out", "--overwrite", "--quiet"]
    words = {
        "memory": [],
        "blocks": ["--block-rows", "100", "--jobs", "2", *(["--fresh"] if fresh else [])],
        "spark": ["--engine", "spark", "--master", "local[1]", "--block-rows", "100"],
    }
    return [sys.executable, "-m", "shoal", *made, *words[engine]]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a run, which has threads although the campaign itself does without them."""
    known = {name: text for name, text in os.environ.items() if name not in ONE_THREAD}
    if (own := folder / "temporary").exists():
        known |= {"TMPDIR": str(own), "SPARK_LOCAL_DIRS": str(own)}
    return known


ONE_THREAD = ("POLARS_MAX_THREADS", "SHOAL_THREADS")


def disturbed(
    folder: Path,
    engine: str,
    fitting: Sequence[int] | None = (0, 1, 2),
    *,
    sent: signal.Signals | None = None,
    after: float = 0.0,
    limits: Mapping[int, int] | None = None,
    known: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> int:
    """Return the exit code of a run that gets a signal, or is limited by the operating system.

    Parameters
    ----------
    folder, engine
        Where the run works, and how.
    fitting
        The exit codes that fit; None if all do.
    sent, after
        A signal, and after how many seconds it is sent.
    limits
        Limits of resources.
    known
        Environment variables that tell which calls fail.
    quiet
        Whether a traceback, or a run that does not end, is a finding. It is none where a library in Rust
        lacks memory or threads: it may end the process, or wait for ever.

    Raises
    ------
    Finding
        If it does not end, has another exit code, is aborted by C++, or shows a traceback.
    """
    limited: Callable[[], None] | None = None
    if limits is not None:
        chosen = dict(limits)

        def limited() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            for which, most in chosen.items():
                resource.setrlimit(which, (most, most))

    run = subprocess.Popen(
        command(engine, "3"),
        cwd=folder,
        env=environment(folder) | ({} if known is None else {"LD_PRELOAD": refusing(), **known}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    )
    if sent is not None:
        time.sleep(after)
        run.send_signal(sent)
    try:
        _, told = run.communicate(timeout=600 if quiet else 120)
    except subprocess.TimeoutExpired:
        run.kill()
        run.communicate()
        if not quiet:
            return -signal.SIGKILL
        raise Finding(f"{engine}: the run does not end after {sent}, {limits}, {known}") from None
    what = f"{engine}, {sent}, {limits}, {known}"
    judge_end(what, run.returncode, told, sent, fitting, quiet=quiet)
    return run.returncode


def judge_end(
    what: str,
    code: int,
    told: str,
    sent: signal.Signals | None,
    fitting: Sequence[int] | None = (),
    *,
    quiet: bool = True,
) -> None:
    """Refuse an exit code that does not fit, a process that C++ aborted, or a traceback.

    Before the first module of Shoal is loaded, Python itself answers Ctrl-C, with a traceback in which no
    module of Shoal occurs; while it starts, with an exit code of its own.
    """
    if sent is not None:
        fitting = (0, -sent, 128 + sent, *(fitting or ()))
    starting = sent == signal.SIGINT and "shoal" not in told and code == -signal.SIGINT
    if sent == signal.SIGINT and "shoal" not in told and "init_import_site" in told:
        return
    if ("Traceback" in told and quiet and not starting) or "terminate called" in told:
        raise Finding(f"{what}: {told}")
    refused = code == 2 and "--fresh" in told  # after another run was interrupted
    if code == -signal.SIGSEGV or not (fitting is None or code in fitting or refused):
        raise Finding(f"{what}: exit code {code}: {told}")


def finished(folder: Path, words: list[str]) -> None:
    """Run a command to its end.

    Raises
    ------
    Finding
        If it fails.
    """
    calling: dict[str, Any] = {
        "cwd": folder,
        "env": environment(folder),
        "capture_output": True,
        "text": True,
    }
    done = subprocess.run(words, **calling, timeout=900, check=False)
    if done.returncode and "--fresh" in done.stderr:  # another run was interrupted here
        done = subprocess.run([*words, "--fresh"], **calling, timeout=900, check=False)
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
    table = "release.parquet" if "release.parquet" in names else "release.csv"  # Spark writes the first
    wanted = {table, "certificate.json", "codebook.json", "report.html", "report.json"}
    if not wanted <= names <= set(RELEASE_FILES):
        raise Finding(f"the output is {sorted(names)}")
    parts = sorted((out / table).glob("*.parquet")) or [out / table]
    digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in parts]
    certified = str(json.loads((out / "certificate.json").read_text())["files"])
    if not all(digest in certified for digest in digests):
        raise Finding("the certificate is of another release")
    return " ".join(digests)


CAMPAIGN = Campaign("faults", case, slice=1)
