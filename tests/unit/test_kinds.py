"""The registry of kinds: complete kinds are found by name, incomplete ones are refused."""

from __future__ import annotations

import ast
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.kinds.kind import Kind
from shoal.kinds.value_kind import ValueKind
from shoal.schema import merged_kinds

SOURCE = Path(shoal.__file__).parent


def test_a_kind_without_its_methods_is_refused() -> None:
    message = "kind 'half' is incomplete: class Half must define 'domain', 'values'"
    with pytest.raises(TypeError, match=message):
        type(Kind)("Half", (ValueKind,), {"__slots__": ()}, name="half")
    with pytest.raises(TypeError, match="class Other must define 'attribute'"):
        type(Kind)("Other", (Kind,), {"__slots__": ()}, name="other")
    for name in ("half", "other"):
        with pytest.raises(ValueError, match="is not a valid Kind"):
            Kind(name)
        assert not hasattr(Kind, name.upper())


def test_a_class_without_a_name_is_no_kind() -> None:
    assert [kind.value for kind in Kind] == [
        "numeric",
        "date",
        "hour",
        "time",
        "categorical",
        "ordinal",
        "items",
    ]
    assert not any(type(kind) is ValueKind for kind in Kind)


def test_parts_of_different_kinds_are_categories_together() -> None:
    for kind in Kind:
        assert kind.united(kind) is kind
    assert Kind.NUMERIC.united(Kind.DATE) is Kind.CATEGORICAL
    parts = [pl.DataFrame({"x": ["1"]}), pl.DataFrame({"x": ["2026-01-01"]}), pl.DataFrame({"x": ["1"]})]
    assert merged_kinds(parts) == {"x": Kind.CATEGORICAL}


def test_settings_belong_to_the_kinds_that_use_them() -> None:
    assert [kind.value for kind in Kind if "separator" in kind.settings] == ["items"]
    assert [kind.value for kind in Kind if "date_format" in kind.settings] == ["date", "hour"]
    assert [kind.value for kind in Kind if "hierarchy" not in kind.settings] == ["hour", "items"]
    assert [kind.value for kind in Kind if kind.needs_domain] == ["ordinal"]


def test_no_other_room_asks_which_kind_a_column_has() -> None:
    for file in SOURCE.rglob("*.py"):
        if file.parent.name == "kinds":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            named = [s for s in sides if isinstance(s, ast.Attribute) and ast.unparse(s.value) == "Kind"]
            assert not named, f"{file}, line {node.lineno}: ask the kind itself: {ast.unparse(node)}"
