"""The page of the benchmark `reading`: its tables and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.harness import markdown_table
from benchmarks.reading_releases import DATA, KS, LONGEST, METHODS
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
TRAINED_ON = "Nursery, made-up patients, random tables and tables of a census (Pumsb)"
NARROW = 0.85
"""Releases for which fewer intervals contain the truth are listed."""
SIGNIFICANT = 2.0
"""A difference of this many standard errors is not taken for chance."""

INTRODUCTION = """# Reading a release

Errors of answers from a release, for each [estimator](../estimator.md). Each random question asks for the
number of records with certain values of two quasi-identifiers and the sensitive column, a tenth of the
domain in all; every question has an answer above 0 in the original. The error is the difference from the
true number, as a share of it: mean / median. At k = 10, each release is asked 300 of these questions, and
60 of each [other kind](#other-questions); at other k half of them. All releases of a data set with the same k
are asked the same ones."""

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

WIDE_MEANS = """Adult has one column of numbers, so that all its means are mean ages. Apart from releases of
`patterned`, nearly all of their intervals contain the truth: they are wider than they had to be. The
largest part of their error is that for [dependence inside rows](../estimator.md#standard-errors), 40% of
the variance for `ring` with k = 50. Without it, 97% of the intervals would hold there, but only 72% of
those on NIST ACS, where it has a similar size. A release does not show which of the two cases it is. The
weight is therefore the smallest with which at least 90% hold on every one of twelve other tables ([decision
096](../decisions/096-narrowed-cells-and-wide-means.md))."""

WHY_NARROW = """There are four reasons. In releases of `patterned` with large k, most numbers are
suppressed, and those that are published are not like the others: with k = 100, 95% of the ages of Adult are
suppressed, and the published ones are 17 to 25. No domain was declared, so that nothing says that there are
older people; with a domain from 17 to 90, all of the intervals hold, and are 48 years wide on average. The
weights for `patterned` are also older than the others, and were fitted to small tables only. In releases
with own records (`1k`, `k1`, and `concealment` and `kk` with `chance` = 1) and small k, the values of a
cell are not equally likely, but all of them are required, so that the reader takes them to be: at k = 2, on
four tables that the benchmark does not use, a row's own value is the most frequent one of its cell in 52%
to 82% of the cells with several values by `1k`, in 18% to 46% by `k1`, and in 50% by freeform. By
`greedy` with effort `fast`, as on Adult and NIST ACS, the records that choose last take the rows that are
left, far from them. Their values are then spread over rows of others, one in each, and are taken to be more
frequent than they are: Adult has 1,279 records with State-gov, of which the estimate at k = 10 is 2,519. On
CMC, with effort `balanced`, rows exchange records, and 96% to 99% of the intervals hold. By
`forest` with k = 50 and 100 on NIST ACS, cells hardly tell how frequent a value is: at k = 100, 449 of the
27,253 records are separated and 8,961 never married, but 13,283 and 14,894 rows have cells with these values,
because trees grow from record to record until they contain nearly anything. The estimate is 2,915 separated
people; from `chain`, where 2,719 rows have such a cell, it is 385."""

HIERARCHIES = (
    " anjana generalizes whole columns by hierarchies, as ARX does, and leaves out up to a fifth of the "
    "records: its cells are not tight, so that `columns` and `tight` only use how often each cell occurs."
)


def page_text(measured: Measured, others: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Return the text of the page.

    Parameters
    ----------
    measured
        The figures by data set, method and k. Where a release was not made, they only say why.
    others
        The figures of other tools, of models and of a large release, by name; None for what was not measured.
    """
    figures = {cell: found for cell, found in measured.items() if "tight" in found}
    return "\n\n".join(
        (
            INTRODUCTION,
            *_standard(figures),
            _scope(measured),
            *_closer(figures),
            *_workloads(figures),
            *_coverage(figures),
            *_rivals(others),
            *_models(others.get("models")),
            *_time(figures, others.get("large")),
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


def _closer(measured: Measured) -> Iterator[str]:
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
    """Return which combinations of method and k were measured, and which were not, and why."""
    everything = len(DATA) * len(METHODS) * len(KS)
    count = sum("tight" in found for found in measured.values())
    shared = sum("same" in found for found in measured.values())
    parts = [
        f"Of the {everything} combinations of data set, method and k, {count} were measured. {shared} of "
        "them are releases with the same rows as that of a method above, so that they were read once."
    ]
    reasons = {
        None: "Not measured",
        "late": f"Not made within {LONGEST} s of processor time",
        "infeasible": "No such release exists",
    }
    for state, text in reasons.items():
        left = ", ".join(
            f"{data} `{method}`" + ("" if len(ks) == len(KS) else f" (k = {', '.join(map(str, ks))})")
            for data in DATA
            for method in METHODS
            if (ks := [k for k in KS if _state(measured, data, method, k) == state])
        )
        if left:
            parts.append(f"{text}: {left}.")
    return " ".join(parts)


def _state(measured: Measured, data: str, method: str, k: int) -> str | None:
    """Return why a release was not made; None if it was not tried, and nothing if it was measured."""
    found = measured.get((data, method, k))
    return None if found is None else str(found.get("state", ""))


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
    bounded = all(found[name]["bounded"] == 1 for found in tight.values() for name in TITLES if name in found)
    always = " The truth always lies between `certain` and `possible`." if bounded else ""
    yield "## Coverage"
    yield (
        "The share of questions for which the interval with 95% confidence of `tight` contains the truth. "
        "The weights of standard errors were fitted to [other data](../estimator.md#standard-errors): "
        f"{TRAINED_ON}.{always} Means are those of columns of numbers over the same rows, one column after "
        "the other, for a third of the questions about two columns and a tenth of the domain. The ends of "
        "intervals of counts are whole numbers. First for all releases of a data set together, then by k, "
        "and then for each release."
    )
    groups = [(data, "all") for data in DATA] + [(data, k) for data in DATA for k in KS]
    chosen = [
        (
            group,
            [found for (data, _, k), found in tight.items() if data == group[0] and group[1] in (k, "all")],
        )
        for group in groups
    ]
    yield markdown_table(
        ("data", "k", "all questions", "counts", "means"),
        [
            (
                *group,
                _pooled([f[name] for f in cells for name in (*TITLES, "means") if name in f]),
                _pooled([f[name] for f in cells for name in TITLES if name in f]),
                _pooled([f["means"] for f in cells]),
            )
            for group, cells in chosen
            if cells
        ],
    )
    yield WIDE_MEANS
    yield from _too_narrow(tight)
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


def _too_narrow(tight: Mapping[tuple[str, str, int], Mapping[str, Any]]) -> Iterator[str]:
    """Return for which releases few intervals contain the truth, and why."""
    counts: list[str] = []
    means: list[str] = []
    for (data, method, k), found in tight.items():
        asked = {"counts": [found[name] for name in TITLES if name in found], "means": [found["means"]]}
        for what, names in (("counts", counts), ("means", means)):
            if any(part["questions"] for part in asked[what]) and _share(asked[what]) < NARROW:
                names.append(f"{data} `{method}` {k} ({_share(asked[what]):.0%})")
    yield (
        f"Fewer than {NARROW:.0%} of the intervals of counts hold in {len(counts)} of {len(tight)} releases: "
        f"{_listed(counts)}; of means in {len(means)}: {_listed(means)}."
    )
    if counts or means:
        yield WHY_NARROW


def _pooled(parts: list[Mapping[str, float]]) -> str:
    return f"{_share(parts):.1%}"


def _share(parts: list[Mapping[str, float]]) -> float:
    """Return the share of questions, of several kinds, whose interval contains the truth."""
    inside = sum(part["coverage"] * part["questions"] for part in parts)
    return inside / max(sum(part["questions"] for part in parts), 1)


def _rivals(others: Mapping[str, Mapping[str, Any] | None]) -> Iterator[str]:
    found = {
        name.removeprefix("rival "): each
        for name, each in others.items()
        if name.startswith("rival ") and each is not None
    }
    yield "## Other tools"
    yield (
        "Releases of Adult with k = 10 by other tools, read in the same way and asked the same questions. "
        "Cells of anonypy are closures of classes, so they are taken to be tight."
        + (HIERARCHIES if "anjana 1.2.3, 20% suppression" in found else "")
    )
    yield markdown_table(
        ("tool", "rows", *ESTIMATORS[::-1]),
        [
            (name, f"{each['rows']:,}", *(_pair(each[e]["2 0.1"]) for e in ESTIMATORS[::-1]))
            for name, each in found.items()
        ],
    )


def _models(found: Mapping[str, Any] | None) -> Iterator[str]:
    if not found:
        return
    yield "## Models"
    yield (
        "AUC for income on Adult's test set: a model trained on the original, and the mean of five models "
        "trained on tables drawn from a freeform release with k = 10."
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
    commits = sorted({found["commit"] for found in measured.values()})
    yield f"Releases were made at commit {', '.join(f'`{each}`' for each in commits)}."
