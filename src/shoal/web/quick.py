"""Quick runs that publish nothing: models, methods and k side by side, and what a limit costs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.base.wording import plural
from shoal.engines.advice import CrowdCost, cost_of_crowd
from shoal.engines.comparison import PROVERS, ComparedRun, Comparison
from shoal.engines.local import anonymize_table
from shoal.engines.runs import options_for
from shoal.errors import InputError, Reason, ShoalError
from shoal.kinds.limits import read_widest
from shoal.methods import METHODS, Progress, is_baseline
from shoal.models import MODELS, Model, declarations, is_required, make_model, suitable
from shoal.report.chart import Chart, axis, values
from shoal.report.panel import percent
from shoal.schema import Column, Schema
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.web.tasks import Source

QUICK = {"effort": "fast"}
"""The options of quick runs, for the methods that have them."""


def comparable(schema: Schema) -> list[type[Model]]:
    """Return the models that can be tried with a k and nothing more."""
    return [
        model
        for model in suitable(schema)
        if [name for name, _, own in declarations(model) if is_required(own)] == ["k"]
    ]


def try_several(
    source: Source,
    schema: Schema,
    models: Sequence[str],
    ks: Sequence[int],
    parameters: Mapping[str, Any],
    wanted: int,
    every_method: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Try models, methods and k on a table; return all runs, a chart and a recommendation.

    Parameters
    ----------
    source, schema
        The table and its columns.
    models, ks
        The names of the models, and the crowd sizes.
    parameters
        Further parameters, such as ``l``, for the models that have them.
    wanted
        The k for which a run is recommended; if it was not tried, the next larger one.
    every_method
        Whether all methods of a model are tried, except baselines, or only its default.
    """
    progress("reading the file", 0.0)
    table = Table.encode(source.read(), schema)
    ks = [k for k in ks if k <= len(table)]
    ways = [
        (model, method, k) for model in models for method in _methods(model, every=every_method) for k in ks
    ]
    runs = []
    for number, (model, method, k) in enumerate(ways):
        progress(f"run {number + 1} of {len(ways)}: {model}, {method}, k = {k}", number / len(ways))
        runs.append(_run(table, model, method, k, parameters))
    made = [run for run in runs if run.gcp is not None]
    best = Comparison(tuple(runs)).best(nearest_k([run.k for run in made], wanted)) if made else None
    return {
        "runs": [_plain(run, recommended=run is best) for run in runs],
        "words": _recommendation(best, made) if best is not None else "",
        "chart": _chart(made).html() if made else "",
        "parameters": dict(parameters),
    }


def nearest_k(tried: Sequence[int], wanted: int) -> int:
    """Return which k to recommend: the wanted one, the next larger one, or the largest that was tried."""
    return min((k for k in tried if k >= wanted), default=max(tried))


def narrower(
    source: Source, schema: Schema, name: str, widest: float | str, k: int, model: str, progress: Progress
) -> dict[str, Any]:
    """Return what it costs to keep the cells of a column no wider than a limit, in words.

    Parameters
    ----------
    source, schema
        The table and its columns.
    name, widest
        The column, and the limit.
    k, model
        The crowd size and the model of the quick runs.
    """
    progress("reading the file", 0.0)
    frame = source.read()
    before = cost_of_crowd(Table.encode(frame, schema), k, model)
    progress("trying the limit", 0.5)
    limited = [replace(each, widest=widest) if each.name == name else each for each in schema]
    table = Table.encode(frame, Schema(tuple(limited)))
    after = cost_of_crowd(table, k, model)
    return {
        "words": _cost_words(name, widest, before, after, len(table)),
        "left_out": after.left_out,
        "possible": after.gcp is not None,
    }


def _methods(model: str, *, every: bool) -> list[str]:
    known = METHODS[MODELS[model]]
    usable = [name for name, each in known.items() if not is_baseline(each) and name not in PROVERS]
    return usable if every else usable[:1]


