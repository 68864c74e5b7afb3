"""What the levels that ARX finds for Adult lose, by model, beside what Shoal loses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.harness import data_folder, markdown_table
from shoal import BetaLikeness, DeltaDisclosure, DeltaPresence, KMap, Schema, TCloseness
from shoal.models import Model
from shoal.table import Table

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income")
"""The quasi-identifiers of ARX's tests on Adult, in the order of its levels; occupation is sensitive."""
HIGHEST = (1, 4, 1, 2, 3, 2, 2, 1)
"""The highest level of each."""
SAMPLE = 3016
"""The number of records that ARX's tests compare with all of Adult."""
LIKENESS = (
    "The tests of ARX (`TestAnonymizationTCloseness`, `TestAnonymizationBLikeness`) have the levels of its "
    "hierarchies that ARX finds best for Adult, with occupation as the sensitive column and eight "
    "quasi-identifiers: those above and income. The table has the GCP of these levels, as Shoal measures it: "
    "a label loses the values below it, an age the width of its interval. Classes that do not keep the "
    "guarantee are suppressed there, up to the share that the test allows; GCP is that of the records that "
    "are left. Shoal leaves out none. ARX minimizes other measures: discernibility with t-closeness, its own "
    "loss with beta-likeness."
)
DISCLOSURE = (
    "The tests of ARX have no case with delta-disclosure, and no other published result on Adult was found. "
    "ARX searches the levels of its hierarchies for the best ones. The table has the least GCP of all "
    "{nodes:,} combinations of levels whose classes all keep the guarantee: ARX cannot lose less with these "
    "hierarchies if it suppresses nothing. The last row is a check of this search: the same for t-closeness, "
    "where ARX's own choice, by another measure, is in the table above."
)
POPULATIONS = (
    "The tests of ARX for k-map and delta-presence (`TestAnonymizationKMap`, `TestAnonymizationDPresence`) "
    f"compare {SAMPLE:,} records of Adult with all of it. Which records these are was not at hand: the table "
    f"has a random sample of {SAMPLE:,} instead, with the levels that ARX printed for its own. So classes of "
    "this sample may break a guarantee that ARX's kept; they are left out here, up to the share that the "
    "test allows or beyond it. ARX minimizes the average class size or entropy there."
)
HEAD = (
    *("model", "guarantee", "may be suppressed", "ARX: left out", "ARX: GCP", "ARX: classes"),
    *("Shoal: GCP", "Shoal: classes"),
)


class Case(NamedTuple):
    """A case of ARX's tests: a guarantee, the share that may be suppressed, and the levels that it prints."""

    model: Model
    suppressed: float
    levels: tuple[int, ...]


class Level(NamedTuple):
    """A column at a level of ARX's hierarchy: the label of each record, and what it loses."""

    codes: NDArray[np.int64]
    lost: NDArray[np.float64]


Measured = Callable[[Table, Model, str], tuple[str, ...]]
"""Makes a release with a model and a method, and returns its row of figures."""


def likeness_cases() -> tuple[Case, ...]:
    """Return the cases of ARX's tests of t-closeness and beta-likeness."""
    return (
        Case(TCloseness(k=5, t=0.2, ground_distance="equal"), 0, (1, 4, 1, 1, 3, 2, 2, 1)),
        Case(TCloseness(k=5, t=0.2, ground_distance="equal"), 0.04, (1, 4, 1, 0, 3, 2, 2, 1)),
        Case(BetaLikeness(k=2, beta=2, enhanced=True), 0, (1, 4, 1, 1, 3, 2, 2, 0)),
        Case(BetaLikeness(k=2, beta=3), 0.5, (0, 3, 0, 0, 2, 0, 1, 0)),
        Case(BetaLikeness(k=2, beta=5), 0.4, (0, 2, 0, 0, 2, 0, 1, 0)),
    )


