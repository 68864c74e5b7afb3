"""Inference: the sensitive value of a record, guessed from its quasi-identifiers and the release."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.rates import Rate
from shoal.attacking.results import AttackResult
from shoal.attacking.scene import Scene
from shoal.auditing.crowds import Histograms
from shoal.auditing.posterior import Labels


def inference(scene: Scene, confidence: float) -> Iterator[AttackResult]:
    """Yield how often each sensitive value is guessed right.

    The attacker weighs the rows that can be the target's, each by one over the number of records that it can
    belong to, and guesses the value of most weight. Where no row covers the target, rows that cover it in
    most columns count. Without the release, the attacker guesses the most frequent value of the original.
    """
    for labels in scene.labels:
        guesses = guessed_values(scene, labels)
        right = guesses == labels.of_record
        usual = np.bincount(labels.of_record[scene.is_member]).argmax()
        yield AttackResult(
            "inference",
            f"The attacker guesses {labels.column} from the quasi-identifiers of a record, by the released "
            "rows that can be its own.",
            Rate.of(right[scene.members], confidence),
            Rate.of(right[scene.control], confidence) if len(scene.control) else None,
            Rate.of(labels.of_record[scene.members] == usual, confidence),
            labels.column,
        )


def guessed_values(scene: Scene, labels: Labels) -> NDArray[np.int64]:
    """Return the value that the attacker guesses for each target; -1 for other records."""
    types, values = len(scene.rows), int(max(labels.of_row.max(), labels.of_record.max())) + 1
    graph, matches = scene.release.graph, scene.matches
    shown = Histograms.of(types, graph.row_type, labels.of_row, np.ones(len(labels.of_row), dtype=np.int64))
    component, belongs = np.empty(types, dtype=np.int64), np.empty(types)
    component[graph.row_type] = matches.component_of_row
    belongs[graph.row_type] = np.maximum(matches.matches_of_row, 1)
    guesses = np.full(len(scene.codes), -1, dtype=np.int64)
    for some in scene.stretches(np.concatenate((scene.members, scene.control)), len(shown.crowd)):
        agreed = scene.rows.conditions(scene.codes[some])
        covers = agreed == scene.codes.shape[1]
        own = covers & (component == matches.component_of_record[some, None])
        weight = np.where(own.any(axis=1, keepdims=True), own, covers) / belongs
        none = ~covers.any(axis=1)
        weight[none] = agreed[none] == agreed[none].max(axis=1, keepdims=True)
        each = weight[:, shown.crowd] * shown.count
        place = np.arange(len(some))[:, None] * values + shown.value
        scores = np.bincount(place.ravel(), each.ravel(), len(some) * values).reshape(len(some), values)
        # Of values with the same score, one is drawn, the same way for all targets.
        order = scene.randomness.permutation(values)
        guesses[some] = order[np.round(scores, 12)[:, order].argmax(axis=1)]
    return guesses
