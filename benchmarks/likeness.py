"""Models of other tools on Adult, by the whole or by a population: what each loses, and how long it takes."""

from __future__ import annotations

import time

from benchmarks.beside_arx import beside_arx
from benchmarks.harness import ADULT_QUASI, adult, markdown_table, write_page
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
            beside_arx(frame, measured),
            "## Populations",
            f"A random sample of {SAMPLE:,} of these records, all eight quasi-identifiers. The population is "
            "Adult, with all 30,162 records.",
            markdown_table(head, [measured(sample, model, "mondrian") for model in beside]),
        )
    )
    write_page("likeness", text, {})


if __name__ == "__main__":
    main()
