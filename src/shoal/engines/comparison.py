"""Models, methods and k side by side on one table: information loss, risk and time of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.wording import plural
from shoal.engines.runs import Outcome, PlannedRun, compare_runs, options_for
from shoal.errors import InputError, Reason, ShoalError, did_you_mean, listing
from shoal.measures import headlines
from shoal.methods import METHODS, Progress, options_of, silent
from shoal.models import (
    Freeform,
    KAnonymity,
    Model,
    declarations,
    in_order,
    make_model,
    model_named,
    usual_model,
)
from shoal.schema import Schema

DEFAULT_K = (2, 5, 10, 50)
PROVERS = ("exact",)
"""Methods for small tables, compared only if they are named."""


@dataclass(frozen=True)
class ComparedRun:
    """A run with a model, a method and a k, and its outcome.

    Parameters
    ----------
    model, method
        Their names.
    k
        Minimum crowd size.
    options
        Options of the method.
    certificate
        The certificate of the release; None if there is none.
    seconds
        Time that the run took.
    reason, message
        Why there is no release, as a code and in words.
    queries
        The errors of answers from the release; None if no questions were asked.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> found = shoal.compare(patients, schema, k=5, model="k-anonymity", method="mondrian", jobs=1)
    >>> found.runs[0].gcp < 0.5
    True
    """

    model: str
    method: str
    k: int
    options: Mapping[str, Any]
    certificate: Mapping[str, Any] | None
    seconds: float
    reason: str | None
    message: str | None
    queries: Mapping[str, Any] | None = None

    @property
    def query_error(self) -> float | None:
        """Median error of counts that a reader estimates from the release; None if none were asked for."""
        return None if self.queries is None else float(self.queries["median"])

    @property
    def gcp(self) -> float | None:
        """Information loss by GCP; None if there is no release."""
        figure: float | None = self.figure("gcp")
        return figure

    def figure(self, measure: str) -> Any:
        """Return the figure of a measure of information loss, by its name; None if there is none."""
        return None if self.certificate is None else self.certificate["loss"].get(measure)

    @property
    def concealment(self) -> int | None:
        """Number of matches of the record that has the fewest; None if there is no release."""
        return None if self.certificate is None else self.certificate["audit"]["concealment"]

    @property
    def risk(self) -> float | None:
        """Highest risk that an attacker picks the row of a record; None if there is no release."""
        if self.certificate is None:
            return None
        return float(self.certificate["audit"]["risks"]["prosecutor"]["highest"])

    @property
    def attacker(self) -> str:
        """Against which attacker the model protects, in words."""
        return model_named(self.model).attacker()

    @property
    def weakness(self) -> int:
        """0 for models that protect against an attacker who knows every record, more for weaker ones."""
        model = model_named(self.model)
        return (model.attacker() != Model.attacker()) + bool(model.not_to_publish)

    @property
    def outcome(self) -> str:
        """What it lost and the risk that is left, or why there is no release, in words."""
        if self.gcp is None or self.risk is None:
            return str(self.message)
        return f"GCP {self.gcp:.4f}, highest risk {self.risk:.1%}, {self.seconds:.1f} s"

    def as_dict(self) -> dict[str, Any]:
        """Return the run as plain data."""
        return {
            "attacker": self.attacker,
            "model": self.model,
            "method": self.method,
            "k": self.k,
            "way": f"{self.model}, {self.method}",
            **{each.name: self.figure(each.name) for each in headlines()},
            "query_error": self.query_error,
            "queries": self.queries,
            "concealment": self.concealment,
            "risk": self.risk,
            "seconds": self.seconds,
            "reason": self.reason,
            "message": self.message,
            "certificate": self.certificate,
        }


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Parameters
    ----------
    runs
        Every combination of model, method and k that was tried, also those that failed; models that protect
        against a weaker attacker last.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> found = shoal.compare(patients, schema, k=5, model="k-anonymity", method="mondrian", jobs=1)
    >>> found.best().method
    'mondrian'
    """

    runs: tuple[ComparedRun, ...]

    def __repr__(self) -> str:
        lines = (f"  {run.model}, {run.method}, k = {run.k}: {run.outcome}" for run in self.runs)
        return "\n".join((f"Comparison of {plural(len(self.runs), 'run')}", *lines))

    def best(self, k: int | None = None) -> ComparedRun | None:
        """Return the run that loses least for a k, among those that protect against the strongest attacker.

        Models that protect against a weaker attacker lose less for that reason alone.

        Parameters
        ----------
        k
            The largest k that any run reached if None. If no run reached it, all runs are considered.

        Returns
        -------
        ComparedRun or None
            None if no run made a release.
        """
        made = [(run.gcp, run) for run in self.runs if run.gcp is not None]
        if not made:
            return None
        wanted = max(run.k for _, run in made) if k is None else k
        at_k = [each for each in made if each[1].k == wanted] or made
        return min(at_k, key=lambda each: (each[1].weakness, each[0]))[1]