def population_cases(people: pl.DataFrame) -> tuple[Case, ...]:
    """Return the cases of ARX's tests of k-map and delta-presence."""
    return (
        Case(KMap(k=3, population=people), 0, (0, 0, 1, 2, 3, 2, 2, 0)),
        Case(KMap(k=5, population=people), 0, (1, 0, 1, 2, 3, 2, 2, 1)),
        Case(KMap(k=10, population=people), 0, (0, 1, 1, 2, 3, 2, 2, 0)),
        Case(KMap(k=3, population=people), 0.05, (0, 0, 1, 1, 1, 2, 1, 0)),
        Case(KMap(k=10, population=people), 0.05, (0, 0, 1, 1, 3, 2, 1, 0)),
        Case(KMap(k=20, population=people), 0.05, (1, 0, 1, 1, 3, 2, 1, 0)),
        Case(DeltaPresence(delta_max=0.2, population=people), 0, (1, 4, 1, 1, 0, 2, 2, 0)),
        Case(DeltaPresence(delta_max=0.2, population=people), 0, (0, 1, 1, 2, 3, 2, 2, 0)),
        Case(DeltaPresence(delta_max=0.2, population=people), 0.05, (0, 0, 1, 2, 1, 2, 2, 1)),
        Case(DeltaPresence(delta_max=0.2, population=people), 0.05, (1, 0, 1, 1, 2, 2, 2, 0)),
    )


def beside_arx(frame: pl.DataFrame, measured: Measured) -> str:
    """Return the section on the results of ARX."""
    measured = _once(measured)
    levels = levels_of(frame)
    occupations = frame["occupation"].rank("dense").to_numpy().astype(np.int64) - 1
    table = Table.encode(frame, Schema.infer(frame, quasi=QUASI, sensitive=["occupation"]))
    rows = []
    for case in likeness_cases():
        chosen = [levels[at] for at in enumerate(case.levels)]
        kept = keeping(case.model, classes_of(chosen), occupations)
        rows.append(_row(case, chosen, kept, measured(table, case.model, "mondrian")))
    sections = ["## Beside ARX", LIKENESS, markdown_table(HEAD, rows)]
    nodes = int(np.prod([highest + 1 for highest in HIGHEST]))
    sections += [DISCLOSURE.format(nodes=nodes), _disclosure(levels, occupations, table, measured)]
    sections += [POPULATIONS, markdown_table(HEAD, list(_populations(frame, levels, measured)))]
    return "\n\n".join(sections)


def _once(measured: Measured) -> Measured:
    """Return a function that measures each model once for each table."""
    known: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def remembered(table: Table, model: Model, method: str) -> tuple[str, ...]:
        own = {name: value for name, value in model.parameters.items() if name != "population"}
        key = (id(table), model.name, *own.items(), method)
        if key not in known:
            known[key] = measured(table, model, method)
        return known[key]

    return remembered


def levels_of(frame: pl.DataFrame) -> dict[tuple[int, int], Level]:
    """Return each column of a table at each level of ARX's hierarchies, by their numbers."""
    return {
        (number, level): _level(frame, name, level)
        for number, name in enumerate(QUASI)
        for level in range(HIGHEST[number] + 1)
    }


def _level(frame: pl.DataFrame, name: str, level: int) -> Level:
    hierarchy = pl.read_csv(data_folder() / "adult_hierarchies" / f"{name}.csv", infer_schema=False)
    known = frame.select(value=pl.col(name).cast(pl.String)).join(
        hierarchy, on="value", how="left", maintain_order="left"
    )
    label = known.columns[level]
    codes = (known[label].rank("dense") - 1).to_numpy().astype(np.int64)
    if name == "age":
        years = known["value"].cast(pl.Int64)
        span = int(np.ptp(years.to_numpy()))
        width = {0: 0, 1: 4, 2: 9, 3: 19}.get(level, span)
        return Level(codes, np.full(len(frame), width / span))
    values = known.group_by(label).agg(pl.col("value").n_unique().alias("values"))
    below = known.join(values, on=label, how="left", maintain_order="left")["values"].to_numpy()
    return Level(codes, np.asarray((below - 1) / (known["value"].n_unique() - 1)))


