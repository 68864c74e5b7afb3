"""The four data sets on which Tassa, Mazza and Gionis (2012, Section 9) compare k-concealment with others.

The paper gives the artificial set in full. Of the real ones it says only that values close in meaning were
grouped; the groups here are ours. Every quasi-identifier has a hierarchy, as everything in the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from benchmarks.harness import cmc, data_folder
from shoal import Schema, read_table
from shoal.kinds.hierarchy import Hierarchy, HierarchySource
from shoal.kinds.hierarchy_rules import Intervals

Groups = Sequence["str | Groups"]
"""A hierarchy as nested lists: a text is a value, a list the group of all below it."""

SHARES = {
    "A1": [0.7, 0.3],
    "A2": [0.3, 0.3, 0.2, 0.2],
    "A3": [0.25, 0.25, 0.4, 0.1],
    "A4": [0.07] * 6 + [0.04] * 10 + [0.02] * 9,
    "A5": [0.1] * 10,
    "A6": [0.05, 0.05, 0.5, 0.3, 0.1],
}
"""How probable each value of an artificial attribute is."""


def _numbered(first: int, last: int) -> list[str]:
    return [f"a{number}" for number in range(first, last + 1)]


SUBSETS: dict[str, Groups] = {
    "A1": ["a1", "a2"],
    "A2": [["a1", "a2"], ["a3", "a4"]],
    "A3": [["a1", "a2"], ["a3", "a4"]],
    "A4": [[_numbered(1, 6), _numbered(7, 12)], [_numbered(13, 18), _numbered(19, 25)]],
    "A5": [[["a1", "a2"], ["a3", "a4"], "a5"], [["a6", "a7"], ["a8", "a9"], "a10"]],
    "A6": [["a1", "a2"], ["a3", ["a4", "a5"]]],
}
"""The permissible subsets of each artificial attribute."""

ADULT: dict[str, Groups | Intervals] = {
    "age": Intervals((5, 10, 20, 40)),
    "workclass": [
        ["Private", ["Self-emp-inc", "Self-emp-not-inc"]],
        ["Federal-gov", ["Local-gov", "State-gov"]],
        "Without-pay",
    ],
    "fnlwgt": Intervals((12_500, 25_000, 50_000, 100_000, 200_000, 400_000, 800_000)),
    "education": [
        [["Preschool", "1st-4th", "5th-6th", "7th-8th"], ["9th", "10th", "11th", "12th"]],
        ["HS-grad", ["Some-college", ["Assoc-acdm", "Assoc-voc"]]],
        ["Bachelors", ["Masters", ["Prof-school", "Doctorate"]]],
    ],
    "education-num": [
        [["1", "2", "3", "4"], ["5", "6", "7", "8"]],
        ["9", ["10", ["11", "12"]]],
        ["13", ["14", ["15", "16"]]],
    ],
    "marital-status": [
        ["Married-civ-spouse", "Married-AF-spouse"],
        ["Never-married", [["Divorced", "Separated"], "Married-spouse-absent", "Widowed"]],
    ],
    "occupation": [
        [["Exec-managerial", "Prof-specialty"], ["Adm-clerical", "Sales", "Tech-support"]],
        [
            ["Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners"],
            ["Farming-fishing"],
        ],
        ["Other-service", "Priv-house-serv", ["Protective-serv", "Armed-Forces"]],
    ],
    "relationship": [["Husband", "Wife"], ["Own-child", "Other-relative"], ["Not-in-family", "Unmarried"]],
    "race": ["White", ["Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]],
    "sex": ["Female", "Male"],
    "capital-gain": Intervals((1_000, 5_000, 10_000, 50_000)),
    "capital-loss": Intervals((250, 500, 1_000, 2_000)),
    "hours-per-week": Intervals((5, 10, 20, 40)),
    "native-country": [
        [["United-States", "Outlying-US(Guam-USVI-etc)"], "Canada"],
        [
            ["Mexico", ["El-Salvador", "Guatemala", "Honduras", "Nicaragua"]],
            ["Cuba", "Dominican-Republic", "Haiti", "Jamaica", "Puerto-Rico", "Trinadad&Tobago"],
            ["Columbia", "Ecuador", "Peru"],
        ],
        [
            ["England", "Scotland", "Ireland"],
            ["France", "Germany", "Holand-Netherlands"],
            ["Greece", "Italy", "Portugal"],
            ["Hungary", "Poland", "Yugoslavia"],
        ],
        [
            ["China", "Hong", "Taiwan", "Japan"],
            ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
            ["India", "Iran"],
        ],
        "South",
    ],
}

CMC: dict[str, Groups | Intervals] = {
    "wife_age": Intervals((5, 10, 20)),
    "wife_education": [["1", "2"], ["3", "4"]],
    "husband_education": [["1", "2"], ["3", "4"]],
    "children": Intervals((2, 4, 8)),
    "wife_religion": ["0", "1"],
    "wife_working": ["0", "1"],
    "husband_occupation": [["1", "2"], ["3", "4"]],
    "standard_of_living": [["1", "2"], ["3", "4"]],
    "media_exposure": ["0", "1"],
}

NURSERY: dict[str, Groups | Intervals] = {
    "parents": ["usual", ["pretentious", "great_pret"]],
    "has_nurs": [["proper", "less_proper"], ["improper", ["critical", "very_crit"]]],
    "form": [["complete", "completed"], ["incomplete", "foster"]],
    "children": [["1", "2"], ["3", "more"]],
    "housing": ["convenient", ["less_conv", "critical"]],
    "finance": ["convenient", "inconv"],
    "social": [["nonprob", "slightly_prob"], "problematic"],
    "health": [["recommended", "priority"], "not_recom"],
}


def artificial(seed: int = 1) -> tuple[pl.DataFrame, Schema]:
    """Return 5,000 records, their values drawn independently by the paper's shares; none is sensitive."""
    generator = np.random.default_rng(seed)
    columns = {
        name: np.array(_numbered(1, len(shares)))[generator.choice(len(shares), size=5_000, p=shares)]
        for name, shares in SHARES.items()
    }
    return _described(pl.DataFrame(columns), SUBSETS)


