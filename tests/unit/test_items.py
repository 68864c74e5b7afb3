"""Columns of items: how they come in, how they are written and read back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from one_column import FLAVOURS, encoded, frame_of, refused, values_of

from shoal import (
    InfeasibleError,
    InputError,
    Schema,
    SetAnonymity,
    SetDiversity,
    anonymize,
    audit,
    collect_items,
    read_table,
)
from shoal.errors import Reason
from shoal.kinds import notation
from shoal.kinds.domain import Attribute
from shoal.kinds.item_sets import read_items
from shoal.kinds.items import ItemsDomain
from shoal.methods import METHODS
from shoal.models import Model, declarations, is_required
from shoal.schema import Column, Kind, as_frame

BASKETS = [["a", "b"], ["b"], [], ["a", "b"], ["c", "a"]]


def sets_of(attribute: Attribute) -> list[set[str]]:
    domain = attribute.domain
    assert isinstance(domain, ItemsDomain)
    return [{domain.names[item] for item in domain.sets[code]} for code in attribute.codes]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_lists_are_read_from_every_flavour(flavour: str) -> None:
    attribute = encoded(BASKETS, flavour, kind="items")
    assert sets_of(attribute) == [set(basket) for basket in BASKETS]
    assert attribute.codes[0] == attribute.codes[3]
    assert len(attribute.domain) == 4


def test_sets_and_tuples_of_python_are_read() -> None:
    for wrap in (set, frozenset, tuple):
        frame = pd.DataFrame({"x": [wrap(basket) for basket in BASKETS]})
        assert sets_of(encoded(frame, kind="items")) == [set(basket) for basket in BASKETS]


@pytest.mark.parametrize(
    ("cells", "separator", "expected"),
    [
        (["b a", " a\ta ", "c"], None, [{"a", "b"}, {"a"}, {"c"}]),
        (["red wine; ale ;;ale", "a,b", ";"], ";", [{"red wine", "ale"}, {"a,b"}, set()]),
        (["1, 2", "2", ""], ",", [{"1", "2"}, {"2"}, set()]),
    ],
)
def test_texts_are_cut_at_a_separator(
    cells: list[str], separator: str | None, expected: list[set[str]]
) -> None:
    assert sets_of(encoded(cells, kind="items", separator=separator)) == expected


def test_numbers_are_items_in_the_order_of_numbers() -> None:
    for cells in ([[10, 9], [9]], [[10.0, 9.0], [9.0]], [["10", "9"], ["9"]]):
        attribute = encoded(cells, kind="items")
        assert isinstance(attribute.domain, ItemsDomain)
        assert attribute.domain.names == ("9", "10")
    assert encoded([["10", "9", "x"]], kind="items").domain.labels == ("10 9 x",)


def test_a_missing_set_is_an_empty_one_unless_the_policy_says_otherwise() -> None:
    cells = pl.Series([["a"], None, []], dtype=pl.List(pl.String))
    assert sets_of(encoded(cells, kind="items")) == [{"a"}, set(), set()]
    assert sets_of(encoded(cells, kind="items", missing="suppress")) == [{"a"}, set()]
    assert refused(cells, kind="items", missing="error").reason is Reason.MISSING_VALUE
    assert sets_of(encoded(["a", "?"], kind="items", missing_marks=("?",))) == [{"a"}, set()]


def test_no_items_at_all_are_a_column_like_any_other() -> None:
    attribute = encoded(pl.Series([[], []], dtype=pl.List(pl.String)), kind="items")
    assert (values_of(attribute), attribute.codes.tolist()) == ([[]], [0, 0])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([["a"], ["b", None]], ["row 2", "without a name"]),
        ([["a", ""], ["b"]], ["row 1", "without a name"]),
        ([1, 2], ["Int64", "not items"]),
        ([[["a"]], [["b"]]], ["not items"]),
    ],
)
def test_what_is_no_set_of_items_is_refused(cells: list[Any], words: list[str]) -> None:
    error = refused(cells, kind="items")
    assert error.reason is Reason.BAD_VALUE
    assert all(word in str(error) for word in words), str(error)


def test_sets_beside_other_values_are_refused() -> None:
    error = refused(pd.DataFrame({"x": [{"a"}, 1]}), kind="items")
    assert (error.reason, "mixes sets" in str(error)) == (Reason.BAD_VALUE, True)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"kind": "items", "separator": ""}, "separator ''"),
        ({"kind": "items", "separator": 3}, "separator 3"),
        ({"kind": "numeric", "separator": ";"}, "only a column of kind items"),
        ({"kind": "items", "domain": ("a",)}, "has no domain"),
    ],
)
def test_a_schema_that_makes_no_sense_is_refused(properties: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        Column("x", **properties)
    assert error.value.reason is Reason.SCHEMA


def test_a_schema_with_items_is_inferred_written_and_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"basket": ["a;b", "c"], "list": BASKETS[:2]})
    schema = Schema.infer(frame, quasi=["basket", "list"], separators={"basket": ";"})
    assert [column.kind for column in schema] == [Kind.ITEMS, Kind.ITEMS]
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


def test_a_name_that_the_release_needs_is_refused() -> None:
    frame = pl.DataFrame({"x": BASKETS, "x_uncertain": [1, 2, 3, 4, 5]})
    with pytest.raises(InputError, match="'x_uncertain' has a name that the release needs") as error:
        anonymize(frame, Schema.infer(frame, quasi=["x"]), SetAnonymity(k=2))
    assert error.value.reason is Reason.DUPLICATE_COLUMN


OTHERS = [
    (kind, method)
    for kind, methods in METHODS.items()
    for method in methods
    if kind not in (SetAnonymity, SetDiversity)
]


@pytest.mark.parametrize(("kind", "method"), OTHERS)
def test_other_models_say_which_ones_generalize_items(kind: type[Model], method: str) -> None:
    frame = pl.DataFrame({"x": BASKETS, "y": range(len(BASKETS))})
    needed = {"k": 2, "epsilon": 0, "delta": 0, "t": 0.5, "beta": 1, "disclosure_delta": 1, "delta_max": 1}
    needed |= {"population": frame, "knows": 1}
    given = {name: needed[name] for name, _, own in declarations(kind) if is_required(own)}
    with pytest.raises(InputError, match="set-anonymity and set-diversity"):
        anonymize(frame, Schema.infer(frame, quasi=["x"], sensitive=["y"]), kind(**given), method=method)


AWKWARD = ["red wine", "a,b", "*", "\\", "\\*", "tab\t", '"', "é", "a|b", "..", "new\nline", "\\ x"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_awkward_names_come_back_from_files(tmp_path: Path, form: Any) -> None:
    random = np.random.default_rng(1)
    baskets = [[name for name in AWKWARD if random.random() < 0.3] for _ in range(20)]
    frame = pl.DataFrame({"x": [*baskets, [], AWKWARD]})
    schema = Schema.infer(frame, quasi=["x"])
    release = anonymize(frame, schema, SetAnonymity(k=3))
    release.save(tmp_path / "out", format=form, keep_key=True)
    found = audit(
        frame, read_table(tmp_path / "out" / f"release.{form}"), schema, SetAnonymity(k=3), key=release.key
    )
    assert found.holds
    assert found.consistency.as_dict() == release.audit.consistency.as_dict()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_releases_have_the_flavour_that_went_in(flavour: str) -> None:
    frame = frame_of([*BASKETS, ["a"], ["c"]], flavour)
    schema = Schema.infer(frame, quasi=["x"])
    release = anonymize(frame, schema, SetAnonymity(k=2))
    assert type(release.table) is type(frame)
    assert as_frame(release.table).columns == ["x", "x_uncertain", "x_max_errors"]
    assert audit(frame, release.table, schema, SetAnonymity(k=2), key=release.key).holds


def test_names_are_written_and_read() -> None:
    assert notation.write_items(["a b", "*", "x"]) == "a\\ b \\* x"
    for names in ([], ["*"], AWKWARD, *([name] for name in AWKWARD)):
        assert notation.read_items(notation.write_items(names)) == names


def read(frame: pl.DataFrame, original: list[list[str]]) -> list[list[int]]:
    """Return which original records each released row could be."""
    attribute = encoded(original, kind="items")
    assert isinstance(attribute.domain, ItemsDomain)
    values, cell = read_items(as_frame(frame), "x", attribute.domain)
    records = np.arange(len(original))
    return [
        np.flatnonzero(values.covers(np.full(len(records), each), attribute.codes[records])).tolist()
        for each in cell
    ]


def test_what_released_cells_stand_for() -> None:
    frame = pl.DataFrame(
        {
            "x": ["a b", "a b", "a b", "*", None, "\\*"],
            "x_uncertain": ["", "b c", "b c", "", "a", ""],
            "x_max_errors": ["0", "1", "2", "0", "1", "0"],
        }
    )
    original = [["a", "b"], ["a"], ["a", "c"], ["a", "b", "c"], [], ["*"]]
    assert read(frame, original) == [[0], [0, 1, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [1, 4], [5]]


def test_without_the_other_two_columns_items_are_exact() -> None:
    assert read(pl.DataFrame({"x": ["a", "b a"]}), [["a"], ["a", "b"]]) == [[0], [1]]


def test_items_that_the_original_never_has_rule_out_or_count() -> None:
    frame = pl.DataFrame(
        {
            "x": [["a", "new"], ["a", "new"], ["a", "new"], ["a"]],
            "x_uncertain": [[], ["new"], ["new", "b"], ["b", "new"]],
            "x_max_errors": [9, 1, 1, 1],
        }
    )
    assert read(frame, [["a"], ["a", "b"]]) == [[], [0], [0], [0, 1]]


@pytest.mark.parametrize("errors", ["many", "-1", ""])
def test_a_number_of_errors_must_be_one(errors: str) -> None:
    frame = pl.DataFrame({"x": ["a"], "x_max_errors": [errors]})
    with pytest.raises(InputError, match=r"row 1.*number of errors") as error:
        read(frame, [["a"]])
    assert error.value.reason is Reason.RELEASE_UNREADABLE


def test_the_auditor_sees_through_a_release_that_hides_nobody() -> None:
    frame = pl.DataFrame({"x": BASKETS})
    schema = Schema.infer(frame, quasi=["x"])
    found = audit(frame, frame, schema, SetAnonymity(k=2))
    assert not found.holds
    assert found.consistency.rows_of_record.tolist() == [2, 1, 1, 2, 1]
    assert found.concealment == 1


def test_the_auditor_counts_labels_as_published() -> None:
    frame = pl.DataFrame({"x": [["a"], ["a"], ["b"], ["b"]], "label": ["p", "q", "p", "q"]})
    schema = Schema.infer(frame, quasi=["x"], sensitive=["label"])
    assert audit(frame, frame, schema, SetDiversity(l=2)).holds
    swapped = frame.with_columns(label=pl.Series(["p", "p", "q", "q"]))
    found = audit(frame, swapped, schema, SetDiversity(l=2))
    assert not found.holds
    assert "only p = 1 instead of 2" in found.verdict


def test_labels_that_are_too_frequent_are_refused_with_what_could_be_had() -> None:
    frame = pl.DataFrame({"x": [["a"]] * 4, "label": ["p", "p", "p", "q"]})
    schema = Schema.infer(frame, quasi=["x"], sensitive=["label"])
    with pytest.raises(InfeasibleError, match="allows l = 1 at most"):
        anonymize(frame, schema, SetDiversity(l=2))
    with pytest.raises(InputError, match="none is named") as error:
        anonymize(frame, Schema.infer(frame, quasi=["x"]), SetDiversity(l=2))
    assert error.value.reason is Reason.NO_SENSITIVE


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (SetAnonymity(k=3), {"effort": "fast"}),
        (SetAnonymity(k=3), {"method": "ring"}),
        (SetDiversity(l=3), {"effort": "best"}),
    ],
)
def test_a_run_tells_how_far_it_is_and_can_be_cancelled(model: Any, options: dict[str, str]) -> None:
    frame = pl.DataFrame({"x": [["a", str(i % 5)] for i in range(40)], "label": [i % 8 for i in range(40)]})
    schema = Schema.infer(frame, quasi=["x"], sensitive=["label"])
    told: list[tuple[str, float]] = []
    anonymize(frame, schema, model, progress=lambda *each: told.append(each), **options)
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages[:2] == ["reading values", "putting records in order"]
    for stage in stages:
        shares = [share for each, share in told if each == stage]
        assert shares == sorted(shares)

    def cancel(stage: str, _share: float) -> None:
        if stage == stages[-2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(frame, schema, model, progress=cancel, **options)


@pytest.mark.parametrize("model", [SetAnonymity(k=2), SetDiversity(l=2)])
@pytest.mark.parametrize("columns", [["label"], ["label", "other"]])
def test_an_unknown_effort_is_refused(model: Any, columns: list[str]) -> None:
    frame = pl.DataFrame({"x": [["a"]] * 4, "label": [1, 2, 3, 4], "other": [4, 3, 2, 1]})
    schema = Schema.infer(frame, quasi=["x"], sensitive=columns)
    with pytest.raises(InputError, match="did you mean 'fast'"):
        anonymize(frame, schema, model, effort="fastt")


@pytest.mark.parametrize("wrong", [1, 0, 2.5, None, True, "3"])
def test_an_impossible_l_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="l = "):
        SetDiversity(l=wrong)


def test_l_may_come_as_any_number() -> None:
    assert SetDiversity(l=3.0).parameters == {"l": 3}  # type: ignore[arg-type]


def test_k_above_the_table_is_refused() -> None:
    frame = pl.DataFrame({"x": BASKETS})
    with pytest.raises(InputError, match="k = 6 is above the 5 records"):
        anonymize(frame, Schema.infer(frame, quasi=["x"]), SetAnonymity(k=6))


def test_transaction_files(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("1 2 2 \n\n3\t1\r\n")
    frame = read_table(tmp_path / "a.dat")
    assert frame.columns == ["items"]
    assert frame["items"].to_list() == [["1", "2", "2"], [], ["3", "1"]]
    (tmp_path / "b.dat").write_text("red wine, ale\nale\n")
    assert read_table(tmp_path / "b.dat", delimiter=",")["items"].to_list() == [["red wine", "ale"], ["ale"]]
    (tmp_path / "c.dat").write_text("\n\n")
    with pytest.raises(InputError, match="is empty"):
        read_table(tmp_path / "c.dat")


LONG = {"who": [2, 1, 2, 3], "what": ["b", "a", "a", None], "age": [30, 40, 30, 50]}


@pytest.mark.parametrize("flavour", [pl.DataFrame, pd.DataFrame])
def test_long_tables_are_collected(flavour: Any) -> None:
    wide = collect_items(flavour(LONG), "who", "what")
    assert type(wide) is flavour
    frame = as_frame(wide)
    assert frame.columns == ["what", "age"]
    assert [list(each) for each in frame["what"].to_list()] == [["b", "a"], ["a"], []]
    assert frame["age"].to_list() == [30, 40, 50]
    assert Schema.infer(wide)["what"].kind is Kind.ITEMS


@pytest.mark.parametrize(
    ("changes", "record", "item", "words"),
    [
        ({}, "whom", "what", "did you mean 'who'"),
        ({}, "who", "who", "both"),
        ({"age": [1, 2, 3, 4]}, "who", "what", "'age' differs"),
        ({"who": [1, None, 2, 2]}, "who", "what", "row 2"),
    ],
)
def test_long_tables_that_cannot_be_collected(
    changes: dict[str, Any], record: str, item: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        collect_items(pl.DataFrame({**LONG, **changes}), record, item)