def classes_of(chosen: list[Level]) -> NDArray[np.int64]:
    """Return the class of each record, given the level of each column."""
    together = np.zeros(len(chosen[0].codes), dtype=np.int64)
    for level in chosen:
        together = together * (int(level.codes.max()) + 1) + level.codes
    return np.unique(together, return_inverse=True)[1].reshape(-1).astype(np.int64)


def keeping(model: Model, of_record: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which records are in a class that keeps a guarantee on a sensitive value; by the definition."""
    counts = np.zeros((of_record.max() + 1, values.max() + 1), dtype=np.int64)
    np.add.at(counts, (of_record, values), 1)
    whole = counts.sum(axis=0) / counts.sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    if isinstance(model, TCloseness):
        fine = 1 - np.minimum(shares, whole).sum(axis=1) <= model.t
    elif isinstance(model, BetaLikeness):
        most = np.minimum(model.beta, -np.log(whole)) if model.enhanced else np.full(len(whole), model.beta)
        fine = (shares <= whole * (1 + most) + 1e-12).all(axis=1)
    else:
        assert isinstance(model, DeltaDisclosure)
        with np.errstate(divide="ignore"):
            fine = (np.abs(np.log(shares / whole)) < model.disclosure_delta).all(axis=1)
    enough: NDArray[np.bool_] = fine & (counts.sum(axis=1) >= model.parameters["k"])
    return enough[of_record]


def _row(case: Case, chosen: list[Level], kept: NDArray[np.bool_], ours: tuple[str, ...]) -> tuple[str, ...]:
    name, words, _, gcp, classes, _ = ours
    lost = float(np.mean([each.lost[kept].mean() for each in chosen])) if kept.any() else 1.0
    left = f"{len(np.unique(classes_of(chosen)[kept])):,}"
    return (
        name,
        words,
        f"{case.suppressed:.0%}",
        f"{1 - kept.mean():.1%}",
        f"{lost:.4f}",
        left,
        gcp,
        classes,
    )


def _disclosure(
    levels: dict[tuple[int, int], Level], values: NDArray[np.int64], table: Table, measured: Measured
) -> str:
    """Return the table of the best levels of all, where ARX has printed none."""
    models: list[Model] = [DeltaDisclosure(k=2, disclosure_delta=delta) for delta in (1.0, 2.0, 3.0)]
    models.append(TCloseness(k=5, t=0.2, ground_distance="equal"))
    nodes = sorted(
        (float(np.mean([levels[at].lost.mean() for at in enumerate(node)])), node)
        for node in itertools.product(*(range(highest + 1) for highest in HIGHEST))
    )
    rows = []
    for model in models:
        for lost, node in nodes:
            of_record = classes_of([levels[at] for at in enumerate(node)])
            if keeping(model, of_record, values).all():
                name, words, _, gcp, classes, _ = measured(table, model, "mondrian")
                rows.append((name, words, f"{lost:.4f}", f"{of_record.max() + 1:,}", gcp, classes))
                break
    head = ("model", "guarantee", "best levels: GCP", "best levels: classes", "Shoal: GCP", "Shoal: classes")
    return markdown_table(head, rows)


def _populations(
    frame: pl.DataFrame, levels: dict[tuple[int, int], Level], measured: Measured
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of models that compare a sample with a population."""
    sampled = np.sort(np.random.default_rng(1).choice(len(frame), SAMPLE, replace=False))
    people = frame.select(QUASI)
    table = Table.encode(frame[sampled], Schema.infer(frame, quasi=QUASI))
    for case in population_cases(people):
        chosen = [levels[at] for at in enumerate(case.levels)]
        of_record = classes_of(chosen)
        population = np.bincount(of_record)
        sample = np.bincount(of_record[sampled], minlength=len(population))
        if isinstance(case.model, KMap):
            fine = population >= case.model.k
        else:
            assert isinstance(case.model, DeltaPresence)
            fine = sample / population <= case.model.delta_max
        ours = measured(table, case.model, "mondrian")
        words = f"k = {case.model.k}" if isinstance(case.model, KMap) else ours[1]
        drawn = [Level(each.codes[sampled], each.lost[sampled]) for each in chosen]
        yield _row(case, drawn, fine[of_record[sampled]], (ours[0], words, *ours[2:]))
