"""Records that changed: classes that are redrawn around the same persons, and classes that are removed."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal import KAnonymity, Schema

PEOPLE = [
    ("ann", 30, "flu", 3),
    ("bob", 31, "asthma", 5),
    ("cem", 32, "gout", 4),
    ("dee", 50, "burn", 3),
    ("eve", 51, "angina", 2),
    ("fay", 52, "flu", 6),
]
TABLE = pl.DataFrame(PEOPLE, schema=["who", "age", "diagnosis", "days"], orient="row")
SCHEMA = Schema.infer(
    TABLE, quasi=["age"], sensitive=["diagnosis"], person="who", kinds={"age": "numeric", "days": "numeric"}
)
MODEL = KAnonymity(k=3)
YOUNG = ["ann", "bob", "cem"]


def first(model: KAnonymity = MODEL) -> tuple[Any, Any, Any]:
    release = shoal.anonymize(TABLE, SCHEMA, model, method="mondrian")
    assert set(release.written("csv")["age"]) == {"30..32", "50..52"}
    return TABLE, release.written("csv"), release.key


def changed(*names: str, **values: Any) -> pl.DataFrame:
    who = pl.col("who").is_in(names)
    return TABLE.with_columns(
        pl.when(who).then(value).otherwise(pl.col(name)).alias(name) for name, value in values.items()
    )


def again(table: pl.DataFrame, model: KAnonymity = MODEL) -> tuple[pl.DataFrame, dict[str, int], list[str]]:
    release = shoal.anonymize_again(table, SCHEMA, model, after=[first(model)])
    assert release.circumstances["together"]["holds"]
    whose = table["who"].gather(release.key).to_list()
    return release.written("csv"), release.circumstances["again"], whose


def test_a_birthday_redraws_the_class_around_the_same_persons() -> None:
    rows, counts, whose = again(changed("cem", age=33))
    assert (counts["kept"], counts["redrawn"], counts["removed"], counts["left_out"]) == (3, 3, 0, 0)
    assert counts["changed"] == 1
    assert rows["age"].to_list() == ["50..52"] * 3 + ["30..33"] * 3
    assert sorted(whose[3:]) == YOUNG
    carried = dict(zip(whose, rows.select("diagnosis", "days").rows(), strict=True))
    assert carried["cem"] == ("gout", 4)
    assert rows["diagnosis"].to_list()[3:] == ["asthma", "flu", "gout"]  # ordered by what they show


def test_what_changes_for_all_members_is_redrawn() -> None:
    rows, counts, _ = again(changed(*YOUNG, days=pl.col("days") + 10))
    assert (counts["kept"], counts["redrawn"], counts["changed"]) == (3, 3, 3)
    assert sorted(rows["days"].to_list()[3:]) == [13, 14, 15]
    rows, counts, _ = again(changed(*YOUNG, diagnosis=pl.lit("cold")))
    assert counts["redrawn"] == 3


@pytest.mark.parametrize("model", [KAnonymity(k=3, l=2), KAnonymity(k=3, p=2), KAnonymity(k=3, entropy_l=2)])
def test_with_diversity_a_sensitive_column_must_not_change(model: KAnonymity) -> None:
    """What is removed must not show whether the new values of a class are diverse."""
    for diagnosis in ("cold", pl.col("diagnosis") + pl.lit("s")):
        given = pl.lit(diagnosis) if isinstance(diagnosis, str) else diagnosis
        _, counts, whose = again(changed(*YOUNG, diagnosis=given), model)
        assert (counts["kept"], counts["redrawn"], counts["removed"]) == (3, 0, 3)
        assert not set(whose) & set(YOUNG)
    assert again(changed(*YOUNG, days=pl.col("days") + 1), model)[1]["redrawn"] == 3


def test_what_changes_for_some_members_removes_the_class() -> None:
    """In a redrawn class, the row that changed would be Ann's, as she is known to have changed."""
    for names in (["ann"], ["ann", "bob"]):
        _, counts, whose = again(changed(*names, days=pl.col("days") + 10))
        assert (counts["kept"], counts["redrawn"], counts["removed"], counts["left_out"]) == (3, 0, 3, 3)
        assert not set(whose) & set(YOUNG)


def test_the_audit_finds_what_a_redrawn_class_would_show() -> None:
    table = changed("ann", days=13)
    earlier = first()
    redrawn = pl.concat(
        [
            earlier[1].filter(pl.col("age") == "50..52"),
            pl.DataFrame({"age": ["30..32"] * 3, "diagnosis": ["flu", "asthma", "gout"], "days": [13, 5, 4]}),
        ]
    )
    found = shoal.joint_audit(table, redrawn, SCHEMA, MODEL, earlier=[earlier], key=[3, 4, 5, 0, 1, 2])
    assert not found.holds
    assert found.k == 1


def test_a_member_who_is_gone_removes_the_class() -> None:
    _, counts, whose = again(changed("bob", age=33).filter(pl.col("who") != "ann"))
    assert (counts["gone"], counts["changed"], counts["redrawn"], counts["removed"]) == (1, 1, 0, 3)
    assert sorted(whose) == ["dee", "eve", "fay"]


def test_three_releases_in_a_row() -> None:
    """A class is redrawn twice, then removed; rows of the others stay."""
    earlier = [first()]
    tables = [
        changed("cem", age=33),
        changed("cem", age=34).with_columns(days=pl.col("days") + 1),
        changed("cem", age=34).with_columns(days=pl.col("days") + 1).filter(pl.col("who") != "cem"),
    ]
    counts = []
    for table in tables:
        release = shoal.anonymize_again(table, SCHEMA, MODEL, after=earlier)
        earlier = [(table, release.written("csv"), release.key), *earlier]
        counts.append([release.circumstances["again"][name] for name in ("kept", "redrawn", "removed")])
    assert counts == [[3, 3, 0], [0, 6, 0], [3, 0, 3]]
