"""The examples in the docstrings of public names are true."""

from __future__ import annotations

import doctest
import inspect
import warnings
from pathlib import Path

import pytest

import shoal

WITHOUT = {"SparkRelease", "anonymize_spark", "spark_session"}
"""Names whose examples need Spark: they are shown, but not run here."""


def examples(name: str) -> list[doctest.DocTest]:
    """Return the examples in the docstring of a public name and of its own methods."""
    found = getattr(shoal, name)
    finder = doctest.DocTestFinder(recurse=inspect.isclass(found))
    module = inspect.getmodule(found)
    tests = finder.find(found, name, module=module, globs={"shoal": shoal})
    return [test for test in tests if test.examples]


@pytest.mark.parametrize("name", sorted(set(shoal.__all__) - WITHOUT))
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = examples(name)
    assert tests, f"the docstring of shoal.{name} has no example"
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    for test in tests:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", shoal.ShoalWarning)  # short examples carry columns along
            runner.run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_examples_that_need_spark_are_there(name: str) -> None:
    assert examples(name), f"the docstring of shoal.{name} has no example"
