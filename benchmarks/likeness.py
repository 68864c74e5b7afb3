"""Models of other tools on Adult, by the whole or by a population: what each loses, and how long it takes."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.harness import ADULT_QUASI, adult, data_folder, markdown_table, write_page
from shoal import BetaLikeness, DeltaDisclosure, DeltaPresence, KAnonymity, KMap, Schema, TCloseness
from shoal.base.randomness import Randomness
from shoal.measures.gcp import gcp
from shoal.methods import Circumstances, method_for
from shoal.models import Model
from shoal.table import Table

K = 10
SAMPLE = 3000
"""The number of records that are compared with all of Adult as their population."""
GUARANTEES: list[tuple[Model, str]] = [
    (KAnonymity(k=K), "mondrian"),
    (KAnonymity(k=K, l=5), "mondrian"),
    *((TCloseness(k=K, t=t), "mondrian") for t in (0.1, 0.2, 0.3, 0.5)),
    *((BetaLikeness(k=K, beta=beta), "mondrian") for beta in (1, 2, 4)),
    *((DeltaDisclosure(k=K, disclosure_delta=delta), "mondrian") for delta in (1, 2, 3)),
    (TCloseness(k=K, t=0.2), "chain"),
    (BetaLikeness(k=K, beta=2), "chain"),
]


ARX_QUASI = (*("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income"),)
"""The quasi-identifiers of ARX's tests on Adult, in the order of its levels; occupation is sensitive."""
ARX = (
    "The tests of ARX (`TestAnonymizationTCloseness`, `TestAnonymizationBLikeness`) have the levels of its "
    "hierarchies that ARX finds best for Adult, with occupation as the sensitive column and eight "
    "quasi-identifiers: those above and income. The table has the GCP of these levels, as Shoal measures it: "
    "a label loses the values below it, an age the width of its interval. Classes that do not keep the "
    "guarantee are suppressed there, up to the share that the test allows; GCP is that of the records that "
    "are left. Shoal leaves out none. ARX minimizes other measures: discernibility with t-closeness, its own "
    "loss with beta-likeness. Its tests have no case with delta-disclosure; those of k-map and "
    "delta-presence compare with a part of Adult that was not at hand."
)


class ArxCase(NamedTuple):
    """A case of ARX's tests: a guarantee, the share that may be suppressed, and the levels that it prints."""

    model: TCloseness | BetaLikeness
    suppressed: float
    levels: tuple[int, ...]


ARX_CASES = (
    ArxCase(TCloseness(k=5, t=0.2, ground_distance="equal"), 0, (1, 4, 1, 1, 3, 2, 2, 1)),
    ArxCase(TCloseness(k=5, t=0.2, ground_distance="equal"), 0.04, (1, 4, 1, 0, 3, 2, 2, 1)),
    ArxCase(BetaLikeness(k=2, beta=2, enhanced=True), 0, (1, 4, 1, 1, 3, 2, 2, 0)),
    ArxCase(BetaLikeness(k=2, beta=3), 0.5, (0, 3, 0, 0, 2, 0, 1, 0)),
    ArxCase(BetaLikeness(k=2, beta=5), 0.4, (0, 2, 0, 0, 2, 0, 1, 0)),
)


