"""What two releases tell together, worked by hand, and the command that says it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import called

import shoal
from shoal import Dissimilarity, InputError, KAnonymity, PromiseError, Schema

PEOPLE = {"ann": "hepatitis", "bob": "flu", "cem": "asthma", "dee": "gout", "eve": "burn", "fay": "angina"}


def table(*names: str) -> pl.DataFrame:
    """Return the records of some people; everyone lives in a town of their own."""
    return pl.DataFrame(
        {"name": names, "town": [f"{name}town" for name in names], "diagnosis": [PEOPLE[n] for n in names]}
    )


def release(*classes: tuple[str, ...]) -> pl.DataFrame:
    """Return a release with these classes."""
    rows = [("|".join(f"{each}town" for each in group), PEOPLE[name]) for group in classes for name in group]
    return pl.DataFrame(rows, schema=["town", "diagnosis"], orient="row")


def schema(**roles: object) -> Schema:
    everyone = table(*PEOPLE)
    return Schema.infer(everyone, quasi=["town"], sensitive=["diagnosis"], **(roles or {"drop": ["name"]}))  # type: ignore[arg-type]


FIRST = release(("ann", "bob", "cem"), ("dee", "eve", "fay"))
SECOND = release(("ann", "dee", "eve"), ("bob", "cem", "fay"))


def test_ann_has_hepatitis() -> None:
    """The example of docs/how-to/publishing-again.md."""
    everyone = table(*PEOPLE)
    found = shoal.joint_audit(everyone, SECOND, schema(), KAnonymity(k=3, l=3), earlier=[(everyone, FIRST)])
    assert found.rows_of_record.tolist() == [1, 2, 2, 2, 2, 1]
    assert (found.k, found.persons_per_row, found.persons_per_tuple) == (1, 1, 1)
    assert found.certain("diagnosis") == 2
    assert not found.holds
    assert found.status == "broken"
    assert "6 records have fewer than 3 rows left, the worst 1" in found.verdict
    assert "'diagnosis' has only l = 1 instead of 3" in found.verdict
    with pytest.raises(PromiseError, match="together"):
        found.require()


def test_the_same_release_again_holds() -> None:
    everyone = table(*PEOPLE)
    promised = KAnonymity(k=3, l=3)
    found = shoal.joint_audit(everyone, FIRST, schema(), promised, earlier=[(everyone, FIRST)])
    assert found.holds
    assert found.status == "holds"
    assert [each.links.whole_rows for each in found.linkages] == [True]
    assert found.k == 3
    assert found.best_guess == pytest.approx(1 / 3)
    found.require()
    assert "at least 3 rows" in found._repr_html_()


def test_a_row_that_is_gone_is_that_of_the_person_who_is() -> None:
    """Fay is deleted, her class redrawn as one: every crowd has five rows, yet the difference is her row."""
    before, after = table(*PEOPLE), table("ann", "bob", "cem", "dee", "eve")
    one, two = release(tuple(PEOPLE)), release(("ann", "bob", "cem", "dee", "eve"))
    found = shoal.joint_audit(after, two, schema(), KAnonymity(k=3), earlier=[(before, one)])
    assert found.k == 1
    (gone,) = found.linkages[0].differences
    assert (gone.release, gone.other, gone.records, gone.rows) == (1, 0, 1, 1)
    assert gone.highest == {"diagnosis": 1.0}
    assert "records of only 1 person whom the newest release does not have" in found.verdict
    diverse = shoal.joint_audit(after, two, schema(), KAnonymity(k=3, l=2), earlier=[(before, one)])
    assert "100% of the records" in diverse.verdict


def test_other_people_tell_nothing() -> None:
    one, two = table("ann", "bob", "cem"), table("dee", "eve", "fay")
    releases = release(("ann", "bob", "cem")), release(("dee", "eve", "fay"))
    found = shoal.joint_audit(two, releases[1], schema(), KAnonymity(k=3, l=3), earlier=[(one, releases[0])])
    assert found.holds
    assert found.k == 3


LATER = {"ann": ("hepatitis", 4), "gus": ("gout", 2), "hal": ("burn", 7)}
STAYS = {name: (value, 3) for name, value in PEOPLE.items()}


def stays(of: dict[str, tuple[str, int]], *names: str) -> pl.DataFrame:
    """Return the records of some people, with the days of their stay."""
    rows = [(name, f"{name}town", *of[name]) for name in names]
    return pl.DataFrame(rows, schema=["name", "town", "diagnosis", "days"], orient="row")


def stays_released(of: dict[str, tuple[str, int]], *classes: tuple[str, ...]) -> pl.DataFrame:
    rows = [("|".join(f"{each}town" for each in group), *of[name]) for group in classes for name in group]
    return pl.DataFrame(rows, schema=["town", "diagnosis", "days"], orient="row")


def test_a_changed_record_released_as_a_new_one_is_linked_by_what_did_not_change() -> None:
    """The counterexample of docs/how-to/publishing-again.md: Ann's stay is longer now.

    Her class of three is removed, and she is released among three new records. Both releases have three
    diagnoses in each class; her diagnosis is the only one that both of her classes have.
    """
    before, after = stays(STAYS, *PEOPLE), stays(LATER, *LATER)
    one = stays_released(STAYS, ("ann", "bob", "cem"), ("dee", "eve", "fay"))
    two = stays_released(LATER, tuple(LATER))
    described = Schema.infer(
        before, quasi=["town"], sensitive=["diagnosis"], person="name", kinds={"town": "categorical"}
    )
    found = shoal.joint_audit(after, two, described, KAnonymity(k=3, l=3), earlier=[(before, one)])
    assert [each.links.columns for each in found.linkages] == [("diagnosis", "days"), ("diagnosis",)]
    assert found.rows_of_record.tolist() == [1, 3, 3]
    assert found.certain("diagnosis") == 1
    assert not found.holds
    assert "fewer than 3 rows left, the worst 1, if rows are linked by" in found.verdict
    blind = shoal.joint_audit(
        after, two, described, KAnonymity(k=3, l=3), earlier=[(before, one)], on=["diagnosis", "days"]
    )
    assert blind.holds


@pytest.mark.parametrize(("ill", "passes"), [("asthma", True), ("flu", False)])
def test_who_passes_the_audit_depends_on_her_values(ill: str, passes: bool) -> None:
    """The second counterexample of decision 072: if Ann were released only if the audit passes.

    The diagnoses of her first class are flu and asthma, those of the new records flu and gout. An attacker
    who sees that Ann is not released would know that she has flu.
    """
    other = {"flu": "asthma", "asthma": "flu"}[ill]
    old = {"ann": (ill, 3), "bob": (other, 3), "dee": ("gout", 3), "eve": ("burn", 3)}
    new = {"ann": (ill, 4), "gus": ("flu", 2), "hal": ("gout", 7)}
    before, after = stays(old, *old), stays(new, *new)
    one, two = stays_released(old, ("ann", "bob"), ("dee", "eve")), stays_released(new, tuple(new))
    described = Schema.infer(
        before, quasi=["town"], sensitive=["diagnosis"], person="name", kinds={"town": "categorical"}
    )
    found = shoal.joint_audit(after, two, described, KAnonymity(k=2, l=2), earlier=[(before, one)])
    assert found.holds is passes, found.verdict


def test_a_key_says_who_was_released() -> None:
    everyone = table(*PEOPLE)
    kept = release(("ann", "bob", "cem"))
    promised = KAnonymity(k=3)
    given = (everyone, FIRST, [0, 1, 2, 3, 4, 5])
    found = shoal.joint_audit(everyone, kept, schema(), promised, earlier=[given], key=[0, 1, 2])
    assert found.holds
    for wrong in ([0, 1], [0, 1, 6], [0, 1, 1]):
        with pytest.raises(InputError, match="position of another record"):
            shoal.joint_audit(everyone, kept, schema(), promised, earlier=[given], key=wrong)


def test_what_is_refused() -> None:
    everyone = table(*PEOPLE)
    with pytest.raises(InputError, match="needs an earlier one"):
        shoal.joint_audit(everyone, FIRST, schema(), earlier=[])
    with pytest.raises(InputError, match="ward"):
        shoal.joint_audit(everyone, FIRST, schema(), earlier=[(everyone, FIRST)], on=["ward"])
    far = Dissimilarity(k=2, epsilon=0, delta=0.5)
    with pytest.raises(InputError, match="dissimilarity is not checked across releases"):
        shoal.joint_audit(everyone, FIRST, schema(), far, earlier=[(everyone, FIRST)])


def test_the_command(tmp_path: Path) -> None:
    table(*PEOPLE).write_csv(tmp_path / "people.csv")
    FIRST.write_csv(tmp_path / "first.csv")
    SECOND.write_csv(tmp_path / "second.csv")
    described = (
        "--quasi",
        "town",
        "--sensitive",
        "diagnosis",
        "--drop",
        "name",
        "--model",
        "k-anonymity",
        "--k",
        "3",
    )
    asked = ("audit", "people.csv", "second.csv", *described)
    shown = called(tmp_path, *asked, "--with", "first.csv", code=1).stdout
    assert "Together with earlier releases" in shown
    assert "The guarantee does not hold for the releases together" in shown.replace("\n", " ")
    data = json.loads(called(tmp_path, *asked, "--with", "first.csv", "--json", code=1).stdout)
    assert data["holds"]
    assert data["together"]["k"] == 1
    more = ("--with", "second.csv", "--with-table", "people.csv")
    assert json.loads(called(tmp_path, *asked, *more, "--json").stdout)["together"]["k"] == 3
    wrong = called(tmp_path, *asked, *more, "--with-key", "a", "--with-key", "b", code=2)
    assert "--with-key must be given as often as --with" in wrong.stderr


def test_figures_over_all_records_are_those_of_the_example() -> None:
    everyone = table(*PEOPLE)
    found = shoal.joint_audit(everyone, SECOND, schema(), KAnonymity(k=3), earlier=[(everyone, FIRST)])
    (told,) = found.as_dict()["linkages"]
    wanted = {
        "records_in_several": 6,
        "without_tuple": 0,
        "rows_alone": 3,
        "rows_together": 1,
        "mean_rows_alone": 3.0,
        "mean_rows_together": 10 / 6,
        "single_row": 2,
        "mean_best_guess": 4 / 6,
        "mean_tuples": 10 / 6,
        "persons_per_tuple": 1,
    }
    assert {name: told[name] for name in wanted} == pytest.approx(wanted)


def test_figures_without_a_record_in_several_releases() -> None:
    one, two = table("ann", "bob", "cem"), table("dee", "eve", "fay")
    releases = release(("ann", "bob", "cem")), release(("dee", "eve", "fay"))
    found = shoal.joint_audit(two, releases[1], schema(), KAnonymity(k=3), earlier=[(one, releases[0])])
    (told,) = found.as_dict()["linkages"]
    names = ("records_in_several", "without_tuple", "rows_alone", "rows_together", "mean_rows_alone")
    assert [told[name] for name in names] == [0, 0, 3, 3, 0.0]


def test_figures_if_one_record_is_in_the_earlier_release_only() -> None:
    before, after = table(*PEOPLE), table("ann", "bob", "cem", "dee", "eve")
    one, two = release(tuple(PEOPLE)), release(("ann", "bob", "cem", "dee", "eve"))
    found = shoal.joint_audit(after, two, schema(person="name"), KAnonymity(k=3), earlier=[(before, one)])
    told = found.as_dict()["linkages"][0]
    assert told["records_in_several"] == 5
    assert told["rows_alone"] == 5  # Fay's six are not the least
    assert told["single_row"] == 1  # hers is the only one that is gone
    assert told["mean_rows_alone"] == 5.0


def test_a_record_of_one_release_without_a_row_does_not_hide_that_rows_were_kept() -> None:
    """Gus is new and no row covers him; all others have the same rows as before."""
    everyone = table(*PEOPLE)
    gus = pl.DataFrame({"name": ["gus"], "town": ["gustown"], "diagnosis": ["flu"]})
    found = shoal.joint_audit(
        pl.concat([everyone, gus]), FIRST, schema(), KAnonymity(k=3), earlier=[(everyone, FIRST)]
    )
    assert [each.links.whole_rows for each in found.linkages] == [True]


def test_rows_were_not_kept_if_a_common_record_has_no_row_in_common() -> None:
    """The only row that both releases have does not cover Ann, whom both have."""
    one, two = table("ann", "eve"), table("ann", "fay")
    common = ("evetown|faytown", "burn")
    releases = [
        pl.DataFrame([(town, "hepatitis"), common], schema=["town", "diagnosis"], orient="row")
        for town in ("anntown", "anntown|bobtown")
    ]
    found = shoal.joint_audit(two, releases[1], schema(), KAnonymity(k=2), earlier=[(one, releases[0])])
    assert [each.links.whole_rows for each in found.linkages] == [False]


def test_figures_if_no_row_covers_anybody() -> None:
    everyone = table(*PEOPLE)
    nowhere = everyone.select(pl.lit("gustown").alias("town"), "diagnosis")
    found = shoal.joint_audit(everyone, nowhere, schema(), KAnonymity(k=3), earlier=[(everyone, nowhere)])
    assert found.as_dict()["linkages"][0]["rows_alone"] == 0


def test_a_release_that_was_not_made_from_its_table_is_refused() -> None:
    """Rows that cover no record leave no record with too few rows: without this check, all was well."""
    ages, ill = [20, 21, 22, 23] * 3, list("abcd") * 3
    original = pl.DataFrame({"age": ages, "ill": ill})
    schema = shoal.Schema.infer(original, quasi=["age"], sensitive=["ill"])
    good, bad = (pl.DataFrame({"age": [cell] * 12, "ill": ill}) for cell in ("20..23", "90..99"))

    def found(newest: pl.DataFrame, earlier: pl.DataFrame) -> tuple[str, ...]:
        model = shoal.KAnonymity(k=3)
        return shoal.joint_audit(original, newest, schema, model, earlier=[(original, earlier)]).findings

    assert found(good, good) == ()
    assert found(bad, good) == ("12 rows of the newest release cover no record of its original",)
    assert found(good, bad) == ("12 rows of an earlier release cover no record of its original",)


def test_crowds_that_are_counted_in_several_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.auditing.crowds.PAIRS", 1)
    test_ann_has_hepatitis()


def test_rows_are_counted_for_each_record_of_a_person() -> None:
    """Three persons have two records and six rows each, three others one record and three rows."""
    twice, once = ("ann", "ann", "dee", "dee", "eve", "eve"), ("bob", "cem", "fay")
    everyone = table(*twice, *once)
    towns = ["anntown|deetown|evetown"] * 6 + ["bobtown|cemtown|faytown"] * 3
    released = everyone.select(town=pl.Series(towns), diagnosis="diagnosis")
    found = shoal.joint_audit(
        everyone, released, schema(person="name"), KAnonymity(k=3), earlier=[(everyone, released)]
    )
    assert found.k == 3


def test_a_column_that_only_one_release_has_links_nothing() -> None:
    everyone = table(*PEOPLE)
    found = shoal.joint_audit(
        everyone, SECOND.drop("diagnosis"), schema(), KAnonymity(k=3), earlier=[(everyone, FIRST)]
    )
    assert [each.links.columns for each in found.linkages] == [()]
    assert found.k == 3


def test_rows_may_have_been_kept_if_one_key_is_unknown() -> None:
    everyone = table(*PEOPLE)
    given = (everyone, FIRST, [0, 1, 2, 3, 4, 5])
    found = shoal.joint_audit(everyone, FIRST, schema(), KAnonymity(k=3), earlier=[given])
    assert [each.links.whole_rows for each in found.linkages] == [True]


@pytest.mark.parametrize(("most", "least"), [(10, 1), (9, None)])
def test_tuples_of_rows_are_counted_unless_there_are_too_many(
    most: int, least: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.auditing.surviving.MOST_TUPLES", most)
    everyone = table(*PEOPLE)
    found = shoal.joint_audit(everyone, SECOND, schema(), KAnonymity(k=3, l=3), earlier=[(everyone, FIRST)])
    assert (found.k, found.persons_per_tuple) == (1, least)
    told = dict(found.facts()).get("a tuple could belong to")
    assert told == (None if least is None else "at least 1 person")


def test_columns_of_whole_rows_are_in_the_order_of_the_newest_release() -> None:
    everyone = table(*PEOPLE)
    other = FIRST.select("diagnosis", "town")
    found = shoal.joint_audit(everyone, other, schema(), KAnonymity(k=3, l=3), earlier=[(everyone, FIRST)])
    assert [each["columns"] for each in found.as_dict()["linkages"]] == [["diagnosis", "town"]]
