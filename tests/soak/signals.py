"""The campaign "signals": runs and the page's server end at random moments; nothing partial is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import faults
from drawing import Draw
from soaking import Campaign, Finding
from visitor import Forger, running

from shoal.samples import hospital

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
ENGINES = ("memory", "memory", "memory", "blocks", "blocks", "blocks", "page", "page", "spark")
ENGINE = os.environ.get("SHOAL_ENGINE")
"""One of them for all cases, if it is set."""
MOMENTS = int(os.environ.get("SHOAL_MOMENTS", "6"))
"""The number of runs in a case that get a signal; with Spark, half as many."""
SPARKS_OWN = ("blockmgr-", "spark-", "artifacts-", "hsperfdata", "liblz4", "libzstd", "snappy")
"""How names of temporary files begin that Spark and Java make themselves."""


def case(draw: Draw, folder: Path) -> str:
    """End runs of one engine, one after the other, and repeat the last one without a signal."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup, which runs would inherit
        signal.signal(signal.SIGHUP, lambda *_: None)
    engine = ENGINE or draw.choice(ENGINES)
    if engine == "spark" and find_spec("pyspark") is None:
        return "no Spark"
    if engine == "page":
        return page(draw, folder)
    return runs(draw, folder, engine)


def runs(draw: Draw, folder: Path, engine: str) -> str:
    """Let a complete run say how long one takes; then end others at random moments of that time.

    Raises
    ------
    Finding
        If a run leaves a partial output, has another exit code, shows a traceback, or if the last one, which
        is not disturbed, fails or leaves anything beside its output.
    """
    hospital(faults.ROWS, seed=1).write_csv(folder / "people.csv")
    if engine == "spark":
        (folder / "temporary").mkdir()
    began = time.monotonic()
    faults.finished(folder, faults.command(engine, "7"))
    took = time.monotonic() - began
    if draw.random() < 0.3:
        shutil.rmtree(folder / "out")  # there is no earlier release
    late, killed = 0, False
    moments = MOMENTS // 2 if engine == "spark" else MOMENTS
    for _ in range(moments):
        name = draw.choice(SIGNALS)
        before = faults.released(folder)
        everyone = draw.random() < 0.5
        killed |= everyone and name == "SIGKILL"
        code = ended(draw, folder, engine, signal.Signals[name], draw.uniform(0, took), everyone=everyone)
        # A signal may come after the output is in place, which `released` finds to be complete.
        if faults.released(folder) != before and code > 0 and code != 128 + signal.Signals[name]:
            raise Finding(f"{name}, {engine}: exit code {code}, but the output is another")
        late += not code
        COUNTS[f"signals, {engine}"] += 1
    faults.finished(folder, faults.command(engine, "3", fresh=True))
    left = sorted(each.name for each in folder.iterdir() if each.name != "temporary")
    # The files of a Java that was killed itself are not removed.
    own = SPARKS_OWN if killed else SPARKS_OWN[3:]
    if engine == "spark":
        left += [each.name for each in (folder / "temporary").iterdir() if not each.name.startswith(own)]
    if left != ["out", "people.csv"]:
        raise Finding(f"{engine}: {left} are left")
    return f"{engine}: {late} of {moments} came too late"


def ended(
    draw: Draw, folder: Path, engine: str, sent: signal.Signals, after: float, *, everyone: bool
) -> int:
    """Return the exit code of a run that gets a signal: it alone, or all its processes as in a terminal."""
    run = subprocess.Popen(
        faults.command(engine, "3", fresh=draw.random() < 0.5),
        cwd=folder,
        env=faults.environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    if everyone:
        os.killpg(run.pid, sent)
    else:
        run.send_signal(sent)
    try:
        _, told = run.communicate(timeout=900)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        raise Finding(f"{engine}: the run does not end after {sent.name}, sent after {after} s") from None
    faults.judge_end(f"{engine}, {sent.name} after {after:.3f} s", run.returncode, told, sent)
    waiting = time.monotonic() + 60
    while alive(run.pid):  # workers end by themselves if their master is killed
        if time.monotonic() > waiting:
            os.killpg(run.pid, signal.SIGKILL)
            raise Finding(f"{engine}: processes are left after {sent.name}")
        time.sleep(0.05)
    return run.returncode


def alive(group: int) -> bool:
    """Return whether there are processes of a group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def page(draw: Draw, folder: Path) -> str:
    """End the page's server while a session has a table; the next one removes what is left."""
    tables, temporary = folder / "tables", folder / "temporary"
    tables.mkdir()
    temporary.mkdir()
    table = hospital(60, seed=1).write_csv().encode()
    for _ in range(MOMENTS):
        sent = signal.Signals[draw.choice(SIGNALS)]
        # It sees itself that there is no traceback and, unless the server was killed, that nothing is left.
        with ExitStack() as clients, running(tables, temporary, signal_number=sent) as server:
            if draw.random() < 0.8:
                forger = clients.enter_context(Forger(server))  # it outlives the server
                forger.upload(table)
                if draw.random() < 0.5:
                    forger.listen("columns_done")
            time.sleep(draw.uniform(0, 0.5))
        if server.process.returncode not in (-sent, 128 + sent):
            raise Finding(f"page, {sent.name}: exit code {server.process.returncode}")
        COUNTS["signals, page"] += 1
    with running(tables, temporary):
        left = [each for each in temporary.rglob("*") if each.is_file() and each.stat().st_size > 2_000]
    if left or list(temporary.iterdir()):
        raise Finding(f"page: {left} and {list(temporary.iterdir())} are left")
    return "page"


CAMPAIGN = Campaign("signals", case, slice=1)
COUNTS = CAMPAIGN.counts