def adult() -> tuple[pl.DataFrame, Schema]:
    """Return the 45,222 complete records of Adult: 14 public attributes, income sensitive."""
    return _described(read_table(data_folder() / "adult_complete_45222.csv.gz"), ADULT)


def contraceptives() -> tuple[pl.DataFrame, Schema]:
    """Return CMC: 9 public attributes, the method sensitive. 1,473 records; the paper says 1,500."""
    return _described(cmc(), CMC)


def nursery() -> tuple[pl.DataFrame, Schema]:
    """Return the 12,960 records of Nursery: 8 public attributes, the rank sensitive."""
    return _described(read_table(data_folder() / "nursery.csv.gz"), NURSERY)


DATA: dict[str, Callable[[], tuple[pl.DataFrame, Schema]]] = {
    "artificial": artificial,
    "adult": adult,
    "cmc": contraceptives,
    "nursery": nursery,
}
"""The data sets of the paper, by name."""


def _described(
    frame: pl.DataFrame, groups: dict[str, Groups] | dict[str, Groups | Intervals]
) -> tuple[pl.DataFrame, Schema]:
    """Return a frame and its schema; columns without groups are sensitive."""
    hierarchies: dict[str, HierarchySource] = {
        name: chosen if isinstance(chosen, Intervals) else Hierarchy.from_levels(_levels(name, chosen))
        for name, chosen in groups.items()
    }
    sensitive = [name for name in frame.columns if name not in groups]
    # A hierarchy is over texts; without an order, a column is read as the categories it groups.
    kinds = {name: "categorical" for name, chosen in groups.items() if not isinstance(chosen, Intervals)}
    return frame, Schema.infer(
        frame, quasi=list(groups), sensitive=sensitive, kinds=kinds, hierarchies=hierarchies
    )


def _levels(label: str, groups: Groups) -> Iterator[list[str]]:
    """Yield a line for each value: the value, then the groups it lies in, from the smallest up."""
    for number, part in enumerate(groups, 1):
        if isinstance(part, str):
            yield [part, label]
        else:
            for line in _levels(f"{label}.{number}", part):
                yield [*line, label]
