"""The page of the benchmark `reading`: its tables and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.harness import markdown_table
from benchmarks.reading_releases import DATA, KS, METHODS
from shoal.reading import ESTIMATORS

Measured = Mapping[tuple[str, str, int], Mapping[str, Any]]
TITLES = {
    "1 0.1": "1 column, 0.1",
    "2 0.1": "2 columns, 0.1",
    "3 0.1": "3 columns, 0.1",
    "4 0.1": "4 columns, 0.1",
    "2 0.01": "2 columns, 0.01",
    "2 0.3": "2 columns, 0.3",
}
"""The workloads."""
SIGNIFICANT = 2.0
"""A difference of this many standard errors is not taken for chance."""

INTRODUCTION = """# Reading a release

Errors of answers from a release, for each [estimator](../estimator.md). Each random question asks for the
number of records with certain values of two quasi-identifiers and the sensitive column, a tenth of the
domain in all; every question has an answer above 0 in the original. The error is the difference from the
true number, as a share of it: mean / median. At k = 10, each release is asked 300 of these questions, and
of each other kind 60 (CMC) or 30 (Adult and NIST ACS). At other k these are 120 and 24 (CMC) or 60 and
12."""

EFFORTS = """On Adult and NIST ACS, methods with an effort run with `fast`, except `matching` at k = 10,
which runs with `balanced`, as on CMC. The model of `matching`, `sort_greedy`, `greedy` and `ring` is
freeform, that of `chain`, `agglomerative`, `forest` and `mondrian` is k-anonymity; the others are named
after their models. `paper-concealment` and `paper-kk` are these models without a bound on the chance of
a right guess about a row (`chance` = 1), as in the papers. `even` takes all values of a cell to be
equally likely, `marginal` takes generalization to be random, `columns` uses that cells are tight, and
`tight`, the default, also estimates all columns jointly."""

WHY = """Where the difference is small against its standard error, more questions could turn it around.
Otherwise there are two reasons. First, `tight` does not know how quasi-identifiers depend on the
sensitive column, and on each other, within a row; it only sees how they do between rows. CMC has 1,473
records, so that a row of 10 or more records has much of this dependence inside. Of 153 women with 4 to 8
children and method 2, `tight` finds 123 in the release of `chain` with k = 10, and the even spread 132,
although both estimate the numbers of children and of methods by themselves well. Second, the powers were
chosen on [other data](../estimator.md#one-column), and are not the best ones for CMC. For `k1`, and for
`concealment` and `kk` with `chance` = 1, they are below 0 at k = 10: rare values are taken to be more
likely than frequent ones. In small tables this is closer to the truth, on Adult it is further from it:
these three are read better evenly. No mean of `tight` and `even`, number of classes or prior that was
tried on the other data changes this ([decision 074](../decisions/074-whole-numbers.md)). In releases of
`patterned` with large k, no row shows the values that most questions ask for, so that neither estimate
says much."""


HIERARCHIES = (
    " anjana generalizes whole columns by hierarchies, as ARX does, and leaves out up to a fifth of the "
    "records: its cells are not tight, so that `columns` and `tight` only use how often each cell occurs."
)
EARLIER = """A release of 1,000,000 rows (Adult enlarged, `mondrian`, k = 10) was opened in 10.8 s and fitted
4.7 s later, with 703 MiB at the peak. A count then took 0.066 s on average, and 0.086 s at most. These
figures were measured at commit `122f710`."""
EARLIER_MODELS = {"gradient boosting": (0.9250, 0.9246), "logistic regression": (0.9019, 0.9011)}
EARLIER_RIVALS = {
    "anonypy 0.2.1": ("30,162", "111.6% / 22.5%", "30.6% / 7.0%", "19.0% / 6.3%", "10.9% / 4.1%"),
    "anjana 1.2.3, 20% suppression": (
        "25,972",
        "82.0% / 73.4%",
        "82.0% / 73.4%",
        "82.0% / 73.4%",
        "82.0% / 72.9%",
    ),
}
UNCHANGED = (
    " were measured with the reader of commit `c30e71f`, which answers these questions in the same way."
)
"""What was measured with an earlier reader, and is kept where nothing was measured since."""


def page_text(measured: Measured, others: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Return the text of the page.

    Parameters
    ----------
    measured
        The figures by data set, method and k.
    others
        The figures of other tools, of models and of a large release, by name; None for what was not measured.
    """
    return "\n\n".join(
        (
            INTRODUCTION,
            *_standard(measured),
            *_workloads(measured),
            *_coverage(measured),
            *_rivals(others),
            *_models(others.get("models")),
            *_time(measured, others.get("large")),
        )
    )


def _pair(figures: Mapping[str, float] | None) -> str:
    return "" if figures is None else f"{figures['mean']:.1%} / {figures['median']:.1%}"


def _standard(measured: Measured) -> Iterator[str]:
    rows = [
        (*cell, *(_pair(found.get(estimator, {}).get("2 0.1")) for estimator in ESTIMATORS[::-1]))
        for cell, found in measured.items()
    ]
    yield markdown_table(("data", "method", "k", *ESTIMATORS[::-1]), rows)
    yield EFFORTS
    yield _scope(measured)
    by_mean: list[str] = []
    by_chance: list[str] = []
    by_median: list[str] = []
    for (data, method, k), found in measured.items():
        tight, even = found["tight"]["2 0.1"], found["even"]["2 0.1"]
        name = f"{data} `{method}` {k}"
        if tight["mean"] > even["mean"]:
            worse = -tight["gain"] > SIGNIFICANT * tight["gain_error"]
            (by_mean if worse else by_chance).append(name)
        if tight["median"] > even["median"]:
            by_median.append(f"{name} ({even['median']:.1%} → {tight['median']:.1%})")
    cells = len(measured)
    yield "### Where the even spread is closer"
    yield (
        f"The mean error of `tight` is smaller in {cells - len(by_mean) - len(by_chance)} of {cells} "
        f"releases. In {len(by_chance)} it is larger by less than {SIGNIFICANT:.0f} standard errors of the "
        f"difference over the questions: {_listed(by_chance)}. In {len(by_mean)} it is larger by more: "
        f"{_listed(by_mean)}."
    )
    yield (
        f"The median error of `tight` is larger in {len(by_median)} of {cells} releases: "
        f"{_listed(by_median)}."
    )
    yield WHY


def _scope(measured: Measured) -> str:
    """Return which combinations of method and k were measured, and which were not."""
    parts = []
    for data in DATA:
        missing = {
            method: [k for k in KS if (data, method, k) not in measured]
            for method in METHODS
            if any((data, method, k) not in measured for k in KS)
        }
        count = sum(each == data for each, _, _ in measured)
        left = ", ".join(
            f"`{method}`" + ("" if len(ks) == len(KS) else f" (k = {', '.join(map(str, ks))})")
            for method, ks in missing.items()
        )
        parts.append(f"{count} on {data}" + (f" (not measured: {left})" if left else ""))
    return (
        f"Of the {len(METHODS) * len(KS)} combinations of method and k for each data set, these were "
        f"measured: {'; '.join(parts)}."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "nowhere"


def _workloads(measured: Measured) -> Iterator[str]:
    rows = [
        (
            data,
            method,
            *(f"{_pair(found['even'].get(name))} → {_pair(found['tight'].get(name))}" for name in TITLES),
        )
        for (data, method, k), found in measured.items()
        if k == 10
    ]
    yield "## Other questions"
    yield (
        "Mean / median error, `even` → `tight`, by the number of quasi-identifiers and the share of the "
        "domain; k = 10."
    )
    yield markdown_table(("data", "method", *TITLES.values()), rows)


def _coverage(measured: Measured) -> Iterator[str]:
    tight = {cell: found["tight"] for cell, found in measured.items()}
    inside: dict[str, list[tuple[float, int]]] = {}
    means: dict[str, list[tuple[float, int]]] = {}
    for (data, _, _), found in tight.items():
        means.setdefault(data, []).append((found["means"]["coverage"], found["means"]["questions"]))
        inside.setdefault(data, []).extend(
            (found[name]["coverage"], found[name]["questions"]) for name in TITLES if name in found
        )
    pooled = [(data, _pooled(each), _pooled(means[data])) for data, each in inside.items()]
    bounded = all(found[name]["bounded"] == 1 for found in tight.values() for name in TITLES if name in found)
    always = " The truth always lies between `certain` and `possible`." if bounded else ""
    yield "## Coverage"
    yield (
        "The share of questions for which the interval with 95% confidence of `tight` contains the truth. "
        "The weights of standard errors were fitted to [other data](../estimator.md#standard-errors): "
        f"Nursery, made-up patients and random tables.{always} Means are those of columns of numbers over "
        "the same rows, for 10 to 50 of the questions about two columns and a tenth of the domain. The "
        "ends of intervals of counts are whole numbers."
    )
    yield markdown_table(("data", "counts", "means"), pooled)
    yield markdown_table(
        ("data", "method", "k", *TITLES.values(), "means"),
        [
            (
                *cell,
                *(f"{found[name]['coverage']:.1%}" if name in found else "" for name in TITLES),
                f"{found['means']['coverage']:.1%}" if found["means"]["questions"] else "",
            )
            for cell, found in tight.items()
        ],
    )


def _pooled(cells: list[tuple[float, int]]) -> str:
    return f"{sum(share * count for share, count in cells) / sum(count for _, count in cells):.1%}"


def _rivals(others: Mapping[str, Mapping[str, Any] | None]) -> Iterator[str]:
    found = {name.removeprefix("rival "): each for name, each in others.items() if name.startswith("rival ")}
    rows = [
        (name, f"{each['rows']:,}", *(_pair(each[e]["2 0.1"]) for e in ESTIMATORS[::-1]))
        if each is not None
        else (name, *EARLIER_RIVALS[name])
        for name, each in found.items()
        if each is not None or name in EARLIER_RIVALS
    ]
    earlier = [name for name, each in found.items() if each is None and name in EARLIER_RIVALS]
    yield "## Other tools"
    yield (
        "Releases of Adult with k = 10 by other tools, read in the same way and asked the same questions. "
        "Cells of anonypy are closures of classes, so they are taken to be tight."
        + (HIERARCHIES if "anjana 1.2.3, 20% suppression" in [name for name, *_ in rows] else "")
        + "".join(f" The figures of {name}{UNCHANGED}" for name in earlier)
    )
    yield markdown_table(("tool", "rows", *ESTIMATORS[::-1]), rows)


def _models(found: Mapping[str, Any] | None) -> Iterator[str]:
    earlier = "" if found else f" These figures{UNCHANGED}"
    found = found or EARLIER_MODELS
    yield "## Models"
    yield (
        "AUC for income on Adult's test set: a model trained on the original, and the mean of five models "
        f"trained on tables drawn from a freeform release with k = 10.{earlier}"
    )
    rows = [(name, *(f"{score:.4f}" for score in scores)) for name, scores in found.items()]
    yield markdown_table(("learner", "original", "drawn tables"), rows)


def _time(measured: Measured, large: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## Time"
    seconds = max(found["tight"]["processor_seconds"] for found in measured.values())
    yield f"The joint estimate took {seconds:.1f} s of processor time at most."
    if large is not None:
        yield (
            f"A release of {large['rows']:,} rows (Adult enlarged, `mondrian`, k = 10) was opened in "
            f"{large['open']:.1f} s and fitted {large['fit']:.1f} s later, with {large['peak_mib']:.0f} MiB "
            f"at the peak. A count then took {large['count']:.3f} s on average, and {large['slowest']:.3f} s "
            "at most."
        )
    else:
        yield EARLIER.replace("\n", " ")
    commits = sorted({found["commit"] for found in measured.values()})
    yield f"Releases were made at commit {', '.join(f'`{each}`' for each in commits)}."
