"""Inference: the sensitive value of a record, guessed from its quasi-identifiers and the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.rates import Rate
from shoal.attacking.results import AttackResult
from shoal.attacking.scene import Scene
from shoal.auditing.crowds import Histograms
from shoal.auditing.links import Links, links_of
from shoal.auditing.posterior import Labels, value_chances

MOST_RECORDS = 100_000
"""In larger tables, the probabilities of links are not computed."""
DRAWS = 300
"""How many independent draws of a matching the probabilities of links should be worth."""
MOST_WALKS = 2**10
"""Chains that need more walks than this are not waited for: results do not depend on the machine's speed."""
MOST_STATES = 2**16
"""In components with at most this many states, matchings are counted."""


def inference(scene: Scene, confidence: float, seconds: float = 0.0) -> Iterator[AttackResult]:
    """Yield how often each sensitive value is guessed right.

    The attacker considers every way to match rows and known records equally likely, and guesses the likeliest
    value. Where these probabilities are not found in time, the attacker weighs the rows that can be the
    target's, each by one over the number of records that it can belong to. Where no row covers the target,
    rows that cover it in most columns count. Without the release, the attacker guesses the most frequent
    value of the original.

    Parameters
    ----------
    scene
        The release, and what the attacker knows.
    confidence
        The confidence of the intervals.
    seconds
        How long probabilities may be sampled; 0 leaves them out.
    """
    links = links_in(scene, seconds) if scene.labels else None
    for labels in scene.labels:
        guesses = guessed_values(scene, labels)
        if links is not None:
            likeliest = likeliest_values(scene, labels, links)
            targets = np.concatenate((scene.members, scene.control))
            guesses[targets] = np.where(likeliest[targets] >= 0, likeliest[targets], guesses[targets])
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


def links_in(scene: Scene, seconds: float) -> Links | None:
    """Return how likely each row is each known record's; None if there is no time, or too many records."""
    if seconds <= 0 or len(scene.codes) > MOST_RECORDS or scene.matches.unmatched_rows:
        return None
    limits: dict[str, Any] = {
        "seconds": seconds,
        "draws": DRAWS,
        "most_states": MOST_STATES,
        "most_walks": MOST_WALKS,
    }
    return links_of(scene.release.graph, scene.matches, **limits, randomness=scene.randomness)


def likeliest_values(scene: Scene, labels: Labels, links: Links) -> NDArray[np.int64]:
    """Return the likeliest value of each record; -1 where that is not known."""
    graph, values = scene.release.graph, _values(labels)
    target = np.concatenate((graph.row_type, len(graph.boxes) + scene.matches.component_of_row))
    record, value, chance = value_chances(links, target, np.tile(labels.of_row, 2), values)
    # Of values that are equally likely, one is drawn, the same way for all targets.
    tie = scene.randomness.permutation(values)[value]
    order = np.lexsort((tie, np.round(chance.mean(axis=1), 12), record))
    last = order[np.append(np.diff(record[order]) > 0, True)] if len(order) else order
    likeliest = np.full(len(links.records_of), -1, dtype=np.int64)
    likeliest[record[last]] = value[last]
    likeliest[links.refused] = -1
    return likeliest[graph.record_type]


def _values(labels: Labels) -> int:
    """Return the number of different values."""
    return int(max(labels.of_row.max(), labels.of_record.max())) + 1


def guessed_values(scene: Scene, labels: Labels) -> NDArray[np.int64]:
    """Return the value that most weight of rows speaks for, for each target; -1 for other records."""
    types, values = len(scene.rows), _values(labels)
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
