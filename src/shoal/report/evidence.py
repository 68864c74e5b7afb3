"""The evidence page: what reviewers and regulators ask, answered from the certificate alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shoal.attacking.results import HEAD, attack_cells
from shoal.base.statements import ABOUT, threshold_of
from shoal.errors import listing
from shoal.report.panel import PANELS, Grid, Material, number, percent, plural
from shoal.schema import Role

THRESHOLDS = {
    0.33: (3, "releases to known recipients under contract"),
    0.2: (5, "the most common minimum of health and statistics agencies"),
    0.09: (11, "clinical reports for the public (European Medicines Agency, Health Canada)"),
    0.05: (20, "public releases of sensitive data"),
}
"""Largest accepted risks: the number of records that each stands for, and what it is in use for."""

THRESHOLD_SOURCE = (
    "Thresholds as collected by El Emam and Malin in Appendix B of Sharing Clinical Trial Data (Institute of "
    "Medicine, 2015); 0.09 as in the guidance on Policy 0070 of the European Medicines Agency."
)


@dataclass(frozen=True)
class Fact:
    """One fact on the evidence page.

    Parameters
    ----------
    name, text
        What it is about, and the fact.
    source
        The fields of the certificate that say so, separated by commas; empty if it is stated on the page.
    """

    name: str
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """A chapter of the evidence page.

    Parameters
    ----------
    name, title
        Its name in links, and its heading.
    standard
        What it answers, in the words of ISO/IEC 27559 and WP216.
    paragraphs, facts, grids, points
        What it says.
    """

    name: str
    title: str
    standard: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    grids: tuple[Grid, ...] = ()
    points: tuple[str, ...] = ()


def chapters_of(material: Material) -> tuple[Chapter, ...]:
    """Return the chapters of the evidence page, in the order of ISO/IEC 27559."""
    return (
        _context(material),
        _data(material),
        _attackers(material),
        _guarantee(material),
        risk_chapter(material),
        _attacks(material),
        _loss(material),
        _limits(material),
        _again(material),
        _origin(material),
    )


def _stated(material: Material, name: str) -> Fact:
    """Return what the steward stated."""
    stated = material.certificate.get("about", {})
    source = f"about.{name}" if name in stated else ""
    return Fact(name.replace("_", " "), stated.get(name, "not stated"), source)


def _context(material: Material) -> Chapter:
    return Chapter(
        name="context",
        title="What is released, to whom",
        standard="ISO/IEC 27559: context assessment",
        facts=(
            *(_stated(material, name) for name in ABOUT),
            Fact("may be published", "yes" if material.certificate["publishable"] else "no", "publishable"),
        ),
        points=(
            *material.certificate.get("reasons_not_to_publish", ()),
            *material.certificate["warnings"],
        ),
    )


def _data(material: Material) -> Chapter:
    made, persons = material.certificate, material.audit.persons
    counted = [
        Fact("records", f"{material.audit.records:,}", "audit.records"),
        Fact("released rows", f"{made['rows']:,}", "rows"),
        Fact("left out for missing values", plural(made["left_out"], "record"), "left_out"),
    ]
    if made.get("over_limit"):
        counted.append(Fact("left out over the limit of a person", f"{made['over_limit']:,}", "over_limit"))
    if made["withheld"]:
        counted.append(Fact("withheld at random", plural(made["withheld"], "record"), "withheld"))
    if made.get("leave_out"):
        beyond = material.audit.records - made["rows"] - made["withheld"]
        counted.append(Fact("left out beyond limits of columns", f"{beyond:,}", "audit.records, rows"))
    if made.get("held_out"):
        counted.append(Fact("held out as a control group", plural(made["held_out"], "record"), "held_out"))
    if persons is not None and persons.several:
        counted.append(Fact("persons", f"{persons.count:,}", "audit.persons.persons"))
    return Chapter(
        name="data",
        title="What the data are",
        standard="ISO/IEC 27559: data assessment",
        facts=(*counted, *(_columns(made["columns"]))),
    )


_ROLES = {
    Role.IDENTIFIER: "identifying columns, left out",
    Role.PERSON: "says whose record it is, left out",
    Role.QUASI: "quasi-identifiers, generalized",
    Role.SENSITIVE: "sensitive columns, released unchanged",
    Role.WEIGHT: "survey weights, in groups if single values identify",
    Role.OTHER: "other columns, released unchanged",
}


def _columns(columns: list[dict[str, Any]]) -> Iterator[Fact]:
    """Yield the columns of each role."""
    for role, title in _ROLES.items():
        names = [column["name"] for column in columns if column["role"] == role.value]
        if names:
            yield Fact(title, ", ".join(names), "columns")


def _attackers(material: Material) -> Chapter:
    quasi = [c["name"] for c in material.certificate["columns"] if c["role"] == Role.QUASI.value]
    return Chapter(
        name="attackers",
        title="Who is assumed to attack, and with what knowledge",
        standard="ISO/IEC 27559: context assessment (threats)",
        paragraphs=(_against(material),),
        facts=(
            Fact("known to the attacker", ", ".join(quasi), "columns"),
            Fact("knows that a person is in the table", "yes, for the risks of this page", ""),
            Fact(
                "random choices",
                "from a seed, which undoes the shuffle"
                if material.certificate["seeded"]
                else "from the operating system, unknown to the attacker",
                "seeded",
            ),
        ),
    )


def _against(material: Material) -> str:
    """Return against which attacker the guarantee holds, as a sentence."""
    if material.model.not_to_publish:
        return "This model is for comparison only, and protects against no attacker."
    return (
        f"The guarantee holds against an attacker who {material.model.attacker()}. Of a record, the attacker "
        "knows the quasi-identifiers and nothing else."
    )


def _guarantee(material: Material) -> Chapter:
    made = material.certificate
    parameters = [
        f"{name} = {value}"
        for name, value in material.model.parameters.items()
        if isinstance(value, int | float)
    ]
    return Chapter(
        name="guarantee",
        title="What is guaranteed",
        standard="ISO/IEC 27559: identifiability mitigation",
        facts=(
            Fact("guarantee", made["model"]["promise"], "model.promise"),
            Fact("model", f"{made['model']['name']}: {', '.join(parameters)}", "model"),
            Fact("method", made["method"], "method"),
            Fact("audit", made["audit"]["verdict"], "audit.verdict"),
            *_diversity(made["audit"]),
        ),
    )


def _diversity(found: dict[str, Any]) -> Iterator[Fact]:
    """Yield the largest share of one sensitive value among the rows of a record, or in a class."""
    name = "diversity_around" if found["diversity_around"] else "diversity"
    where = "among the rows that match a record" if name == "diversity_around" else "in a class"
    for number_, each in enumerate(found[name]):
        yield Fact(
            f"largest share of one {each['column']} {where}",
            percent(each["highest_frequency"]),
            f"audit.{name}[{number_}].highest_frequency",
        )


def risk_chapter(material: Material) -> Chapter:
    """Return the chapter on the maximum and the average risk, beside thresholds in use."""
    found, made = material.audit, material.certificate
    risks = made["audit"]["risks"]
    highest, mean = found.highest_risk, risks["prosecutor"]["mean"]
    chance = made["audit"].get("chance") or {}
    stated = threshold_of(made.get("about", {}))
    least = []
    if chance.get("least") is not None:
        words = "least chance of the best guess about some record"
        least.append(Fact(words, percent(chance["least"]), "audit.chance.least"))
    return Chapter(
        name="risk",
        title="Maximum and average risk",
        standard="ISO/IEC 27559: identifiability assessment",
        paragraphs=(
            "The risk of a record is the probability that an attacker picks its row: one over the number of "
            "rows that it can be. The maximum is over all records, and for an attacker who knows every "
            "record; the average is for an attacker who knows one.",
            f"The accepted risk was stated as {stated:g}."
            if stated is not None
            else "No accepted risk was stated. The table has those in common use.",
        ),
        facts=(
            Fact(
                "maximum risk",
                percent(highest),
                "audit.risks.prosecutor.highest, audit.concealment"
                + (", audit.chance.least" if least else ""),
            ),
            Fact("average risk", percent(mean), "audit.risks.prosecutor.mean"),
            Fact("rows that match each record, at least", f"{found.concealment:,}", "audit.concealment"),
            *least,
            *(
                Fact(name, text, "audit.sample")
                for name, text in (found.sample.facts() if found.sample else ())
            ),
        ),
        grids=(_beside_thresholds(highest, mean, stated),),
        points=(THRESHOLD_SOURCE,),
    )


def _beside_thresholds(highest: float, mean: float, stated: float | None) -> Grid:
    """Return the risks beside the thresholds in use and the stated one."""
    levels = sorted({*THRESHOLDS, *([stated] if stated is not None else [])}, reverse=True)
    return Grid(
        "Risks and thresholds",
        ("threshold", "in use for", "maximum risk", "average risk"),
        [
            (
                f"{level:g}" + (" (stated)" if level == stated else ""),
                _in_use(level),
                _met(highest, level),
                _met(mean, level),
            )
            for level in levels
        ],
    )


def _in_use(threshold: float) -> str:
    """Return what a threshold is in use for."""
    if threshold not in THRESHOLDS:
        return "stated for this release"
    records, use = THRESHOLDS[threshold]
    return f"1 in {records}: {use}"


def _met(risk: float, threshold: float) -> str:
    """Return a risk, and whether it is above a threshold; 0.09 stands for 1/11, and not for a little less."""
    limit = 1 / THRESHOLDS[threshold][0] if threshold in THRESHOLDS else threshold
    return f"{percent(risk)}: {'not above' if risk <= limit + 1e-12 else 'above'}"


def _attacks(material: Material) -> Chapter:
    found = material.certificate.get("attacks")
    shared: dict[str, Any] = {
        "name": "attacks",
        "title": "Singling out, linkability and inference",
        "standard": "WP216: the three criteria",
    }
    if found is None:
        return Chapter(
            **shared,
            paragraphs=(
                "No attacks were carried out: no control group was held out before the release was made. "
                "Chapter 5 has bounds on what an attacker can achieve.",
            ),
        )
    return Chapter(
        **shared,
        paragraphs=(
            f"Attacks were carried out on {found['results'][0]['members']['trials']:,} records in the "
            f"release and on a control group of {found['control']:,} records that were held out before it "
            "was made. The risk is the share of failures elsewhere (in the control group, or of guesses "
            "without the release where these succeed more often) that the release turns into successes. "
            f"In brackets: intervals with a confidence of {percent(found['confidence'])}.",
        ),
        grids=(
            Grid(
                "Success rates of attacks (attacks.results)",
                HEAD,
                [attack_cells(each) for each in found["results"]],
            ),
        ),
        points=(
            *(f"{each['title']}: {each['about']}" for each in found["results"]),
            "A predicate with a narrowed cell holds for one record, but does not tell which row is that "
            "record's. No guarantee of this release is about such predicates.",
            *found["notes"],
        ),
    )


def _loss(material: Material) -> Chapter:
    lost = material.certificate["loss"]
    worst = sorted(lost["by_attribute"].items(), key=lambda each: -each[1])
    facts = [Fact("lost on average (GCP)", percent(lost["gcp"]), "loss.gcp")]
    if lost.get("bound") is not None:
        facts.append(Fact("lost at least, with this guarantee", percent(lost["bound"]), "loss.bound"))
    facts += [Fact(f"lost of {name}", percent(share), "loss.by_attribute") for name, share in worst]
    return Chapter(
        name="loss",
        title="What was lost",
        standard="ISO/IEC 27559: identifiability mitigation (usefulness)",
        facts=tuple(facts),
    )


def _limits(material: Material) -> Chapter:
    panel = PANELS["limits"].of(material)
    return Chapter(
        name="limits",
        title="What is not protected",
        standard="ISO/IEC 27559: identifiability assessment (residual risk)",
        points=() if panel is None else panel.points,
    )


def _again(material: Material) -> Chapter:
    made = material.certificate
    unchanged = [c["name"] for c in made["columns"] if c["role"] in (Role.OTHER.value, Role.SENSITIVE.value)]
    return Chapter(
        name="again",
        title="When to evaluate again",
        standard="ISO/IEC 27559: governance",
        facts=(
            Fact("made on", made["created"][:10], "created"),
            _stated(material, "review_by"),
        ),
        points=(
            "before another table about the same persons is released, in whole or in part",
            "if the recipients, the purpose or the conditions of access change",
            *(
                [f"if any of the columns that are released unchanged ({listing(unchanged)}) can be looked up"]
                if unchanged
                else []
            ),
            "if a source becomes available that lists more about these persons than the quasi-identifiers",
            "if someone reports that a record was recognized",
        ),
    )


def _origin(material: Material) -> Chapter:
    made = material.certificate
    return Chapter(
        name="origin",
        title="Where these facts are from",
        standard="ISO/IEC 27559: governance (records)",
        paragraphs=(
            "Each fact names the field of certificate.json that it was taken from. The certificate was made "
            "together with the release, and has no value of any single record.",
        ),
        facts=(
            Fact("made by", f"Shoal {made['shoal']}", "shoal"),
            Fact("made at", made["created"], "created"),
            *([Fact("time", f"{number(made['seconds'])} seconds", "seconds")] if "seconds" in made else []),
            *(
                Fact(f"SHA-256 of {name}", file["sha256"], f"files.{name}.sha256")
                for name, file in made.get("files", {}).items()
            ),
        ),
    )