def _run(table: Table, name: str, method: str, k: int, parameters: Mapping[str, Any]) -> ComparedRun:
    """Make a release and forget it."""
    known = [each for each, _, _ in declarations(MODELS[name])]
    given = {each: value for each, value in parameters.items() if each in known}
    started = time.perf_counter()
    options: dict[str, Any] = {}
    try:
        model = make_model(name, {"k": k, **given})
        options = options_for(model, method, QUICK)
        release = anonymize_table(table, model, method=method, **options)
    except ShoalError as error:
        seconds = time.perf_counter() - started
        return ComparedRun(name, method, k, options, None, seconds, error.reason.value, str(error))
    seconds = time.perf_counter() - started
    return ComparedRun(name, method, k, options, release.certificate, seconds, None, None)


def _plain(run: ComparedRun, *, recommended: bool) -> dict[str, Any]:
    names = ("model", "method", "k", "gcp", "risk", "seconds", "message", "attacker")
    return {**{name: getattr(run, name) for name in names}, "recommended": recommended}


def _recommendation(best: ComparedRun, made: Sequence[ComparedRun]) -> str:
    """Return which run is best for its k, what others lose, and what another k would."""
    others = [run for run in made if run is not best]
    equal = [run for run in others if run.k == best.k]
    same = [run for run in others if (run.model, run.method) == (best.model, best.method)]
    words = [
        f"{best.model} with the method {best.method} and k = {best.k} loses {percent(best.gcp or 0)} of the "
        f"information, and an attacker picks the right row with a probability of at most "
        f"{percent(best.risk or 0)}."
    ]
    if equal:
        listed = ", ".join(f"{run.model} with {run.method} loses {percent(run.gcp or 0)}" for run in equal)
        words.append(f"With the same k, {listed}.")
    weaker = sorted({run.model for run in equal if run.weakness > best.weakness})
    if weaker:
        words.append(f"{', '.join(weaker)} protects against a weaker attacker only.")
    if same:
        listed = ", ".join(f"{percent(run.gcp or 0)} with k = {run.k}" for run in same)
        words.append(f"The same model and method would lose {listed}.")
    return " ".join(words)


def _chart(made: Sequence[ComparedRun]) -> Chart:
    """Return the plot of risk against loss, a point for each run."""
    points = [
        {"way": f"{run.model}, {run.method}", "k": f"k = {run.k}", "risk": run.risk, "gcp": run.gcp}
        for run in made
    ]
    x = axis("risk", "quantitative", "highest risk", axis={"format": "~%", "tickCount": 4})
    y = axis("gcp", "quantitative", "information loss (GCP)", axis={"format": "~%", "tickCount": 5})
    text = {"type": "text", "style": "label", "align": "left", "dx": 7}
    described = "; ".join(
        f"{run.model}, {run.method}, k = {run.k}: risk {percent(run.risk or 0)}, loss {percent(run.gcp or 0)}"
        for run in made
    )
    return Chart(
        "tried",
        "Risk against information loss",
        f"A point for each run. {described}.",
        {
            "data": values(points),
            "width": 360,
            "height": 260,
            "encoding": {"x": x, "y": y},
            "layer": [
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                    "encoding": {"color": axis("way", "nominal", "model and method")},
                },
                {"mark": text, "encoding": {"text": {"field": "k"}}},
            ],
        },
    )


def _cost_words(name: str, widest: float | str, before: CrowdCost, after: CrowdCost, records: int) -> str:
    if before.gcp is None:
        return f"With k = {before.k}, no release is possible within the limits that the columns already have."
    if after.gcp is None:
        return f"With k = {after.k}, no release is possible in which {name} is no wider than {widest}."
    left = round(after.left_out * records)
    leaving = "no record has"
    if left:
        leaving = f"{plural(left, 'record')} ({percent(after.left_out)}) would have"
    return (
        f"To keep {name} within {widest}, with k = {after.k}, {leaving} to be left out. All in all "
        f"{percent(after.gcp)} of the information would be lost instead of {percent(before.gcp)}; in {name}, "
        f"{percent(after.by_attribute[name])} instead of {percent(before.by_attribute[name])}. These are "
        "figures of quick runs."
    )


def limit_of(column: Column, entered: str) -> float | str:
    """Return the widest cell of a column as it is entered: a number, or a text such as ``6 months``.

    Raises
    ------
    InputError
        If the column cannot have this limit.
    """
    if not entered.strip():
        raise InputError("Enter a width, such as 10.", reason=Reason.PARAMETER)
    return replace(column, widest=read_widest(entered)).widest or 0
