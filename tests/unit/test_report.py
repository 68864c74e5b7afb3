"""The report: the same numbers as everywhere else, large groups only, and no value of a single record."""

from __future__ import annotations

import json
import re
import sys
from datetime import date, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal import (
    KK,
    Concealment,
    Freeform,
    InputError,
    KAnonymity,
    KOne,
    Prefixes,
    Release,
    Schema,
    SetAnonymity,
    SetDiversity,
    anonymize,
)
from shoal.kinds.generalized import Generalized
from shoal.recoding import Recoding
from shoal.report import grouping
from shoal.report.panel import percent
from shoal.report.panels import hiding as excerpt
from shoal.samples import hospital
from shoal.table import Table

N = 400


def schema_of(frame: pl.DataFrame) -> Schema:
    return Schema.infer(
        frame,
        quasi=["age", "sex", "zip", "admitted", "occupation"],
        sensitive=["diagnosis"],
        drop=["patient", "name"],
        hierarchies={"zip": Prefixes((3, 2))},
    )


@pytest.fixture(scope="module", params=["classes", "freeform", "ring"])
def release(request: pytest.FixtureRequest) -> Release:
    frame = hospital(N)
    if request.param == "classes":
        return anonymize(frame, schema_of(frame), KAnonymity(k=5, l=2), seed=1)
    method = "ring" if request.param == "ring" else "matching"
    return anonymize(frame, schema_of(frame), Freeform(k=4), method=method, seed=1)


def test_numbers_are_the_same_everywhere(release: Release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "out")
    certificate = json.loads((folder / "certificate.json").read_text())
    report = json.loads((folder / "report.json").read_text())
    page = (folder / "report.html").read_text()
    assert report["certificate"] == certificate
    assert certificate["loss"]["gcp"] == release.loss.gcp
    assert certificate["audit"]["concealment"] == release.audit.concealment
    assert release.report.material.certificate is release.certificate
    assert f"<b>{percent(release.loss.gcp)}</b>" in page
    assert f"<b>{release.audit.concealment}</b>" in page
    assert certificate["files"]["release.csv"]["sha256"] in page
    for people in report["adversary"]["people"].values():
        assert sum(people) == N


def test_answers_are_off_by_what_the_measure_says(release: Release) -> None:
    told = release.report.as_dict()["queries"]
    assert told["queries"] == 60
    assert 0.5 < told["covered"] <= 1
    assert 0 < told["median"] <= told["error_of_share"][-1]
    assert f"off by at most {percent(told['median'])}" in release.report.charts["queries"].title


def test_every_chart_has_a_title_and_a_text_alternative(release: Release) -> None:
    page = release.report.html()
    charts = release.report.charts
    assert {"crowds", "chances", "hiding", "loss", "widths", "diversity-diagnosis"} <= set(charts)
    assert page.count("<svg") == len(charts) == page.count('role="img"')
    for label in re.findall(r'role="img" aria-label="([^"]*)"', page):
        assert len(label) > 60
    assert len(set(re.findall(r'\bid="([^"]+)"', page))) == len(re.findall(r'\bid="([^"]+)"', page))


def test_the_page_needs_no_other_file_or_host(release: Release) -> None:
    page = release.report.html()
    for reference in re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page):
        assert reference.startswith(("#", "data:")), reference
    assert "<script" not in page


