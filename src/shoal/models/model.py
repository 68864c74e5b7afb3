"""What a privacy model is: one declaration from which every option, field, card and page is derived.

A model is a frozen dataclass whose fields are made by `parameter`. Its class attributes say what kind of
crowd people hide in, what the table needs, and how the model is explained. Defining the class registers it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from shoal.errors import InputError, Reason, did_you_mean, listing

if TYPE_CHECKING:
    from shoal.models.diversity import RequiredDistance, RequiredDiversity
    from shoal.schema import Schema

CrowdKind = Literal["classes", "rows"]
"""Whether people hide in classes of identical rows, or among rows that may differ."""

CellKind = Literal["closure", "own", "suppression", "loose"]
"""What cells are made of; see `Model`."""

Widget = Literal["number", "tick", "choice", "columns"]
"""How a parameter is entered on a page."""

DIVERSITY = ("l", "p", "entropy_l")
"""The parameters that require varied sensitive values in a crowd."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model, as it is declared.

    Parameters
    ----------
    help
        What it means, in one sentence.
    type
        What its values are: ``int``, ``float``, ``bool`` or ``str``, or ``tuple`` for names of columns; None
        for data that only Python or a file can give.
    least, most
        The smallest and the largest value of a number.
    wanted
        What a value must be, as the end of a sentence that begins with "it must be".
    label
        What it is called on the page; it has no field there if this is None.
    widget
        What kind of field that is.
    choices
        The values it can have, if there are few.
    about_sensitive
        Whether it says something about sensitive columns, and means nothing without one.
    from_file
        Reads all parameters that a file describes; the option then takes that file.
    """

    help: str
    type: type[int] | type[float] | type[bool] | type[str] | type[tuple[str, ...]] | None = None
    least: float = -math.inf
    most: float = math.inf
    wanted: str = ""
    label: str | None = None
    widget: Widget = "number"
    choices: tuple[str, ...] = ()
    about_sensitive: bool = False
    from_file: Callable[[str], dict[str, Any]] | None = None

    @property
    def on_command_line(self) -> bool:
        """Whether the command line has an option for it."""
        return self.type is not None or self.from_file is not None or self.widget == "choice"

    def checked(self, name: str, value: Any) -> Any:
        """Return a value as a plain number, truth value or text.

        Raises
        ------
        InputError
            If it is of another type, too small or too large.
        """
        plain: Any = None
        if self.type is bool and isinstance(value, bool | np.bool_):
            plain = bool(value)
        elif self.type in (int, float) and not isinstance(value, bool):
            whole = self.type is int
            # Options read every number as a fraction.
            if isinstance(value, Integral) or (whole and isinstance(value, float) and value.is_integer()):
                plain = int(value)
            elif isinstance(value, Real) and not whole:
                plain = float(value)
            if plain is not None and not self.least <= plain <= self.most:
                plain = None
            if plain is not None and self.type is float:
                plain = float(plain)
        elif self.type is str and (isinstance(value, str) and (not self.choices or value in self.choices)):
            plain = value
        elif self.type is tuple:
            plain = _names(value)
        if plain is None:
            raise InputError(
                f"{name} = {value!r} is not allowed; it must be {self.wanted}",
                reason=Reason.PARAMETER,
                parameter=name,
            )
        return plain


def _names(value: Any) -> tuple[str, ...] | None:
    """Return names, given as a list or as a text with commas between them; None if these are no names."""
    given = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given:
        return None
    return tuple(given) if all(isinstance(each, str) and each for each in given) else None


def parameter(
    help: str,  # noqa: A002 - what every parser of options calls it
    *,
    default: Any = MISSING,
    factory: Callable[[], Any] | None = None,
    **declared: Any,
) -> Any:
    """Return a field of a model's dataclass; `declared` is what a `Parameter` takes.

    Parameters
    ----------
    help
        What the parameter means, in one sentence.
    default, factory
        Its value if none is given; without either it must be given.
    """
    metadata = {"parameter": Parameter(help, **declared)}
    if factory is not None:
        return field(default_factory=factory, hash=False, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """A guarantee: parameters with names, a crowd to hide in, and a sentence that states it.

    A subclass with a `name` is registered under it. The class attributes below are its declaration.

    Attributes
    ----------
    name
        What it is called in options, files and certificates.
    crowd_kind
        Whether people hide in classes of identical rows or among rows that may differ.
    needs_items, needs_sensitive, needs_population
        Whether the table needs a column of items, or a sensitive column, and the model a population.
    title, explanation
        Its card: what it does in five words, and what that means for a person in the table.
    for_comparison
        Whether it is meant for comparison, not for publication.
    not_to_publish
        Why its releases must never be published, as a sentence; empty if they may be.
    usual
        Whether it is the default model of such tables.
    place
        Its place in lists of models; smaller numbers come first.
    cells
        What its cells are: the ``closure`` of a crowd, so that every member of a set and both ends of an
        interval occur in the crowd; the closure of an ``own`` record with others; or an exact value or
        nothing, by ``suppression``. ``loose`` cells cover their own record, and nothing else is known.
    of_records, of_rows
        Whether a crowd is guaranteed to each record, and to each row.
    by_matching
        Whether the audit counts matches. Otherwise it counts all rows that cover a record, also those that an
        attacker who knows every record can rule out.
    across_releases
        Whether the audit of several releases together can check the whole guarantee: it is about crowds and
        the variety of sensitive values alone. A subclass does not inherit it.
    in_some_columns
        Whether the audit can check the whole guarantee in some of the columns: it is about covering rows and
        covered records, and about the variety of sensitive values. A subclass does not inherit it.
    redraws_classes
        Whether a later release may draw the rows of a class anew around the same people: the guarantee is
        about the size and the variety of classes alone. A subclass does not inherit it.
    compared_with_whole
        Whether the sensitive values of each class are compared with those of the whole release.
    in_file
        The parameters that the file of a parameter with `from_file` describes.
    """

    name: ClassVar[str]
    crowd_kind: ClassVar[CrowdKind] = "rows"
    needs_items: ClassVar[bool] = False
    needs_sensitive: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False
    title: ClassVar[str]
    explanation: ClassVar[str]
    for_comparison: ClassVar[bool] = False
    not_to_publish: ClassVar[str] = ""
    usual: ClassVar[bool] = False
    place: ClassVar[int] = 9
    cells: ClassVar[CellKind] = "closure"
    of_records: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    by_matching: ClassVar[bool] = True
    across_releases: ClassVar[bool] = False
    in_some_columns: ClassVar[bool] = False
    redraws_classes: ClassVar[bool] = False
    compared_with_whole: ClassVar[bool] = False
    in_file: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A subclass may guarantee more than the class that it is derived from.
        for checkable in ("across_releases", "in_some_columns", "redraws_classes"):
            setattr(cls, checkable, vars(cls).get(checkable, False))
        if "name" in vars(cls):
            MODELS[cls.name] = cls

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Refuse parameters without names, unknown and missing ones, with how to give them."""
        known = {name: declared for name, _, declared in declarations(cls)}
        called, first = cls.__name__, next(iter(known), "k")
        wrong = next((name for name in given if name not in known), None)
        missing = [name for name, each in known.items() if is_required(each) and name not in given]
        message = ""
        if cls.__abstractmethods__:
            pass  # Python says that it cannot be made
        elif args:
            message = f"{called} takes parameters by name: {called}({first}={args[0]!r})"
        elif wrong is not None:
            advice = instead_of(wrong, known)
            message = f"{called} has no parameter {wrong!r}{advice}; it has {listing(known)}"
        elif missing:
            message = f"{called} needs {listing(missing)}, by name, such as {called}({missing[0]}=...)"
        if message:
            about = first if args else wrong or missing[0]
            raise InputError(message, reason=Reason.PARAMETER, parameter=about)
        return super().__new__(cls)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), {name: getattr(self, name) for name, _, _ in declarations(type(self))}

    def __post_init__(self) -> None:
        for name, declared, each in declarations(type(self)):
            value = getattr(self, name)
            if declared.type is not None and not (value is None and each.default is None):
                object.__setattr__(self, name, declared.checked(name, value))

    @property
    @abstractmethod
    def crowd(self) -> int:
        """The minimum number of rows that a record hides among."""

    @property
    def records_per_row(self) -> int:
        """The minimum number of records that each released row covers."""
        return self.crowd

    @property
    def known_columns(self) -> int | None:
        """The maximum number of quasi-identifiers that the attacker knows; None if it may be all of them."""
        return None

    @property
    def crowd_in_known(self) -> int:
        """The minimum number of rows that a record hides among in the `known_columns`."""
        return self.crowd

    @property
    def one_sided(self) -> bool:
        """Whether nothing is guaranteed about the matches of a row if each person has one record."""
        return False

    @property
    def why_no_limits(self) -> str:
        """Why its methods keep no limits of columns, as the end of a sentence; empty if they do."""
        return ""

    def exact_in(self, columns: Sequence[str]) -> Self | None:  # noqa: ARG002 - for those that suppress
        """Return the same guarantee with exact cells in some columns; None if cells there may be narrow.

        This is how a model whose cells are exact or suppressed keeps limits of columns.
        """
        return None

    @property
    def has_own_rows(self) -> bool:
        """Whether a row carries the record that it was made for, instead of any of those it covers."""
        return self.cells == "own"

    @property
    def degree(self) -> int:
        """The number of rows that a record must have as its own with equal probabilities."""
        return 1

    @property
    def diversity(self) -> RequiredDiversity | None:
        """What is guaranteed about the variety of sensitive values in a crowd; None if nothing is."""
        return None

    @classmethod
    def takes_diversity(cls) -> bool:
        """Return whether its parameters can require varied sensitive values in a crowd."""
        return all(name in cls.__dataclass_fields__ for name in DIVERSITY)

    @property
    def required_distance(self) -> RequiredDistance | None:
        """How far apart the sensitive values of a class are guaranteed to be; None if nothing is."""
        return None

    @classmethod
    def attacker(cls) -> str:
        """Return against which attacker its releases protect, in words."""
        if cls.not_to_publish:
            return "none: for comparison only"
        return "knows one person" if cls.for_comparison else "knows every record"

    @property
    def guards_sensitive(self) -> bool:
        """Whether anything is guaranteed about sensitive values."""
        return self.needs_sensitive or self.diversity is not None

    def guards(self, column: str) -> bool:
        """Return whether anything is guaranteed about the values of a sensitive column."""
        required = self.diversity
        return self.guards_sensitive and (required is None or required.applies_to(column))

    @property
    def may_leave_out(self) -> bool:
        """Whether a release may have fewer rows than the table has records."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name, as plain data."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    @property
    def call(self) -> str:
        """How it is written in Python, with the parameters that are set."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({given})"

    @abstractmethod
    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""

    def limits(self, concealment: int) -> Sequence[str]:  # noqa: ARG002 - for those that speak of it
        """Return what the guarantee does not say, as sentences for the report.

        Parameters
        ----------
        concealment
            The minimum number of matches of a record that the audit found.
        """
        return ()

    def blocks_must_not_overlap(self, schema: Schema) -> bool:  # noqa: ARG002 - for those that ask
        """Return whether, in a table cut into blocks, rows of one must not cover records of another.

        Rows of other blocks that cover a record only add to its crowd: that cannot harm its size or the
        number of different sensitive values, but it can harm shares and entropies.

        Raises
        ------
        InputError
            If cutting the table could break the guarantee, however it is cut.
        """
        return False


