"""Pattern-guided k-anonymity: every cell is exact or suppressed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.files.reading import read_toml
from shoal.models.families import DiverseModel
from shoal.models.model import CellKind, CrowdKind, parameter
from shoal.models.patterns import MOST_COLUMNS, Mask, Pattern, names_of, require_known


@dataclass(frozen=True, kw_only=True)
class Patterned(DiverseModel):
    """Pattern-guided k-anonymity (Bredereck, Nichterlein and Niedermeier 2013): exact or suppressed.

    Each released row is identical to at least k - 1 others, each of its cells is exact or suppressed, and
    the suppressed cells of a row are a pattern that is allowed. With `l`, `p` or `entropy_l`, each class of
    identical rows also keeps that requirement in every sensitive column.

    Parameters
    ----------
    k, l, p, entropy_l
        See `DiverseModel`: the size of a class, and how varied each sensitive column is in it.
    patterns
        Which combinations of columns a row may suppress: patterns, also as mappings with ``keep`` or
        ``suppress``, or ``"all"``.
    up_to
        The maximum number of suppressed cells in a row.
    never
        Columns that are not suppressed in any row.
    priorities
        Chains of columns, the most important first: one is suppressed only together with all that follow.
    weights
        What a suppressed cell of a column costs; for columns not named, their weight in the schema.
    leftovers
        Whether rows for which no pattern is possible may suppress all columns, but for those in `never`
        (``"suppress"``), or the table is then refused (``"refuse"``).

    Examples
    --------
    >>> shoal.Patterned(k=5, never=["age"]).k
    5
    """

    name: ClassVar[str] = "patterned"
    across_releases: ClassVar[bool] = True

    crowd_kind: ClassVar[CrowdKind] = "classes"
    cells: ClassVar[CellKind] = "suppression"
    in_file: ClassVar[tuple[str, ...]] = (
        "patterns",
        "up_to",
        "never",
        "priorities",
        "weights",
        "leftovers",
    )
    title: ClassVar[str] = "Exact or suppressed"
    explanation: ClassVar[str] = (
        "Rows are identical in classes of at least k, and each cell is either exact or suppressed. For "
        "readers who cannot use ranges."
    )

    patterns: Literal["all"] | Sequence[Pattern | Mapping[str, Sequence[str]]] = parameter(
        "TOML file of the combinations of columns that a row may suppress; all combinations if omitted.",
        default="all",
        from_file=lambda path: read_patterns(path),
    )
    up_to: int | None = parameter(
        "Maximum number of suppressed cells in a row.",
        default=None,
        type=int,
        least=0,
        wanted="a whole number of at least 0",
        label="Suppress at most this many cells of a row",
    )
    never: Sequence[str] = parameter(
        "Columns that are not suppressed in any row.", default=(), label="Never suppress", widget="columns"
    )
    priorities: Sequence[Sequence[str]] = parameter(
        "Chains of columns, the most important first: one is suppressed only with all that follow.",
        default=(),
    )
    weights: Mapping[str, float] = parameter(
        "Cost of a suppressed cell of each column; by default its weight in the schema.", factory=dict
    )
    leftovers: Literal["suppress", "refuse"] = parameter(
        "Whether rows for which no pattern is possible may suppress all columns, or the table is refused.",
        default="suppress",
        choices=("suppress", "refuse"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patterns != "all":
            given: Any = self.patterns
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise InputError(
                    f'patterns = {given!r} is not allowed; it must be "all" or a list of patterns',
                    reason=Reason.PARAMETER,
                )
            object.__setattr__(self, "patterns", tuple(Pattern.of(each) for each in given))
        object.__setattr__(self, "never", names_of(self.never, "never"))
        if not isinstance(self.priorities, Sequence):
            raise InputError("priorities must be a list of lists of columns", reason=Reason.PARAMETER)
        chains = tuple(names_of(chain, "a list of priorities") for chain in self.priorities)
        object.__setattr__(self, "priorities", chains)
        if not isinstance(self.weights, Mapping):
            raise InputError("weights must be a table of columns and numbers", reason=Reason.PARAMETER)
        for name, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise InputError(
                    f"the weight {weight!r} of {name!r} is not allowed; it must be a positive number",
                    reason=Reason.PARAMETER,
                )
        object.__setattr__(self, "weights", {name: float(weight) for name, weight in self.weights.items()})
        if self.leftovers not in ("suppress", "refuse"):
            raise InputError(
                f"leftovers = {self.leftovers!r} is not allowed; it must be suppress or refuse",
                reason=Reason.PARAMETER,
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name, as plain data."""
        plain = {name: value for name, value in super().parameters.items() if value not in ((), {})}
        for name in ("never", "priorities"):
            if name in plain:
                plain[name] = [each if isinstance(each, str) else list(each) for each in plain[name]]
        if self.patterns != "all":
            plain["patterns"] = [Pattern.of(pattern).as_dict() for pattern in self.patterns]
        return plain

    def exact_in(self, columns: Sequence[str]) -> Self:
        """Return the same guarantee with exact cells in some columns: these are never suppressed."""
        return replace(self, never=(*self.never, *(name for name in columns if name not in self.never)))

    def mask(self, columns: Mapping[str, float]) -> Mask:
        """Return what is allowed in a table with these quasi-identifiers.

        Parameters
        ----------
        columns
            Their names and their weights.

        Raises
        ------
        InputError
            If the patterns name other columns or contradict themselves.
        """
        names = list(columns)
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"patterns are for at most {MOST_COLUMNS} quasi-identifiers, not {len(names)}",
                reason=Reason.TOO_LARGE,
            )
        require_known(list(self.weights), names, "weights")
        never = np.isin(names, require_known(self.never, names, "never"))
        listed = None
        if self.patterns != "all":
            listed = np.array([Pattern.of(each).suppressed(names) for each in self.patterns])
        return Mask(
            tuple(names),
            np.array([self.weights.get(name, weight) for name, weight in columns.items()]),
            listed,
            len(names) if self.up_to is None else self.up_to,
            never,
            tuple(
                tuple(names.index(name) for name in require_known(chain, names, "priorities"))
                for chain in self.priorities
            ),
            ~never if self.leftovers == "suppress" else None,
        )

    def sentence(self) -> str:
        """Return the guarantee in one sentence, without a full stop."""
        allowed = "any combination of columns"
        if self.patterns != "all":
            count = len(self.patterns)
            allowed = f"one of {count} combinations of columns" if count > 1 else "the same columns"
        elif self.up_to is not None:
            allowed = f"at most {self.up_to} columns"
        if self.never:
            allowed += f", never {listing(self.never)}"
        if self.leftovers == "suppress" and (self.patterns != "all" or self.up_to is not None):
            allowed += ", or all that may be suppressed where nothing else is possible"
        return (
            f"{self._identical_rows()}, every cell is exact or suppressed, and a row suppresses {allowed}"
            + self._diversity_words("each class of identical rows")
        )

    def limits(self, concealment: int) -> Sequence[str]:
        """Return what the guarantee does not say, as sentences for the report."""
        del concealment
        return (
            "What a row suppresses also tells something: the values there were rare among rows that are "
            "otherwise identical to it.",
        )


def read_patterns(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read all parameters of patterns from a TOML file: those that only `Patterned` has.

    Raises
    ------
    InputError
        If the file is not there, is not TOML, or has something else in it.
    """
    given = read_toml(path, "patterns file")
    known = Patterned.in_file
    for key in given:
        if key not in known:
            raise InputError(
                f"{path} has {key!r}{did_you_mean(key, known)}; it may have {listing(known)}",
                reason=Reason.PARAMETER,
            )
    return given
