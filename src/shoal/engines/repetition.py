"""The attack that runs a method again, on any table and model."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.engines.local import anonymize
from shoal.engines.rerunning import RepeatedAttack, run_again
from shoal.methods import Progress, silent
from shoal.models import Model
from shoal.release import Release
from shoal.schema import Schema


def repeated_attack(
    frame: IntoDataFrame,
    schema: Schema,
    model: Model,
    *,
    method: str | None = None,
    training: int = 200,
    tests: int = 100,
    seed: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> RepeatedAttack:
    """Measure the gain of an attacker who has the code and knows the quasi-identifiers of every record.

    In each run the sensitive values are assigned to the records at random, since to the attacker all
    assignments are equally likely, and a release is made. In training, the attacker counts which records rows
    like each one carry, and which value each person has in releases like each one. In each test, the attacker
    guesses the row and the values of each person. A release that is recognized as a whole gives the exact
    posterior probability, up to sampling error. On tables of more than about ten records most releases are
    not recognized, and rows are judged one by one. The result is a lower bound: another attack may find more.

    Parameters
    ----------
    frame, schema, model, method, **options
        As for `shoal.anonymize`. Each record counts as a person. For tables of at most 5,000
        records; time grows with the number of runs.
    training, tests
        The number of runs to learn from, and of runs to guess in.
    seed
        Makes the result repeatable.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.

    Returns
    -------
    RepeatedAttack
        The share of right guesses, about rows and about values.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(20)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> found = shoal.repeated_attack(patients, schema, shoal.Freeform(k=4), training=20, tests=10, seed=1)
    >>> found.row.right < 0.6
    True
    """

    def make(dealt: Any, own_seed: int | None) -> Release[Any]:
        return anonymize(dealt, schema, model, method=method, seed=own_seed, **options)

    whole = nw.from_native(frame, eager_only=True)
    return run_again(whole, schema, make, training=training, tests=tests, seed=seed, progress=progress)
