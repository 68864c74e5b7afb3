"""What all tests share: which examples are drawn, the shared data, and which compiled core is tested."""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import numpy as np
import pytest
from browser import Browser, chromium
from examples import ORDINARY
from hypothesis import settings
from in_process import workers_in_this_process
from numpy.typing import NDArray
from visitor import Server, running

CI = os.environ.get("CI") == "true"

LONGEST = ("browser", "spark", "test_sanitize")
"""Groups and modules that take minutes, in the order in which they begin, before all other tests.

A worker holds the next two tests while one runs. Where the sanitizers came after other slow tests, one worker
did both, one after the other, and the other workers had nothing left long before.
"""
NATIVE = os.environ.get("SHOAL_NATIVE")

# The same examples in every run, so that no test fails by chance; a campaign draws others, and many more.
settings.register_profile("shoal", deadline=None, print_blob=True, derandomize=True, max_examples=ORDINARY)
settings.register_profile("few", settings.get_profile("shoal"), max_examples=12)
settings.register_profile("fewest", settings.get_profile("shoal"), max_examples=4)
settings.register_profile("campaign", deadline=None, print_blob=True, derandomize=False, max_examples=100)
settings.load_profile("shoal")

if NATIVE:  # a core built apart, as tests/sanitize.sh does, in place of the installed one
    spec = importlib.util.spec_from_file_location("shoal.kernels._native", NATIVE)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give a campaign its seed, before hypothesis looks for one; the workers of xdist inherit it.

    A seed alone means a campaign, too: otherwise it would say nothing.
    """
    gc.disable()  # until all tests are collected: modules that are loaded leave hardly any garbage
    # In pyproject.toml this would import Shoal, and with it the installed core, before another one is chosen.
    config.addinivalue_line("filterwarnings", "ignore::shoal.errors.ShoalWarning")
    chosen = config.option
    if chosen.hypothesis_seed is not None and chosen.hypothesis_profile is None:
        chosen.hypothesis_profile = "campaign"
    if chosen.hypothesis_profile == "campaign" and chosen.hypothesis_seed is None:
        chosen.hypothesis_seed = str(secrets.randbelow(2**32))
    if chosen.hypothesis_profile != "campaign":
        _one_thread_of_polars()


def _one_thread_of_polars() -> None:
    """Let Polars work with one thread in this process: tables of tests are too small for more.

    What tests start as processes has as many threads as users have, and so has a campaign.
    """
    if "polars" in sys.modules or "POLARS_MAX_THREADS" in os.environ:
        return
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars

    polars.thread_pool_size()  # the threads are started only now
    del os.environ["POLARS_MAX_THREADS"]


def pytest_xdist_auto_num_workers() -> int:
    """Start one worker more than there are cores: tests of pages, of Spark and of processes often wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let no collection of garbage look through modules and tests, which stay until the end."""
    if not session.config.option.collectonly:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest, the slow ones and groups, so that no core waits for a long one at the end.

    Tests that share what a module makes once (a server, a release) run in one process, so that it is made
    only once; and so do all that need the browser. Those that are only for campaigns are left out of other
    runs.
    """
    if settings().derandomize:
        left_out = [item for item in items if item.get_closest_marker("campaign")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("campaign")]
    in_browser = {item.path for item in items if "browser" in _fixtures(item)}
    for item in items:
        made = _fixtures(item)
        shares = any(fixture.scope == "module" for same_name in made.values() for fixture in same_name)
        if item.get_closest_marker("xdist_group") is None and (shares or "browser" in made):
            group = "browser" if item.path in in_browser else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, int, bool]:
    """Return what sorts tests: slow ones first, of these the longest, then those of a group."""
    group = item.get_closest_marker("xdist_group")
    names = (group.args[0] if group else "", item.path.stem)
    longest = [place for place, name in enumerate(LONGEST) if name in names]
    return item.get_closest_marker("slow") is None, min(longest, default=len(LONGEST)), group is None


def _fixtures(item: pytest.Item) -> Mapping[str, Sequence[pytest.FixtureDef[Any]]]:
    """Return the fixtures that a test uses, by name."""
    used = getattr(item, "_fixtureinfo", None)
    return {} if used is None else used.name2fixturedefs


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is needed to repeat the run."""
    lines = [_seed(config)]
    if NATIVE:
        lines.append(f"compiled core: {NATIVE}")
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Repeat the seed after failures, where also `pytest -q` shows it."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(_seed(config))


@pytest.fixture(autouse=True)
def repeatable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let releases without a seed be the same in every run, too; in a campaign they are random."""
    if not settings().derandomize:
        return
    from shoal.base.randomness import Randomness  # not before the compiled core is chosen

    group = request.node.get_closest_marker("xdist_group")  # which xdist adds to the name of a test
    name = request.node.nodeid.removesuffix(f"@{group.args[0]}" if group else "")
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    seeded = Randomness.words

    def words(self: Randomness, count: int) -> NDArray[np.uint64]:
        if self.seeded:
            return seeded(self, count)
        return generator.integers(0, 2**64, size=count, dtype=np.uint64)

    monkeypatch.setattr(Randomness, "words", words)


@pytest.fixture(autouse=True)
def workers_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let blocks and compared runs work in this process, one after the other: most time is to start others.

    They have processes of their own in tests marked ``processes``, in campaigns, if a run has a time limit,
    and in every command that a test runs as a process.
    """
    if not settings().derandomize or request.node.get_closest_marker("processes"):
        yield
        return
    with workers_in_this_process():
        yield


@pytest.fixture(scope="session", autouse=True)
def charts_drawn_once() -> Iterator[None]:
    """Draw a chart once for all tests of a process that make the same one; in a campaign, draw every one.

    To draw is a third of the time of many tests. A chart is drawn from nothing but its specification.
    """
    if NATIVE or not settings().derandomize:
        yield
        return
    from shoal.report.chart import Chart  # not before the compiled core is chosen

    draw = Chart.svg

    @lru_cache(maxsize=2_000)
    def drawn(pickled: bytes) -> str:
        return draw(pickle.loads(pickled))

    with mock.patch.object(Chart, "svg", lambda chart: drawn(pickle.dumps(chart))):
        yield


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Return what to call, with the reason, if the machine lacks what a test needs.

    It skips the test, or fails it where everything has to run.
    """
    return pytest.fail if CI else pytest.skip


@pytest.fixture(scope="session")
def shared_data(unavailable: Callable[[str], NoReturn]) -> Path:
    """Return the folder of public test data; it is not part of the repository."""
    folder = Path(os.environ.get("SHOAL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        unavailable(f"no test data in {folder}; set SHOAL_DATA to the folder that holds it")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a browser; each test opens its own page in it."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the page offers; a test may add tables under names of its own."""
    from shoal.samples import hospital  # not before the compiled core is chosen

    folder = tmp_path_factory.mktemp("tables")
    hospital(100).write_csv(folder / "patients.csv")
    return folder


@pytest.fixture(scope="session")
def server(page_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a running `shoal ui`; each test has a session of its own in it."""
    with running(page_folder, tmp_path_factory.mktemp("temporary")) as started:
        yield started


def _seed(config: pytest.Config) -> str:
    if settings().derandomize:
        return "examples: the same in every run; --hypothesis-profile=campaign draws others"
    seed = config.option.hypothesis_seed
    return f"examples: a campaign; repeat it with --hypothesis-seed={seed}"