MODELS: dict[str, type[Model]] = {}
"""Every model by name; see `models.in_order` for the order in which people see them."""


def declarations(model: type[Model]) -> list[tuple[str, Parameter, Field[Any]]]:
    """Return the parameters of a model: names, declarations and dataclass fields."""
    return [(f.name, f.metadata["parameter"], f) for f in fields(model)]


def is_required(declared: Field[Any]) -> bool:
    """Return whether a parameter must be given."""
    return declared.default is MISSING and declared.default_factory is MISSING


def instead_of(wrong: str, known: Iterable[str]) -> str:
    """Return, for a parameter that a model does not have, a similar one or the models that have it."""
    having = [model.name for model in MODELS.values() if wrong in model.__dataclass_fields__]
    few = 0 < len(having) <= 3
    return f", which is a parameter of {listing(having)}" if few else did_you_mean(wrong, known)


_DIVERSE = "give {0} to another model, such as freeform or k-anonymity"
_IN_OTHER_MODELS = {
    "l-diversity": ("l", _DIVERSE.format("l")),
    "entropy-l-diversity": ("entropy_l", _DIVERSE.format("entropy_l")),
    "p-sensitivity": ("p", _DIVERSE.format("p")),
    "differential-privacy": ("model", "Shoal does not offer it; its models hide records in crowds"),
}
"""Names that the literature knows, and what to use."""


