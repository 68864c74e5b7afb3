"""What attacks found: success rates on records in the release, on the control group, and without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.attacking.rates import Gain, Rate
from shoal.base.markup import table_html
from shoal.base.wording import percent, plural

HEAD = ("attack", "on records in the release", "on the control group", "without the release", "risk")
"""The columns of a table of attacks."""
WITHOUT_CONTROL = "There is no control group: risks are what attacks gain over guesses without the release."
"""What to know about attacks without a control group."""


@dataclass(frozen=True)
class AttackResult:
    """How often one attack succeeded.

    Parameters
    ----------
    name
        ``singling-out``, ``singling-out-narrowed``, ``linkability`` or ``inference``.
    about
        What the attacker did, as a sentence.
    members
        The success rate on records in the release.
    control
        The success rate on records that are not in it; None without a control group.
    baseline
        The success rate of guesses without the release.
    column
        The sensitive column that was guessed; None for other attacks.

    Examples
    --------
    >>> from shoal.attacking.rates import Rate
    >>> result = shoal.AttackResult("inference", "", Rate(90, 100), Rate(50, 100), Rate(20, 100), "age")
    >>> result.title, round(result.risk.value, 2)
    ('inference of age', 0.8)
    """

    name: str
    about: str
    members: Rate
    control: Rate | None
    baseline: Rate
    column: str | None = None

    @property
    def title(self) -> str:
        """The name of the attack, in words."""
        title = self.name.replace("-", " ").replace("singling out narrowed", "singling out, narrowed cells")
        return title if self.column is None else f"{title} of {self.column}"

    @cached_property
    def risk(self) -> Gain:
        """What the attack on records in the release gains over the control group, or over the baseline.

        Over the baseline where guesses without the release succeed more often than the attack on the control
        group, or there is no control group: what is guessed anyway is not the release's doing.
        """
        others = [self.baseline] if self.control is None else [self.control, self.baseline]
        return Gain.over(self.members, max(others, key=lambda rate: rate.share))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "name": self.name,
            **({} if self.column is None else {"column": self.column}),
            "about": self.about,
            "members": self.members.as_dict(),
            "control": None if self.control is None else self.control.as_dict(),
            "baseline": self.baseline.as_dict(),
            "risk": self.risk.as_dict(),
        }

    def cells(self) -> tuple[str, ...]:
        """Return the rates and the risk as texts, in the order of `HEAD`."""
        return attack_cells({**self.as_dict(), "title": self.title})


@dataclass(frozen=True)
class Attacks:
    """What attacks on a release found; made by `shoal.attack`.

    Parameters
    ----------
    results
        Each attack with its rates.
    records, rows, control
        The number of records, of released rows, and of records in the control group.
    confidence
        The confidence of all intervals.
    notes
        What to know about the rates, and attacks that were not possible, with the reason.

    Examples
    --------
    >>> patients = shoal.samples.hospital(300).select("age", "sex", "diagnosis")
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], sensitive=["diagnosis"])
    >>> found = shoal.attack(patients[:200], patients[:200], schema, patients[200:], seed=1)
    >>> [each.title for each in found][2:]
    ['linkability', 'inference of diagnosis']
    >>> found.control
    100
    """

    results: tuple[AttackResult, ...]
    records: int
    rows: int
    control: int
    confidence: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> AttackResult:
        """Return an attack by its name; of several, the first."""
        for each in self.results:
            if each.name == name:
                return each
        raise KeyError(name)

    def __iter__(self) -> Iterator[AttackResult]:
        """Yield each attack."""
        return iter(self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return {
            "records": self.records,
            "rows": self.rows,
            "control": self.control,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "results": [{**each.as_dict(), "title": each.title} for each in self.results],
        }

    def _repr_html_(self) -> str:
        return table_html("Attacks", HEAD, [each.cells() for each in self.results])


def attacks_in_words(found: Mapping[str, Any]) -> str:
    """Return what the rates and risks of a certificate are, as sentences."""
    confidence = f"Intervals have a confidence of {percent(found['confidence'])}."
    if not found["control"]:
        return (
            "Attacks were carried out on records in the release, and without the release. "
            f"{WITHOUT_CONTROL} {confidence}"
        )
    return (
        "Attacks were carried out on records in the release, on a control group of "
        f"{plural(found['control'], 'record')} that were held out before the release was made, and "
        "without the release. The risk is the share of failures elsewhere that the release turns into "
        "successes: elsewhere is the control group, or guesses without the release where these succeed "
        f"more often. {confidence}"
    )


def most_gained(found: Mapping[str, Any]) -> str:
    """Return which attack of a certificate gains most from the release, as sentences."""
    worst = max(found["results"], key=lambda each: (each["risk"]["low"], each["risk"]["value"]), default=None)
    if worst is None:
        return "No attack was possible."
    risk = _interval(worst["risk"]["value"], worst["risk"])
    if worst["risk"]["low"] > 0:
        return f"An attacker gains most in {worst['title']}: the risk is {risk}."
    highest = max(found["results"], key=lambda each: each["risk"]["high"])
    return (
        "No risk is certain: the interval of each begins at 0%. The highest is that of "
        f"{highest['title']}: {_interval(highest['risk']['value'], highest['risk'])}."
    )


def attack_cells(found: dict[str, Any]) -> tuple[str, ...]:
    """Return an attack of a certificate as texts, in the order of `HEAD`."""
    control = found["control"]
    return (
        found["title"],
        _rate(found["members"]),
        "no control group" if control is None else _rate(control),
        _rate(found["baseline"]),
        _interval(found["risk"]["value"], found["risk"]),
    )


def _rate(found: dict[str, Any]) -> str:
    return _interval(found["rate"], found)


def _interval(value: float, ends: dict[str, Any]) -> str:
    return f"{percent(value)} ({percent(ends['low'])} to {percent(ends['high'])})"
