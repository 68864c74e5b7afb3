"""The front door: exactly the names that are promised."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import shoal


def test_all_names_are_there_once() -> None:
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
        assert name in dir(shoal)
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        _ = shoal.anonymise


def test_names_for_type_checkers_are_those_that_are_loaded_late() -> None:
    parsed = ast.parse(Path(shoal.__file__).read_text())
    (checked,) = (each for each in parsed.body if isinstance(each, ast.If))
    imported = {
        str(each.module).removeprefix("shoal."): {alias.name for alias in each.names}
        for each in checked.body
        if isinstance(each, ast.ImportFrom)
    }
    assert imported == {module: set(names) for module, names in vars(shoal)["_LATE"].items()}


def test_audit_is_the_function_although_a_room_has_that_name() -> None:
    import shoal.auditing.classes  # loading the room must not hide the function

    assert callable(shoal.audit)


def test_no_two_classes_have_the_same_name() -> None:
    files = Path(shoal.__file__).parent.rglob("*.py")
    names = Counter(name for file in files for name in re.findall(r"(?m)^class _*(\w+)", file.read_text()))
    assert [name for name, often in names.items() if often > 1] == []
