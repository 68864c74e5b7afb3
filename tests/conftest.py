"""What all tests share: the seed of random examples, the shared data, and which compiled core is tested."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

CI = os.environ.get("CI") == "true"
NATIVE = os.environ.get("SHOAL_NATIVE")

settings.register_profile("shoal", deadline=None, print_blob=True, derandomize=CI)
settings.register_profile("few", settings.get_profile("shoal"), max_examples=12)
settings.load_profile("shoal")

if NATIVE:  # a core built apart, as tests/sanitize.sh does, in place of the installed one
    spec = importlib.util.spec_from_file_location("shoal.kernels._native", NATIVE)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed if none was given, before hypothesis looks for one; the workers of xdist inherit it."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow ones, so that no core waits for a long test at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


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


def _seed(config: pytest.Config) -> str:
    if settings().derandomize:
        return "examples: the same in every run (CI=true)"
    seed = config.option.hypothesis_seed
    return f"examples: random; repeat them with --hypothesis-seed={seed}"
