"""Which tests call a function; for the campaign "mutants".

All tests that run in one process, and are not slow, are run once, in a copy of the campaign's process. What
they called is kept in ``build/tests_of_functions.json``, and noted again for each file of tests that changes.
"""

from __future__ import annotations

import ast
import cProfile
import functools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import mutant_process
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/shoal"
TABLE = ROOT / "build/tests_of_functions.json"
KINDS = ("unit", "attacks", "golden", "property")
FEW_SECONDS, SECONDS = 2.0, 25.0
"""How long the tests may take that come first, and all of them, by what they took when they were noted."""
WORDS = ("-q", "-p", "no:cacheprovider", "--no-header")
WORDS = (*WORDS, "-W", "ignore::pytest.PytestAssertRewriteWarning")  # campaigns have loaded plugins already
EXAMPLES = 4
"""How many examples property tests draw while calls are noted; a third of those that judge mutants."""
ELSEWHERE = {"browser", "server"}
"""What tests ask for whose code runs in another process."""
PROCESSES = ("_packaging", "_spark_", "_worker", "_versions", "_no_memory", "_dead_", "_killed_", "_blocks_")
"""Parts of the names of files whose tests start processes."""


def batches(module: str, function: str) -> list[list[str]]:
    """Return the tests that judge changes of a function: a few quick ones, then the others.

    They are all that call it, and then those in the same files, as far as there is time: what a file makes
    once is made by the first of its tests.
    """
    table = noted()
    callers = {test for test, each in table.items() if f"{module}:{function}" in each["called"]}
    files = {_file(test) for test in callers}
    others = {test for test in table if _file(test) in files} - callers
    few: list[str] = []
    rest: list[str] = []
    spent = 0.0
    for group in (callers, others):
        for test in sorted(group, key=lambda each: table[each]["seconds"]):
            spent += table[test]["seconds"]
            if spent <= SECONDS:
                (few if spent <= FEW_SECONDS else rest).append(test)
    return [each for each in (few, rest) if each]


def function_at(tree: ast.Module, line: int) -> str:
    """Return the name of the function, or the method with its class, that has a line."""

    def within(body: list[ast.stmt], name: str) -> Iterator[str]:
        for each in body:
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)) and each.lineno <= line <= each.end_lineno:  # type: ignore[operator]
                inside = isinstance(each, ast.ClassDef)
                yield from within(each.body, f"{name}{each.name}.") if inside else [f"{name}{each.name}"]

    return next(within(tree.body, ""), "")


@functools.cache
def noted() -> dict[str, dict[str, Any]]:
    """Return what each test called, and how many seconds of processor time it took.

    Files of tests that are new or have changed are run first.
    """
    stored = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {"files": {}, "tests": {}}
    files = {
        str(file.relative_to(ROOT)): file.stat().st_mtime
        for kind in KINDS
        for file in sorted((ROOT / "tests" / kind).glob("test_*.py"))
        if not any(each in file.name for each in PROCESSES)
    }
    stale = [name for name, changed in files.items() if stored["files"].get(name) != changed]
    known = {
        test: each
        for test, each in stored["tests"].items()
        if _file(test) in files and _file(test) not in stale
    }
    if stale:
        TABLE.parent.mkdir(exist_ok=True)
        part = TABLE.with_suffix(".part")
        part.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            mutant_process.quiet()
            settings.register_profile("noted", deadline=None, derandomize=True, max_examples=EXAMPLES)
            pytest.main(
                [*WORDS, "--hypothesis-profile=noted", "-m", "not slow and not processes", *stale],
                plugins=[Notes(part)],
            )
            os._exit(0)
        os.waitpid(child, 0)
        lines = part.read_text(encoding="utf-8").splitlines()
        known |= {each.pop("test"): each for each in map(json.loads, lines)}
        part.unlink()
        TABLE.write_text(json.dumps({"files": files, "tests": known}), encoding="utf-8")
    return known


def _file(test: str) -> str:
    return test.partition("::")[0]


class Notes:
    """A plugin of pytest that notes which functions of the package each test calls, if it passes.

    Parameters
    ----------
    place
        The file to which they are added, in a line for each test.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._passed: set[str] = set()
        self._prefix = f"{PACKAGE}{os.sep}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out tests whose code runs elsewhere."""
        items[:] = [each for each in items if not ELSEWHERE & set(getattr(each, "fixturenames", ()))]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what a test calls."""
        began, calls = time.process_time(), cProfile.Profile(builtins=False)
        calls.enable()
        try:
            return (yield)
        finally:
            calls.disable()
            codes = [each.code for each in calls.getstats() if isinstance(each.code, CodeType)]
            own = [each for each in codes if each.co_filename.startswith(self._prefix)]
            seconds = round(time.process_time() - began, 4)
            if item.nodeid in self._passed and own:
                called = sorted({self._name(each) for each in own})
                line = {"test": item.nodeid, "seconds": seconds, "called": called}
                with self._place.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test passed."""
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    def _name(self, code: CodeType) -> str:
        """Return the module and the outermost function of some code."""
        return f"{code.co_filename[len(self._prefix) :]}:{code.co_qualname.partition('.<locals>')[0]}"


class Failures:
    """A plugin of pytest that keeps the names of the tests that failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the name of a test that failed."""
        if report.failed:
            self.names.append(report.nodeid)


def failing(tests: list[str]) -> list[str] | None:
    """Run tests until one fails, and return its name; nothing if all pass.

    If pytest itself ends with an error, all of them are returned.
    """
    failures = Failures()
    if not pytest.main(
        [*WORDS, "--hypothesis-profile=few", "-x", *(str(ROOT / each) for each in tests)], plugins=[failures]
    ):
        return None
    return failures.names[:1] or tests