def test_charts_are_altair_charts_by_name_or_together(release: Release) -> None:
    title = " ".join(release.plot("crowds").to_dict()["title"])
    assert title == "Each record is hidden among at least " + _least(release)
    assert len(release.plot().to_dict()["concat"]) == len(release.report.charts)
    with pytest.raises(InputError, match="did you mean 'crowds'"):
        release.plot("crowd")


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the packages of the extra 'report'."""
    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_charts")
def test_without_the_extra_a_report_gives_its_charts_in_words(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    page = unescape((tmp_path / "out" / "report.html").read_text())
    assert "<svg" not in page
    assert page.count("pip install 'shoal-privacy[report]'") == 1
    charts = json.loads((tmp_path / "out" / "report.json").read_text())["charts"]
    assert {"crowds", "loss"} <= {chart["name"] for chart in charts}
    for chart in charts:
        assert f"<h3>{chart['title']}</h3></figcaption>\n<p>{chart['description']}</p>" in page


@pytest.mark.usefixtures("without_charts")
def test_without_the_extra_a_plot_says_what_is_missing(release: Release) -> None:
    with pytest.raises(InputError, match=r"pip install 'shoal-privacy\[report\]'"):
        release.plot("crowds")


def test_with_the_extra_no_report_mentions_it(release: Release) -> None:
    assert "pip install" not in release.report.html()


def _least(release: Release) -> str:
    return f"{release.audit.consistency.rows_per_record} released rows"


def texts(folder: Path) -> str:
    names = ("report.html", "report.json", "certificate.json", "evidence.html")
    return "\n".join((folder / name).read_text() for name in names)


@pytest.mark.parametrize("model", [KAnonymity(k=5), Freeform(k=5), Freeform(k=5, p=2)], ids=str)
def test_no_value_of_a_single_record_is_in_any_of_the_texts(model: Any, tmp_path: Path) -> None:
    frame = hospital(N, seed=3)
    # One person stands out in every column, at both ends of each order and as a category of its own.
    strange = {
        "age": 987_654,
        "occupation": "xylographer",
        "zip": "99887",
        "admitted": frame["admitted"].min().replace(year=1733),  # type: ignore[union-attr]
        "diagnosis": "zygomycosis",
        "name": "Quirinius Vexillarius",
        "patient": "P-77777777",
        "sex": "unheard-of",
        "days": 54_321,
    }
    one = frame.head(1).with_columns(
        **{
            name: pl.lit(value).cast(frame.schema[name])
            for name, value in strange.items()
            if name in frame.columns
        }
    )
    low = one.with_columns(age=pl.lit(-876_543).cast(frame.schema["age"]))
    table = pl.concat([frame, one, low])
    release = anonymize(table, schema_of(table), model)
    found = texts(release.save(tmp_path / "out"))
    found = re.sub(r'(\bd|transform|viewBox|\b[xy][12]?)="[^"]*"', "", found)  # coordinates are no values
    for name, value in strange.items():
        for text in {str(value), f"{value:,}" if isinstance(value, int) else str(value)}:
            assert text not in found, name
    assert "876543" not in found.replace(",", "")
    for name in ("patient", "name"):
        assert not [value for value in frame[name].to_list() if str(value) in found]


def baskets(rows: int = 120) -> pl.DataFrame:
    """Return baskets in which items are ever rarer, one item that is in a single basket, and labels."""
    draw = np.random.default_rng(4)
    shares = np.linspace(0.8, 0.02, 30)
    bought = [[f"item{i}" for i in np.flatnonzero(draw.random(30) < shares)] for _ in range(rows)]
    bought[0].append("xylophone")
    return pl.DataFrame({"items": bought, "label": [f"label{i % 7}" for i in range(rows)]})


@pytest.fixture(scope="module", params=[SetAnonymity(k=6), SetDiversity(l=3)], ids=str)
def basket_release(request: pytest.FixtureRequest) -> Release:
    frame = baskets()
    schema = Schema.infer(frame, quasi=["items"], sensitive=["label"])
    return anonymize(frame, schema, request.param, effort="fast")


def test_items_are_counted_as_they_are_and_as_they_are_published(basket_release: Release) -> None:
    told = basket_release.report.as_dict()["items"]["items"]
    true = baskets()["items"].explode().value_counts()
    published = basket_release.table["items"].explode().value_counts()
    counts = {"original": dict(true.iter_rows()), "released": dict(published.iter_rows())}
    for which, of_item in counts.items():
        assert told[which] == [of_item.get(item, 0) for item in told["items"]]
    least = max(5, basket_release.model.crowd)
    tellable = {
        item for item, often in counts["original"].items() if least <= often <= len(baskets()) - least
    }
    assert set(told["items"]) == tellable
    charts = basket_release.report.charts
    assert "are miscounted by" in charts["items-items"].title
    assert "item-frequencies-items" in charts


def test_answers_about_items_are_off_by_what_the_certificate_says(basket_release: Release) -> None:
    lost = basket_release.certificate["loss"]["items"]["items"]
    told = basket_release.report.as_dict()["item_queries"]["items"]
    for sort in ("present", "absent"):
        errors = told[f"error_of_share_{sort}"]
        assert errors == sorted(errors)
        assert errors[0] <= lost[f"query_error_{sort}"] <= 1
    (panel,) = (panel for panel in basket_release.report.panels if panel.name == "item_queries")
    said = dict(panel.facts)[f"items: have all of {told['items_present']}"]
    assert said == f"off by {percent(lost['query_error_present'])} of all records on average"


def test_an_item_of_one_person_is_not_told(basket_release: Release, tmp_path: Path) -> None:
    assert "xylophone" not in texts(basket_release.save(tmp_path / "out"))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Freeform(k=3, l=1.1), "counted, not weighed"),
        (KOne(k=3), "do not publish such a release"),
        (KK(k=3), "rule out rows"),
        (Concealment(k=3), "at most the least chance"),
    ],
    ids=str,
)
def test_each_promise_has_its_own_limits(model: Any, words: str) -> None:
    frame = hospital(100)
    schema = Schema.infer(frame, quasi=["age", "sex"], sensitive=["diagnosis"], drop=["patient", "name"])
    release = anonymize(frame, schema, model, effort="fast")
    assert any(words in point for point in release.report.as_dict()["keep_in_mind"])


@pytest.mark.parametrize("least", [1, 5, 40])
def test_no_group_is_smaller_than_asked_for(least: int) -> None:
    frame = hospital(N, seed=2)
    frame = frame.with_columns(
        weight=pl.Series(np.random.default_rng(1).lognormal(4, 2, N)),
        stage=pl.Series([None if i % 97 == 0 else "abcdefgh"[i % 8 % (1 + i % 5)] for i in range(N)]),
    )
    schema = Schema.infer(
        frame,
        quasi=["age", "sex", "zip", "admitted", "occupation", "weight", "stage"],
        kinds={"stage": "ordinal"},
        domains={"stage": list("abcdefgh")},
    )
    for attribute in Table.encode(frame, schema).attributes:
        groups = grouping.groups_of(attribute, least)
        assert groups is not None
        sizes = np.bincount(groups.of_code, attribute.counts, len(groups.labels))
        assert (sizes >= least).all()
        assert sizes.sum() == N
        assert len(groups.labels) == len(set(groups.labels)) <= grouping.MOST_GROUPS + 2


def test_the_ends_of_a_column_are_not_told() -> None:
    frame = pl.DataFrame({"pay": [1_234, *range(20_000, 50_000, 100), 7_654_321]})
    (attribute,) = Table.encode(frame, Schema.infer(frame, quasi=["pay"])).attributes
    groups = grouping.groups_of(attribute, 5)
    assert groups is not None
    assert (groups.labels[0], groups.labels[-1]) == ("below 25000", "45000 and up")


@pytest.mark.parametrize(
    ("days", "first", "second", "last"),
    [
        (365, "before 2025-02", "2025-02", "2025-12 and later"),
        (2 * 365, "before 2025-04", "2025-04 to 2025-06", "2026-10 and later"),
        (60, "before 2025-01-09", "2025-01-09 to 2025-01-15", "2025-02-20 and later"),
    ],
)
def test_groups_of_days_end_where_the_next_begin(days: int, first: str, second: str, last: str) -> None:
    frame = pl.DataFrame({"day": [date(2025, 1, 1) + timedelta(days=i) for i in range(days)]})
    (attribute,) = Table.encode(frame, Schema.infer(frame, quasi=["day"])).attributes
    groups = grouping.groups_of(attribute, 5)
    assert groups is not None
    assert (groups.labels[0], groups.labels[1], groups.labels[-1]) == (first, second, last)


def test_others_are_never_few() -> None:
    frame = pl.DataFrame({"sex": ["f"] * 50 + ["m"] * 40 + ["x"]})
    (attribute,) = Table.encode(frame, Schema.infer(frame, quasi=["sex"])).attributes
    groups = grouping.groups_of(attribute, 5)
    assert groups is not None
    assert groups.labels == ("f", grouping.OTHERS)  # "m" would tell that just one is neither
    few = Table.encode(frame.tail(3), Schema.infer(frame, quasi=["sex"])).attributes[0]
    assert grouping.groups_of(few, 5) is None


def expected_counts(values: Generalized, recoding: Recoding) -> NDArray[np.float64] | None:
    return values.expected(np.bincount(recoding.box, minlength=len(values)).astype(np.float64))


CLASSES = {
    (0, 1, 2, 3, 4, 5): {"n": [1, 1, 1, 1, 2], "c": [2, 2, 1, 1], "t": [1, 1, 1, 2, 1]},
    (0, 0, 1, 1, 2, 2): {"n": [1, 1, 1, 1, 2], "c": [2, 2, 1, 1], "t": [1.4, 1.4, 1.4, 1.4, 0.4]},
    (0, 0, 0, 1, 1, 1): {"n": [0.5, 1.5, 1, 1.5, 1.5], "c": [1.5, 2.5, 1, 1], "t": [1.2] * 5},
}


@pytest.mark.parametrize("classes", CLASSES)
def test_expected_counts_spread_each_row_over_what_it_allows(classes: tuple[int, ...]) -> None:
    frame = pl.DataFrame(
        {"n": [0, 1, 3, 4, 10, 10], "c": list("aabbcd"), "t": ["11", "12", "21", "22", "22", "31"]}
    )
    schema = Schema.infer(
        frame, quasi=["n", "c", "t"], hierarchies={"t": Prefixes((1,))}, kinds={"t": "categorical"}
    )
    recoding = Recoding.of_classes(Table.encode(frame, schema), np.array(classes, np.int32))
    for attribute, values in zip(recoding.table.attributes, recoding.values, strict=True):
        expected = expected_counts(values, recoding)
        assert expected == pytest.approx(CLASSES[classes][attribute.column.name]), attribute.column.name


def test_what_may_be_missing_is_expected_to_be_sometimes() -> None:
    frame = pl.DataFrame({"n": [0, 10, None, 0]})
    table = Table.encode(frame, Schema.infer(frame, quasi=["n"]))
    recoding = Recoding.of_classes(table, np.array([0, 0, 0, 1], np.int32))
    expected = expected_counts(recoding.values[0], recoding)
    assert expected == pytest.approx([2, 1, 1])


def test_an_excerpt_shows_true_links_and_nothing_else(release: Release) -> None:
    recoding, k = release.recoding, release.model.crowd
    shown = excerpt.excerpt_of(recoding, release.rows, k)
    assert shown.kind == ("classes" if recoding.graph is None else "graph")
    assert 0 < shown.records <= excerpt.MOST
    assert 0 < shown.rows <= excerpt.MOST
    assert len(set(shown.links)) == len(shown.links)
    degree = np.bincount([record for record, _ in shown.links], minlength=shown.records)
    assert degree.min() >= 1
    if recoding.graph is not None:
        assert degree.max() <= k
    else:
        whole = [d for d in degree if d >= k]
        assert len(whole) >= shown.records - 2 * k  # at most the last class is cut off


def test_where_things_stand_does_not_depend_on_whose_row_is_whose() -> None:
    frame = hospital(200, seed=5)
    release = anonymize(frame, schema_of(frame), Freeform(k=4), seed=2)
    graph = release.recoding.graph
    assert graph is not None
    turned = Recoding(
        release.recoding.table,
        release.recoding.values,
        release.recoding.box,
        np.ascontiguousarray(graph[:, ::-1]),
    )
    one, two = (excerpt.excerpt_of(r, release.rows, 4) for r in (release.recoding, turned))
    assert one == two


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.999, "more than 99%"),
        (0.5, "50%"),
        (0.0523, "5.2%"),
        (0.001, "0.10%"),
        (1e-9, "less than 0.01%"),
    ],
)
def test_shares_are_never_rounded_to_nothing_or_all(share: float, text: str) -> None:
    assert percent(share) == text


def test_the_report_says_how_often_an_attacker_with_the_code_is_right() -> None:
    frame = hospital(40).select("age", "sex", "diagnosis")
    schema = Schema.infer(frame, quasi=["age", "sex"], sensitive=["diagnosis"])
    release = anonymize(frame, schema, Freeform(k=4), run_again=20, seed=1)
    found = release.certificate["repeated"]
    assert (found["training"], found["tests"]) == (15, 5)
    assert 0 < found["row"]["right"] <= 1
    assert "An attacker who has the code" in release.report.html()
