"""What a model learns from a release: models are trained on drawn tables and on the original, and tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.distribution import require
from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason, unknown_column
from shoal.kinds.encoding import to_polars
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from shoal.reading import Reader
    from shoal.table import Table

TABLES = 5
"""The number of drawn tables; predictions are averaged over them."""
TESTED = 0.25
"""The share of the records that no model is trained on."""
MOST_RECORDS = 50_000
"""Of larger tables, this many records are used."""
FEWEST = 40
"""The minimum number of records to train and test with."""
MOST_CLASSES = 20
"""Numbers with more different values are predicted as numbers."""
MOST_LABELS = 30
"""The maximum number of values of a column that models can tell apart, the most frequent ones."""

Floats = NDArray[np.float64]
_Frames = Sequence[pl.DataFrame]
_LEARNERS = ("gradient boosting", "linear model")


@dataclass(frozen=True)
class Learned:
    """How well a column is predicted by models that were trained on a release.

    Parameters
    ----------
    target
        The column that is predicted.
    score
        ``AUC`` for classes (the mean over the classes if there are several), ``R2`` for numbers.
    trained, tested
        The numbers of records that models were trained and tested with.
    learners
        For each kind of model its name (``learner``), and its score if it is trained on the ``original`` and
        on the ``release``.
    """

    target: str
    score: str
    trained: int
    tested: int
    learners: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def require_learnable(table: Table, target: str) -> None:
    """Raise an error if no model can be trained to predict a column.

    Raises
    ------
    InputError
        If the column is not released or has items, if it has too few values, or if scikit-learn is missing.
    """
    released = {column.name: column for column in table.schema if column.role.released}
    if target not in released:
        raise unknown_column(target, list(released), "the release")
    require("sklearn", "learning", "training a model")
    values = to_polars(table.frame[target]).drop_nulls()
    if released[target].kind.several or len(values) < FEWEST or values.n_unique() < 2:
        raise InputError(
            f"no model can be trained to predict {target!r}: the column needs one value for each record, at "
            f"least two different values, and {FEWEST} records",
            reason=Reason.BAD_VALUE,
            column=target,
        )


def learned(
    reader: Reader, table: Table, order: NDArray[np.int64], target: str, randomness: Randomness
) -> Learned:
    """Train models on a release and on its original, and test both on original records they have not seen.

    A quarter of the records is kept for the test. Models of the release are trained on tables that its reader
    draws, without the rows that carry the values of these records.

    Parameters
    ----------
    reader
        The reader of the release.
    table
        The original.
    order
        The record whose other columns each released row carries.
    target
        The column that is predicted; see `require_learnable`.
    randomness
        Where the choice of the tested records and the draws come from.
    """
    generator = np.random.default_rng(randomness.words(4))
    names = [c.name for c in table.schema if c.role.released and not c.kind.several]
    original = pl.DataFrame([to_polars(table.frame[name]).rename(name) for name in names])
    known = np.flatnonzero(original[target].is_not_null().to_numpy())
    chosen = generator.permutation(known)[:MOST_RECORDS]
    tested = np.sort(chosen[: max(round(TESTED * len(chosen)), 1)])
    trained = np.sort(chosen[len(tested) :])
    rows = np.flatnonzero(np.isin(order, trained))
    drawn = reader.draw(TABLES, seed=int(generator.integers(2**31)), flavour="polars")
    tables = [each.select(names)[rows].filter(pl.col(target).is_not_null()) for each in drawn]
    task = _LearningTask.of(original[trained], table.schema, target)
    test = original[tested]
    with _one_thread():
        learners = tuple(
            {
                "learner": name,
                "original": task.score(name, [original[trained]], test),
                "release": task.score(name, tables, test),
            }
            for name in _LEARNERS
        )
    return Learned(target, "R2" if task.numeric else "AUC", len(trained), len(tested), learners)


def _one_thread() -> AbstractContextManager[Any]:
    """Return a context in which models are trained by one thread.

    On a busy machine, several threads wait for each other far longer than they compute.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn needs it, so it is there

    limits: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limits


@dataclass(frozen=True)
class _LearningTask:
    """A column to predict from others, as numbers that models take.

    Parameters
    ----------
    columns
        The columns to predict from, each with the values that models can tell apart; None for numbers.
    target
        The column to predict.
    numeric
        Whether a number is predicted instead of a class.
    """

    columns: tuple[tuple[Column, tuple[str, ...] | None], ...]
    target: Column
    numeric: bool

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema, target: str) -> _LearningTask:
        columns = []
        for name in frame.columns:
            if name == target:
                continue
            line = _on_a_line(frame[name], schema[name])
            counted = frame[name].cast(pl.String).drop_nulls().value_counts(sort=True)
            labels = None if line is not None else tuple(counted.head(MOST_LABELS)[name].to_list())
            columns.append((schema[name], labels))
        goal = schema[target]
        numeric = goal.kind.numeric and frame[target].n_unique() > MOST_CLASSES
        return cls(tuple(columns), goal, numeric)

    def score(self, learner: str, tables: _Frames, test: pl.DataFrame) -> float:
        """Return how well models predict the records of a test that are trained on some tables."""
        from sklearn.metrics import r2_score, roc_auc_score  # late: only with the extra

        goals = self._goals(test)
        models = [self._maker(learner)().fit(self._features(each), self._goals(each)) for each in tables]
        features = self._features(test)
        if self.numeric:
            return round(float(r2_score(goals, np.mean([each.predict(features) for each in models], 0))), 4)
        chances: dict[Any, Floats] = {}
        for model in models:
            for place, value in enumerate(model.classes_):
                chance = model.predict_proba(features)[:, place] / len(models)
                chances[value] = chances.get(value, np.zeros(len(test))) + chance
        values, counts = np.unique(goals, return_counts=True)
        if len(values) == 2:
            values, counts = values[1:], counts[1:]
        areas = [roc_auc_score(goals == each, chances.get(each, np.zeros(len(test)))) for each in values]
        return round(float(np.average(areas, weights=counts)), 4)

    def _maker(self, learner: str) -> Callable[[], Any]:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if learner == _LEARNERS[0]:
            boosting = HistGradientBoostingRegressor if self.numeric else HistGradientBoostingClassifier
            return lambda: boosting(random_state=0)
        linear = Ridge if self.numeric else lambda: LogisticRegression(max_iter=1000)
        return lambda: make_pipeline(StandardScaler(), linear())

    def _goals(self, frame: pl.DataFrame) -> NDArray[Any]:
        values = frame[self.target.name]
        if self.numeric:
            return np.asarray(_on_a_line(values, self.target), dtype=np.float64)
        return values.cast(pl.String).to_numpy()

    def _features(self, frame: pl.DataFrame) -> Floats:
        parts = []
        for column, labels in self.columns:
            values = frame[column.name]
            if labels is None:
                line = np.asarray(_on_a_line(values, column), dtype=np.float64)
                missing = np.isnan(line)
                middle = np.median(line[~missing]) if not missing.all() else 0.0
                parts += [np.where(missing, middle, line), missing.astype(np.float64)]
            else:
                texts = values.cast(pl.String)
                parts += [(texts == each).fill_null(False).to_numpy().astype(np.float64) for each in labels]
        return np.column_stack(parts) if parts else np.zeros((len(frame), 1))


def _on_a_line(values: pl.Series, column: Column) -> Floats | None:
    """Return values as numbers, missing ones as NaN; None if they have no order."""
    line = column.kind.on_a_line(values, column) if column.kind.ordered or column.kind.numeric else None
    return None if line is None else line.cast(pl.Float64, strict=False).to_numpy()
