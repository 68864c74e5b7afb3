"""The attacker reads sensitive values as people do: spellings that look alike are one value, not several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import (
    Column,
    Dissimilarity,
    Freeform,
    Hierarchy,
    InfeasibleError,
    KAnonymity,
    Schema,
    anonymize,
    anonymize_file,
    audit,
)
from shoal.errors import InputError
from shoal.kinds.normalization import normalized
from shoal.schema import Kind, Role
from shoal.table import Table

SPELLINGS = ["flu", "Flu ", "flu\u200b", "\ufb02u"]
FLAVOURS = [pl.DataFrame, pd.DataFrame, pa.table]


def table_of(*ills: Any) -> pl.DataFrame:
    return pl.DataFrame({"age": list(range(20, 20 + len(ills))), "ill": list(ills)})


def schema_for(**options: Any) -> Schema:
    return Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE, **options)))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_four_spellings_of_one_illness_are_one_value(flavour: Any) -> None:
    original = flavour(table_of(*SPELLINGS).to_dict(as_series=False))
    released = flavour({"age": ["20..23"] * 4, "ill": SPELLINGS})
    found = audit(original, released, schema_for(), KAnonymity(k=4, l=2))
    assert not found.holds
    assert found.diversity[0].p == 1
    assert found.diversity[0].l == 1
    assert found.diversity_around[0].p == 1


@pytest.mark.parametrize("model", [KAnonymity(k=2, l=2), Freeform(k=2, l=2), Freeform(k=2, p=2)])
def test_no_release_hides_behind_spellings(model: Any) -> None:
    with pytest.raises(InfeasibleError):
        anonymize(table_of(*SPELLINGS), schema_for(), model)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_methods_keep_illnesses_apart_and_not_spellings(flavour: Any) -> None:
    rng = np.random.default_rng(5)
    ills = [*rng.choice(SPELLINGS, 60), *rng.choice(["gout", " GOUT", "go\u00adut"], 60)]
    original = flavour({"age": rng.integers(18, 80, 120).tolist(), "ill": [str(ill) for ill in ills]})
    release = anonymize(original, schema_for(), KAnonymity(k=4, p=2))
    shown = pl.DataFrame(
        {name: pl.Series(np.array(release.table[name]).astype(str)) for name in ("age", "ill")}
    )
    assert sorted(shown["ill"]) == sorted(str(ill) for ill in ills)  # released as they were written
    groups = shown.with_columns(pl.col("ill").str.contains("(?i)^\\s*go")).group_by("age").n_unique()
    assert groups["ill"].min() == 2


def test_equal_spellings_are_not_at_a_distance() -> None:
    model = Dissimilarity(k=2, epsilon=0.5, delta=0.5, distance="equality")
    released = pl.DataFrame({"age": ["20..23"] * 4, "ill": SPELLINGS})
    assert not audit(table_of(*SPELLINGS), released, schema_for(), model).holds


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("Stra\u00dfe", "STRASSE"),
        ("\uff21\uff29\uff24\uff33", "aids"),
        ("HIV\u00a0positive", "hiv  positive"),
        ("hiv\tpositive\n", "hiv positive"),
        ("a\ufeffb", "ab"),
        ("a\ufe0fb", "ab"),
        ("a\U000e0101b", "ab"),
        ("a\u034fb", "ab"),
        ("a\u3164b", "ab"),
        ("a\u202eb", "ab"),
        ("a\x00b", "ab"),
        ("\u2160", "i"),
        ("\u1e9e", "ss"),
    ],
)
def test_what_looks_the_same_is_the_same(first: str, second: str) -> None:
    one, other = normalized(pl.Series([first, second]))
    assert one == other


def test_what_differs_stays_different_and_missing_stays_missing() -> None:
    texts = pl.Series(["flu", "gout", None, "a b", "ab", "5", "50", "na\u00efve", "naive"])
    found = normalized(texts)
    assert found.null_count() == 1
    assert found.n_unique() == len(texts)
    assert normalized(found).equals(found)


def test_a_mark_of_a_missing_value_is_one_in_any_spelling() -> None:
    original = table_of("N/A", "n/a ", "N/A\u200b", "", "\u200b", " ", "flu", None)
    (values,) = Table.encode(original, schema_for(missing_marks=("N/A",))).sensitive
    assert len(values) == 2
    with pytest.raises(InputError, match="7 are missing"):
        Table.encode(original, schema_for(missing_marks=("N/A",), missing="error"))
    kept = Table.encode(original, schema_for(missing_marks=("n/a",), missing="suppress"))
    assert len(kept) == 1


def test_numbers_written_in_several_ways_are_one_number() -> None:
    column = Column("ill", Role.SENSITIVE, Kind.NUMERIC)
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), column))
    (values,) = Table.encode(table_of("50", "50.0", " 50", "5e1", "+50", "51"), schema).sensitive
    assert len(values) == 2


def test_values_as_written_count_where_the_schema_says_so(tmp_path: Path) -> None:
    exact = schema_for(normalize=False)
    released = pl.DataFrame({"age": ["20..23"] * 4, "ill": SPELLINGS})
    assert audit(table_of(*SPELLINGS), released, exact, KAnonymity(k=4, l=4)).holds
    exact.write(tmp_path / "schema.toml")
    assert "normalize = false" in (tmp_path / "schema.toml").read_text()
    assert Schema.read(tmp_path / "schema.toml") == exact
    assert "normalize" not in schema_for().to_toml()
    with pytest.raises(InputError, match="normalize"):
        Column("ill", normalize="yes")  # type: ignore[arg-type]


def test_a_hierarchy_still_knows_the_values_as_they_are_written() -> None:
    tree = Hierarchy.from_levels([["Flu", "lung", "*"], ["asthma", "lung", "*"], ["Gout", "joint", "*"]])
    original = table_of("Flu", "asthma", "Gout", "Flu")
    released = pl.DataFrame({"age": ["20..23"] * 4, "ill": original["ill"]})
    model = Dissimilarity(k=2, epsilon=0.5, delta=0.1)
    assert audit(original, released, schema_for(hierarchy=tree), model).proximity[0].risk == pytest.approx(
        2 / 3
    )


def test_the_likeliest_illness_is_found_whatever_its_spelling() -> None:
    released = pl.DataFrame({"age": ["20..23"] * 4, "ill": ["FLU", "flu", "flu ", "Flu"]})
    found = audit(table_of(*SPELLINGS), released, schema_for(), posterior=0.2)
    assert found.posterior is not None
    assert found.posterior.disclosures[0].right is not None
    assert found.posterior.disclosures[0].right.mean == pytest.approx(1)


def test_blocks_count_the_same_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    ills = [*rng.choice(SPELLINGS, 300), *["gout"] * 100]
    frame = pl.DataFrame({"age": rng.integers(18, 80, 400), "ill": [str(ill) for ill in ills]})
    frame.write_csv(tmp_path / "table.csv")
    with pytest.raises(InfeasibleError):
        anonymize_file(
            tmp_path / "table.csv", schema_for(), KAnonymity(k=2, l=2), tmp_path / "out", block_rows=100
        )
    done = anonymize_file(
        tmp_path / "table.csv", schema_for(), KAnonymity(k=2, p=2), tmp_path / "two", block_rows=100
    )
    assert done.audit.diversity[0].p == 2
