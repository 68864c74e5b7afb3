"""An attacker makes a release that the auditor accepts, of a table of which Shoal says that none exists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from typing import Any

import polars as pl
import pytest

from shoal import (
    KK,
    Concealment,
    Freeform,
    InfeasibleError,
    InputError,
    KAnonymity,
    KOne,
    OneK,
    Schema,
    SetDiversity,
    anonymize,
    audit,
)
from shoal.auditing.released import ReleasedTable
from shoal.auditing.rules import rule_for
from shoal.errors import Reason
from shoal.methods import METHODS
from shoal.models import DiverseModel, Model
from shoal.table import Table


def partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield all ways in which n records can share labels: how many have each label, largest first."""
    if n == 0:
        yield ()
    for first in range(min(n, most or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def labelled(counts: Sequence[int]) -> list[str]:
    return [label for label, count in zip("xyzuvwt", counts, strict=False) for _ in range(count)]


def baskets(labels: Sequence[str], same: bool) -> tuple[pl.DataFrame, Schema]:
    items = [["a"] if same else [f"a{i}", f"b{i % 3}"] for i in range(len(labels))]
    frame = pl.DataFrame({"basket": items, "label": list(labels)})
    return frame, Schema.infer(frame, quasi=["basket"], sensitive=["label"])


def table(labels: Sequence[str]) -> tuple[pl.DataFrame, Schema]:
    """Return records that differ in one column, whose cells can show any set of them."""
    frame = pl.DataFrame({"who": [f"p{i}" for i in range(len(labels))], "label": list(labels)})
    return frame, Schema.infer(frame, quasi=["who"], sensitive=["label"])


def released(labels: Sequence[str], covered: Sequence[Sequence[int]]) -> pl.DataFrame:
    """Return the release in which the row of each label covers these records."""
    return pl.DataFrame({"who": ["|".join(f"p{i}" for i in each) for each in covered], "label": list(labels)})


@pytest.mark.parametrize(
    ("method", "same"),
    [
        pytest.param("freeform", True, id="freeform, equal records"),
        *(
            pytest.param(method, False, id=method, marks=pytest.mark.slow)
            for method in METHODS[SetDiversity]
            if method != "printed_diversity"  # it may fail where others do not, and says so
        ),
    ],
)
@pytest.mark.parametrize("sizes", [range(2, 7), pytest.param([7], marks=pytest.mark.campaign)], ids=str)
def test_a_release_with_different_labels_is_made_wherever_there_is_one(
    method: str, same: bool, sizes: Sequence[int]
) -> None:
    """All multisets of labels of up to seven records; the most that can be done is equal rows."""
    for n in sizes:
        for counts, l in product(partitions(n), range(2, n + 1)):  # noqa: E741
            labels = labelled(counts)
            frame, schema = baskets(labels, same)
            model = SetDiversity(l=l)
            everything = pl.DataFrame(
                {
                    "basket": [""] * n,
                    "basket_uncertain": [" ".join(sorted({i for b in frame["basket"] for i in b}))] * n,
                    "basket_max_errors": [2] * n,
                    "label": labels,
                }
            )
            exists = audit(frame, everything, schema, model).holds
            try:
                made: Any = anonymize(frame, schema, model, method=method, seed=1)
            except InfeasibleError as error:
                made = error
            assert exists == (not isinstance(made, InfeasibleError)), (counts, l, made)
            if exists:
                assert made.audit.holds
            else:
                best = max((b for b in range(2, n + 1) if counts[0] * b <= n), default=1)
                assert f"l = {best} at most" in str(made)


LEVELS: list[dict[str, Any]] = [
    *({"l": level} for level in (1.3, 4 / 3, 1.4, 1.5, 1.6, 2.0, 3.0, 4.0)),
    *({"p": level} for level in (2, 3, 4)),
    *({"entropy_l": level} for level in (1.5, 1.7, 1.75, 1.8, 1.9, 2.0, 3.0)),
]
"""What is promised of sensitive values: levels just below and above what small tables allow."""


def every_release(labels: str) -> Iterator[list[tuple[int, ...]]]:
    """Yield for every release of different records which of them each row covers; the i-th its own.

    Of releases that differ only in which of the records with a label is which, there is one.
    """
    n = len(labels)
    renamed = [turn for turn in permutations(range(n)) if all(labels[i] == labels[turn[i]] for i in range(n))]
    others = [[i for i in range(n) if i != row] for row in range(n)]
    choices = [
        [tuple(sorted((row, *more))) for more in chain.from_iterable(combinations(o, r) for r in range(n))]
        for row, o in enumerate(others)
    ]
    for covered in map(list, product(*choices)):
        if all(covered <= renumbered(covered, turn) for turn in renamed):
            yield covered


def renumbered(covered: list[tuple[int, ...]], turn: Sequence[int]) -> list[tuple[int, ...]]:
    return [
        tuple(sorted(turn[i] for i in covered[row])) for row in sorted(range(len(turn)), key=turn.__getitem__)
    ]


@pytest.mark.parametrize("labels", ["xxx", "xxy", "xyz", pytest.param("xxxy", marks=pytest.mark.slow)])
def test_no_release_at_all_is_accepted_where_none_is_said_to_exist(labels: str) -> None:
    """Every release there can be, for each model, by the auditor; and one is made wherever one exists."""
    frame, schema = table(labels)
    models: list[Model] = [
        kind(k=2, **level) for kind in (KAnonymity, Freeform, OneK, KOne, KK, Concealment) for level in LEVELS
    ]
    models += [Concealment(k=2, two_sided=True, **level) for level in LEVELS]
    refused = []
    for model in models:
        try:
            assert anonymize(frame, schema, model, seed=1).audit.holds
        except InfeasibleError:
            refused.append(model)
    assert refused
    encoded = Table.encode(frame, schema)
    for covered in every_release(labels):
        seen = ReleasedTable(released(labels, covered), encoded)
        accepted = [model for model in refused if not list(rule_for(model)(model, seen))]
        assert not accepted, covered


@pytest.mark.parametrize("model", [Freeform(k=2, l=2), KK(k=2, l=2), Concealment(k=2, l=2)], ids=str)
def test_rows_that_cover_every_record_do_not_make_a_frequent_value_rare(model: DiverseModel) -> None:
    """Four of six have x. Two rows that cover every record make it look as if each had x once in two."""
    labels = "xxxxyz"
    frame, schema = table(labels)
    covered = [(0, 1), (0, 3), (2, 3), (4, 5), range(6), range(6)]
    seen = audit(frame, released(labels, covered), schema, model)
    assert seen.diversity_consistent[0].l == pytest.approx(2.0)
    assert not seen.holds
    assert "only l = 1.5 instead of 2 in the release as a whole" in seen.verdict
    with pytest.raises(InfeasibleError, match=r"at most l = 1\.5"):
        anonymize(frame, schema, model)


def test_different_labels_around_every_record_do_not_make_a_frequent_label_rare() -> None:
    labels = "xxxxyz"
    frame, schema = baskets(labels, same=True)
    seen = audit(frame, frame, schema, SetDiversity(l=3))
    assert not seen.holds
    assert "only l = 1.5 instead of 3 in the release as a whole" in seen.verdict
    with pytest.raises(
        InfeasibleError, match=r"l = 3 is not achievable: 4 of 6 records have the same label.* l = 1 at most"
    ):
        anonymize(frame, schema, SetDiversity(l=3))
    assert audit(frame, frame.with_columns(label=pl.Series(list("xxyyzz"))), schema, SetDiversity(l=3)).holds


@pytest.mark.parametrize("method", sorted(METHODS[KOne]))
@pytest.mark.parametrize("withhold", [0.01, 0.3, 0.5, 0.8, 0.9])
def test_each_row_covers_k_records_of_the_original_however_few_rows_there_are(
    method: str, withhold: float
) -> None:
    frame, schema = table("xyxyxy")
    kept = 6 - math.ceil(6 * withhold)
    for k in range(2, 8):
        model = KOne(k=k, withhold=withhold)
        if kept == 0:
            with pytest.raises(InputError, match="leaves no row") as error:
                anonymize(frame, schema, model, method=method)
            assert error.value.reason is Reason.PARAMETER
        elif k > 6:
            with pytest.raises(InputError, match="k = 7 is above the 6 records"):
                anonymize(frame, schema, model, method=method)
        else:
            release = anonymize(frame, schema, model, method=method, seed=k)
            assert len(release.table) == kept
            assert release.audit.holds
            assert audit(frame, release.table, schema, model).holds
            covered = [cell.count("|") + 1 if cell != "*" else 6 for cell in release.table["who"]]
            assert min(covered) >= k


@pytest.mark.parametrize("kind", [OneK, KK])
def test_each_record_covers_k_rows_so_there_must_be_k(kind: type[OneK | KK]) -> None:
    frame, schema = table("xyxyxy")
    assert anonymize(frame, schema, kind(k=3, withhold=0.5)).audit.holds
    with pytest.raises(InputError, match="k = 4 is above the 3 records that are not withheld"):
        anonymize(frame, schema, kind(k=4, withhold=0.5))