def compare(
    frame: IntoDataFrame,
    schema: Schema,
    *,
    k: int | Sequence[int] = DEFAULT_K,
    model: str | Sequence[str] | None = None,
    method: str | Sequence[str] | None = None,
    limit: float | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Comparison:
    """Try several models, methods and k on one table; keep no release.

    Parameters
    ----------
    frame, schema, seed, progress
        As for `anonymize`; the seed makes each run repeatable.
    k
        Minimum crowd sizes.
    model
        Names of privacy models; if omitted, the default of such a table, with ``freeform`` also `KAnonymity`.
    method
        Names of methods; all that keep these models if omitted, without those for small tables only.
    limit
        Time limit of a run in seconds; None for no limit.
    jobs
        Number of runs at a time; one for each core if omitted.
    **options
        Parameters of models, such as ``l``, and options of methods, such as ``effort``, for those that have
        them.

    Returns
    -------
    Comparison
        All runs by model, method and k, also those that failed or took too long.

    Raises
    ------
    InputError
        If a model, a method or an option is unknown, or a number is not possible.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(60)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> found = shoal.compare(patients, schema, k=[2, 5], model="k-anonymity", method="mondrian", jobs=1)
    >>> [(run.method, run.k) for run in found.runs]
    [('mondrian', 2), ('mondrian', 5)]
    """
    schema = Schema.of(schema)
    for name, value in (("limit", limit), ("jobs", jobs)):
        if value is not None and value <= 0:
            raise InputError(f"{name} = {value:g} is not above 0", reason=Reason.PARAMETER, parameter=name)
    names = _named(model) or _usual_models(usual_model(schema).name)
    parameters, choices = _split(options)
    ways = _ways(names, _named(method), _sizes(k))
    plans = [_planned(*way, parameters, choices) for way in ways]
    runs = [plan for plan in plans if isinstance(plan, PlannedRun)]
    made = iter(compare_runs(frame, schema, runs, seed=seed, limit=limit, jobs=jobs, progress=progress))
    outcomes = [next(made) if isinstance(plan, PlannedRun) else plan for plan in plans]
    compared = map(_compared, ways, plans, outcomes)
    return Comparison(tuple(sorted(compared, key=lambda run: run.weakness)))


def _named(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _sizes(k: int | Sequence[int]) -> list[int]:
    """Return the k to try, of which there must be one at least."""
    given: list[Any] = list(k) if isinstance(k, Iterable) else [k]
    if not given or not all(isinstance(each, Integral) and not isinstance(each, bool) for each in given):
        raise InputError(
            f"k = {k!r} is not allowed; it must be a whole number, or a list of them, such as [5, 10]",
            reason=Reason.PARAMETER,
            parameter="k",
        )
    return [int(each) for each in given]


def _usual_models(usual: str) -> list[str]:
    """Return the models that are compared if none is named."""
    return [usual, KAnonymity.name] if usual == Freeform.name else [usual]


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return which options are parameters of models, and which are options of methods."""
    of_models = {name for each in in_order() for name, _, _ in declarations(each)}
    of_methods = {
        name for methods in METHODS.values() for function in methods.values() for name in options_of(function)
    }
    for name in options:
        if name not in of_models | of_methods:
            raise InputError(
                f"no model and no method has an option {name!r}"
                f"{did_you_mean(name, sorted(of_models | of_methods))}",
                reason=Reason.PARAMETER,
                parameter=name,
            )
    return (
        {name: value for name, value in options.items() if name in of_models},
        {name: value for name, value in options.items() if name not in of_models},
    )


def _ways(models: Sequence[str], methods: Sequence[str], ks: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return all combinations of model, method and k, with the methods that each model has."""
    known = {name: METHODS[model_named(name)] for name in models}
    every = [method for of_model in known.values() for method in of_model]
    for method in methods:
        if method not in every:
            raise InputError(
                f"no method {method!r} keeps any of these models{did_you_mean(method, every)}; "
                f"there is {listing(every)}",
                reason=Reason.PARAMETER,
                parameter="method",
            )
    return [
        (model, method, k)
        for model, of_model in known.items()
        for method in of_model
        for k in ks
        if (method in methods if methods else method not in PROVERS)
    ]


def _planned(
    model: str, method: str, k: int, parameters: Mapping[str, Any], choices: Mapping[str, Any]
) -> PlannedRun | Outcome:
    """Return the run, or the outcome of one that is not possible."""
    try:
        made = make_model(model, {"k": k, **parameters})
        return PlannedRun(made, method, options_for(made, method, choices))
    except ShoalError as error:
        return Outcome(None, error.reason.value, str(error), 0.0)


def _compared(way: tuple[str, str, int], plan: PlannedRun | Outcome, outcome: Outcome) -> ComparedRun:
    found = outcome.certificate
    return ComparedRun(
        *way,
        options=plan.options if isinstance(plan, PlannedRun) else {},
        certificate=found,
        seconds=outcome.seconds if found is None else found["seconds"],
        reason=outcome.reason,
        message=outcome.message,
        queries=outcome.query_error,
    )