def level_of(frame: pl.DataFrame, name: str, level: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the label of each record at a level of ARX's hierarchy, and what it loses."""
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
        return codes, np.full(len(frame), width / span)
    values = known.group_by(label).agg(pl.col("value").n_unique().alias("values"))
    below = known.join(values, on=label, how="left", maintain_order="left")["values"].to_numpy()
    return codes, np.asarray((below - 1) / (known["value"].n_unique() - 1))


def kept_by(model: TCloseness | BetaLikeness, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which classes keep a guarantee, given how often each has each value; by the definition."""
    whole = counts.sum(axis=0) / counts.sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    if isinstance(model, TCloseness):
        fine = 1 - np.minimum(shares, whole).sum(axis=1) <= model.t
    else:
        most = np.minimum(model.beta, -np.log(whole)) if model.enhanced else np.full(len(whole), model.beta)
        fine = (shares <= whole * (1 + most) + 1e-12).all(axis=1)
    return np.asarray(fine & (counts.sum(axis=1) >= model.k))


def beside_arx(frame: pl.DataFrame) -> str:
    """Return the section on the published results of ARX."""
    schema = Schema.infer(frame, quasi=ARX_QUASI, sensitive=["occupation"])
    table = Table.encode(frame, schema)
    values = table.sensitive[0].codes.astype(np.int64)
    rows = []
    for model, suppressed, levels in ARX_CASES:
        labels = [level_of(frame, name, level) for name, level in zip(ARX_QUASI, levels, strict=True)]
        of_record = np.unique(np.column_stack([codes for codes, _ in labels]), axis=0, return_inverse=True)[
            1
        ].reshape(-1)
        counts = np.zeros((of_record.max() + 1, values.max() + 1), dtype=np.int64)
        np.add.at(counts, (of_record, values), 1)
        kept = kept_by(model, counts)[of_record]
        lost = float(np.mean([each[kept].mean() for _, each in labels])) if kept.any() else 1.0
        name, words, _, gcp_, classes, _ = measured(table, model, "mondrian")
        rows.append(
            (
                *(name, words, f"{suppressed:.0%}", f"{1 - kept.mean():.1%}", f"{lost:.4f}"),
                *(f"{len(np.unique(of_record[kept])):,}", gcp_, classes),
            )
        )
    head = (
        *("model", "guarantee", "may be suppressed", "ARX: left out", "ARX: GCP", "ARX: classes"),
        *("Shoal: GCP", "Shoal: classes"),
    )
    return f"## Beside ARX\n\n{ARX}\n\n{markdown_table(head, rows)}"


def measured(table: Table, model: Model, name: str) -> tuple[str, ...]:
    """Return the row of one guarantee."""
    started = time.process_time()
    recoding = method_for(model, name)[1](table, model, Circumstances(Randomness(1)))
    seconds = time.process_time() - started
    left_out = ("k", "enhanced", "delta_min", "population", "ground_distance")
    own = {key: value for key, value in model.parameters.items() if key not in left_out}
    words = ", ".join(f"{key} = {value:g}" for key, value in own.items())
    words += " (enhanced)" if model.parameters.get("enhanced") else ""
    classes = int(recoding.box.max()) + 1
    return f"`{model.name}`", words, f"`{name}`", f"{gcp(recoding):.4f}", f"{classes:,}", f"{seconds:.1f}"


def main() -> None:
    """Measure and write the results page."""
    frame = adult()
    schema = Schema.infer(
        frame, quasi=[q for q in ADULT_QUASI if q != "occupation"], sensitive=["occupation"]
    )
    table = Table.encode(frame, schema)
    people = frame.select(ADULT_QUASI)
    sample = Table.encode(frame.sample(SAMPLE, seed=1), Schema.infer(frame, quasi=ADULT_QUASI))
    beside: list[Model] = [
        KAnonymity(k=K),
        KMap(k=K, population=people),
        DeltaPresence(delta_max=0.2, population=people),
        DeltaPresence(delta_max=0.5, population=people),
    ]
    head = ("model", "guarantee", "method", "GCP", "classes", "processor seconds")
    text = "\n\n".join(
        (
            "# Likeness",
            f"Adult, 30,162 complete training records, k = {K}: occupation, with 14 values, is sensitive, "
            "and the other seven of the eight columns are quasi-identifiers. Distances of occupations are 0 "
            "or 1. The rarest occupation has 9 records, so delta-disclosure, which asks for every value in "
            "every class, has 9 classes at most.",
            markdown_table(head, [measured(table, *each) for each in GUARANTEES]),
            beside_arx(frame),
            "## Populations",
            f"A random sample of {SAMPLE:,} of these records, all eight quasi-identifiers. The population is "
            "Adult, with all 30,162 records.",
            markdown_table(head, [measured(sample, model, "mondrian") for model in beside]),
        )
    )
    write_page("likeness", text, {})


if __name__ == "__main__":
    main()
