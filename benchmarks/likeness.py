"""t-closeness, beta-likeness and delta-disclosure on Adult: what each loses, and how long it takes."""

from __future__ import annotations

import time

from benchmarks.harness import ADULT_QUASI, adult, markdown_table, write_page
from shoal import BetaLikeness, DeltaDisclosure, KAnonymity, Schema, TCloseness
from shoal.base.randomness import Randomness
from shoal.measures.gcp import gcp
from shoal.methods import Circumstances, method_for
from shoal.models import Model
from shoal.table import Table

K = 10
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
    own = {key: value for key, value in model.parameters.items() if key not in ("k", "enhanced")}
    words = ", ".join(f"{key} = {value:g}" for key, value in own.items())
    classes = int(recoding.box.max()) + 1
    return f"`{model.name}`", words, f"`{name}`", f"{gcp(recoding):.4f}", f"{classes:,}", f"{seconds:.1f}"


def main() -> None:
    """Measure and write the results page."""
    frame = adult()
    schema = Schema.infer(
        frame, quasi=[q for q in ADULT_QUASI if q != "occupation"], sensitive=["occupation"]
    )
    table = Table.encode(frame, schema)
    head = ("model", "guarantee", "method", "GCP", "classes", "processor seconds")
    text = "\n\n".join(
        (
            "# Likeness",
            f"Adult, 30,162 complete training records, k = {K}: occupation, with 14 values, is sensitive, "
            "and the other seven of the eight columns are quasi-identifiers. Distances of occupations are 0 "
            "or 1. The rarest occupation has 9 records, so delta-disclosure, which asks for every value in "
            "every class, has 9 classes at most.",
            markdown_table(head, [measured(table, *each) for each in GUARANTEES]),
        )
    )
    write_page("likeness", text, {})


if __name__ == "__main__":
    main()
