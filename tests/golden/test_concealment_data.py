"""The data on which k-concealment was compared: as the paper describes it, and how well it is clustered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import concealment_data
from benchmarks.concealment_data import SHARES
from shoal import KAnonymity, Schema, anonymize
from shoal.kinds.trees import TreeDomain
from shoal.table import Table


@pytest.fixture(scope="module")
def artificial() -> tuple[pl.DataFrame, Schema]:
    return concealment_data.artificial()


def test_values_are_as_frequent_as_the_paper_says(artificial: tuple[pl.DataFrame, Schema]) -> None:
    frame, _ = artificial
    assert frame.shape == (5_000, 6)
    for name, shares in SHARES.items():
        assert sum(shares) == pytest.approx(1)
        values = [f"a{number}" for number in range(1, len(shares) + 1)]
        found = [(frame[name] == value).mean() for value in values]
        assert sum(found) == 1
        errors = np.abs(np.array(found) - shares) / np.sqrt(np.array(shares) / len(frame))
        assert errors.max() < 4


def test_generalized_values_are_the_permissible_subsets(artificial: tuple[pl.DataFrame, Schema]) -> None:
    table = Table.encode(*artificial)
    subsets = {}
    for attribute in table.attributes:
        assert isinstance(attribute.domain, TreeDomain)
        tree = attribute.domain.hierarchy
        covered = [
            "".join(tree.leaves[leaf][1:] + " " for leaf in range(a, b + 1))
            for a, b in zip(tree.first, tree.last, strict=True)
        ]
        sizes = [len(text.split()) for text in covered]
        assert sizes.count(1) == sizes[0] == len(tree.leaves)
        subsets[attribute.column.name] = {
            text.strip() for text, size in zip(covered, sizes, strict=True) if 1 < size < sizes[0]
        }
    assert subsets == {
        "A1": set(),
        "A2": {"1 2", "3 4"},
        "A3": {"1 2", "3 4"},
        "A4": {
            "1 2 3 4 5 6",
            "7 8 9 10 11 12",
            "13 14 15 16 17 18",
            "19 20 21 22 23 24 25",
            "1 2 3 4 5 6 7 8 9 10 11 12",
            "13 14 15 16 17 18 19 20 21 22 23 24 25",
        },
        "A5": {"1 2", "3 4", "6 7", "8 9", "1 2 3 4 5", "6 7 8 9 10"},
        "A6": {"1 2", "4 5", "3 4 5"},
    }


@pytest.mark.parametrize(
    ("name", "rows", "quasi"), [("adult", 45_222, 14), ("cmc", 1_473, 9), ("nursery", 12_960, 8)]
)
def test_real_tables_have_hierarchies_throughout(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int, quasi: int
) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    table = Table.encode(*concealment_data.DATA[name]())
    assert len(table) == rows
    assert len(table.attributes) == quasi
    assert len(table.sensitive) == 1
    assert all(isinstance(attribute.domain, TreeDomain) for attribute in table.attributes)


@pytest.mark.parametrize(
    ("k", "measure", "agglomerative", "forest"),
    [
        (10, "lm", 0.1899, 0.2262),
        (50, "lm", 0.3468, 0.3647),
        (10, "em", 0.9909, 1.1646),
        (50, "em", 1.5619, 1.6665),
    ],
)
def test_clusters_of_the_artificial_table(
    artificial: tuple[pl.DataFrame, Schema], k: int, measure: str, agglomerative: float, forest: float
) -> None:
    """As in Figure 5 of the paper, agglomerative classes lose less than the forest's, by either measure."""
    lost = {}
    for method in ("agglomerative", "forest"):
        release = anonymize(*artificial, KAnonymity(k=k), method=method, measure=measure)
        assert release.audit.holds
        lost[method] = release.loss[measure]
    assert lost == {
        "agglomerative": pytest.approx(agglomerative, abs=1e-4),
        "forest": pytest.approx(forest, abs=1e-4),
    }
    assert lost["agglomerative"] < lost["forest"]


def test_diverse_clusters_of_nursery(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    frame, schema = concealment_data.nursery()
    release = anonymize(frame, schema, KAnonymity(k=10, l=2), method="agglomerative")
    assert release.audit.holds
    alone = anonymize(frame, schema, KAnonymity(k=10), method="agglomerative")
    assert alone.loss.lm == pytest.approx(0.1741, abs=1e-4)
    assert alone.loss.lm < release.loss.lm
