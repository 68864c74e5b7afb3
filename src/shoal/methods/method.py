"""What every method is: a function from a table and a model to a recoding, with options declared in place."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args, get_origin

from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.table import Table

Progress = Callable[[str, float], None]
"""Called with the current stage and the share of it that is done; may raise to cancel the run."""


def silent(stage: str, share: float) -> None:
    """Report progress nowhere."""


@dataclass(frozen=True)
class Circumstances:
    """What a method may use besides the table and the model.

    Parameters
    ----------
    randomness
        The only source of random choices.
    progress
        Called to report progress.
    notes
        Notes for the user, in plain words, although the guarantee holds.
    """

    randomness: Randomness = field(default_factory=Randomness)
    progress: Progress = silent
    notes: list[str] = field(default_factory=list)


class Method(Protocol):
    """A function ``method(table, model, circumstances, /, *, options...)`` that keeps a model's guarantee.

    It returns a recoding of the table, or raises `InfeasibleError` with what is achievable instead. Options
    are keyword-only arguments with defaults, annotated with an `Option` that says what they mean.
    """

    @property
    def __name__(self) -> str: ...
    @property
    def __module__(self) -> str: ...  # type: ignore[override]

    def __call__(
        self, table: Table, model: Any, circumstances: Circumstances, /, *args: Any, **options: Any
    ) -> Recoding:
        """Return a recoding of the table that keeps the guarantee."""


@dataclass(frozen=True)
class Option:
    """What an option of a method means.

    Parameters
    ----------
    help
        What it does, in one sentence.
    above
        Numbers must be larger than this.
    """

    help: str
    above: float = -math.inf


Effort = Annotated[
    Literal["fast", "balanced", "best"], Option("How long to search for less information loss.")
]
"""`fast` takes the least time, `balanced` is the default, `best` searches longest for less loss."""

Seconds = Annotated[float, Option("Time limit for proving the optimum, in seconds.", above=0)]
"""Time limit of a proof."""

METHODS: dict[type[Model], dict[str, Method]] = {}
"""For each model, its methods by name; the first is the default."""

Function = TypeVar("Function", bound=Callable[..., Recoding])


COUNTING_PERSONS: set[Method] = set()
"""The methods whose guarantee counts persons where these have several records."""

NOT_COUNTING: dict[Method, str] = {}
"""Why the other methods do not, as the end of a sentence that begins with "because"."""

K_ALONE: dict[Method, Literal["always", "persons"]] = {}
"""The methods that keep no diversity: never, or not where persons have several records."""


def keeps(
    *models: type[Model],
    name: str | None = None,
    default: bool = False,
    persons: bool | str = False,
    k_alone: Literal["always", "persons"] | None = None,
) -> Callable[[Function], Function]:
    """Register a function as a method that keeps the guarantee of some models.

    Parameters
    ----------
    *models
        The models.
    name
        Its name for users; the function's name if omitted.
    default
        Whether it is used for these models if no method is named.
    persons
        Whether it keeps the guarantee for persons with several records, too; others refuse such tables. A
        text says why it does not, after "because".
    k_alone
        When it refuses to require varied sensitive values of a crowd: always, or where persons have several
        records.
    """

    def register(function: Function) -> Function:
        called = name or function.__name__
        for model in models:
            known = METHODS.get(model, {})
            known = {called: function, **known} if default else {**known, called: function}
            METHODS[model] = dict(sorted(known.items(), key=lambda each: is_baseline(each[1])))
        if persons is True:
            COUNTING_PERSONS.add(function)
        elif persons:
            NOT_COUNTING[function] = persons
        if k_alone is not None:
            K_ALONE[function] = k_alone
        return function

    return register


def supports_k_alone(model: type[Model], name: str | None, *, persons: bool) -> bool:
    """Return whether a method of a model, or the default one, refuses to require varied sensitive values.

    Parameters
    ----------
    model, name
        The model, and the name of the method; None for the default.
    persons
        Whether a column says whose record each is.
    """
    known = METHODS[model]
    when = K_ALONE.get(known.get(name or next(iter(known))))  # type: ignore[arg-type]
    return when == "always" or (when == "persons" and persons)


def require_counting_persons(model: Model, name: str, method: Method) -> None:
    """Refuse a method that counts records where persons have several.

    Raises
    ------
    InputError
        With the methods of the model that count persons, if there are any.
    """
    if method in COUNTING_PERSONS:
        return
    able = [other for other, each in METHODS[type(model)].items() if each in COUNTING_PERSONS]
    instead = f"choose {listing(able)}" if able else "choose another model"
    why = f", because {NOT_COUNTING[method]}" if method in NOT_COUNTING else ""
    raise InputError(
        f"method {name!r} counts records, not persons{why}, and some persons have several records; "
        f"{instead}, or keep one record of each person (most_per_person = 1)",
        reason=Reason.PARAMETER,
        parameter="method",
    )


@dataclass(frozen=True)
class DeclaredOption:
    """An option of a method as its signature declares it.

    Parameters
    ----------
    type
        ``bool``, ``float`` or ``str``.
    default
        Its value if it is omitted.
    choices
        The possible values, if there are few.
    help, above
        As in `Option`.
    """

    type: type
    default: Any
    choices: tuple[str, ...]
    help: str
    above: float

    def checked(self, name: str, value: Any) -> Any:
        """Return a value after checking that the option can have it.

        Raises
        ------
        InputError
            If it cannot have this value.
        """
        if self.choices and value not in self.choices:
            raise InputError(
                f"{name} {value!r} is unknown{did_you_mean(str(value), self.choices)}; it is one of "
                f"{listing(self.choices)}",
                reason=Reason.PARAMETER,
                parameter=name,
            )
        if self.type is bool and not isinstance(value, bool):
            wanted = "true or false"
        elif self.type is float and (
            isinstance(value, bool) or not isinstance(value, int | float) or not value > self.above
        ):
            wanted = f"a number above {self.above:g}"
        else:
            return value
        raise InputError(
            f"{name} = {value!r} is not allowed; it must be {wanted}",
            reason=Reason.PARAMETER,
            parameter=name,
        )


def options_of(method: Method) -> dict[str, DeclaredOption]:
    """Return the options of a method by name, as its signature declares them."""
    found = {}
    for each in inspect.signature(method, eval_str=True).parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY:
            kind, said = each.annotation, Option("")
            if get_origin(kind) is Annotated:
                kind, *marks = get_args(kind)
                said = next((mark for mark in reversed(marks) if isinstance(mark, Option)), said)
            if get_origin(kind) is UnionType:
                kind = next(part for part in get_args(kind) if part is not NoneType)
            choices = get_args(kind) if get_origin(kind) is Literal else ()
            found[each.name] = DeclaredOption(
                str if choices else kind, each.default, choices, said.help, said.above
            )
    return found


def is_baseline(method: Method) -> bool:
    """Return whether a method exists for comparison only."""
    return ".baselines." in method.__module__


def method_for(model: Model, name: str | None = None) -> tuple[str, Method]:
    """Return the method with this name that keeps this kind of guarantee, or the default one.

    Raises
    ------
    InputError
        If there is no such method.
    """
    known = METHODS.get(type(model), {})
    if not known:
        raise InputError(f"no method keeps {type(model).__name__}", reason=Reason.PARAMETER)
    chosen = name or next(iter(known))
    if chosen not in known:
        others = [each.name for each, methods in METHODS.items() if chosen in methods]
        every = [*known, *(each for methods in METHODS.values() for each in methods)]
        instead = f"; it is a method of {listing(others)}" if others else did_you_mean(chosen, every)
        raise InputError(
            f"no method {chosen!r} keeps {model.name}{instead}; the methods of {model.name} are "
            f"{listing(known)}",
            reason=Reason.PARAMETER,
            parameter="method",
        )
    return chosen, known[chosen]


def _instead(option: str, known: Iterable[str]) -> str:
    """Return what was probably meant by an option that a method does not have."""
    if any(option in model.__dataclass_fields__ for model in METHODS):
        return f", which is a parameter of the model, such as Freeform({option}=...)"
    return did_you_mean(option, [*known, "method", "seed"])


def require_options(name: str, method: Method, given: Mapping[str, Any] | Iterable[str]) -> None:
    """Refuse unknown options and impossible values.

    Raises
    ------
    InputError
        If there is one; the message names the possible ones.
    """
    known = options_of(method)
    values = given if isinstance(given, Mapping) else {}
    for option in given:
        if option not in known:
            raise InputError(
                f"method {name!r} has no option {option!r}{_instead(option, known)}; it has "
                f"{listing(known) or 'none'}",
                reason=Reason.PARAMETER,
                parameter=option,
            )
        if option in values:
            known[option].checked(option, values[option])