def model_named(name: str) -> type[Model]:
    """Return the model of a name.

    Raises
    ------
    InputError
        If there is none; the message lists those there are.
    """
    if name in _IN_OTHER_MODELS:
        letter, words = _IN_OTHER_MODELS[name]
        raise InputError(
            f"{name} is not a model of Shoal: {words}", reason=Reason.PARAMETER, parameter=letter
        )
    if name not in MODELS:
        raise InputError(
            f"model {name!r} is unknown{did_you_mean(name, MODELS)}; choose one of {listing(MODELS)}",
            reason=Reason.PARAMETER,
            parameter="model",
        )
    return MODELS[name]


def require_model(model: object) -> None:
    """Refuse what is no privacy model.

    Raises
    ------
    InputError
        If it is not an instance of a model.
    """
    if not isinstance(model, Model):
        shown = model.__name__ if isinstance(model, type) else repr(model)
        raise InputError(
            f"{shown} is not a privacy model; give one with its parameters, such as Freeform(k=10)",
            reason=Reason.PARAMETER,
            parameter="model",
        )


def uncuttable(why: str) -> InputError:
    """Return the error for a guarantee that could break if the table is cut into blocks."""
    return InputError(
        f"the guarantee could break if the table is cut into blocks: {why}; or anonymize the whole table in "
        "memory",
        reason=Reason.PARAMETER,
    )
