"""Suggested role and kind of each column of a table, with reasons."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.errors import InputError, unknown_column
from shoal.kinds.encoding import to_polars
from shoal.schema import Kind, Role, Schema, as_frame, infer_kind, usual_role
from shoal.schema.repetition import repeats

OFTEN_UNIQUE = 0.5
"""A column looks identifying if more than this share of the records have a unique value."""
NEARLY_ALL = 0.95
"""Whole numbers that are unique in more than this share of the records are taken for record numbers."""
FEWEST_PERSONS = 10
"""A column with fewer different values is not suggested as the one that says whose record each is."""
FEW = 12
"""At most this many different numbers are taken for codes where the name of the column suggests codes."""


@dataclass(frozen=True)
class Suggestion:
    """The suggestion for one column.

    Parameters
    ----------
    name
        Its name in the table.
    role, kind
        Its probable role and kind.
    reason
        The reason in words, without any value of the table.
    distinct
        Number of different values, without the missing one.
    missing
        Number of cells that are null, empty or not a number.
    unique_share
        Share of the records that have a unique value; "missing" counts as a value.
    """

    name: str
    role: Role
    kind: Kind
    reason: str
    distinct: int
    missing: int
    unique_share: float


def suggest(frame: IntoDataFrame) -> tuple[Suggestion, ...]:
    """Suggest a role and a kind for each column of any eager frame that narwhals supports.

    Suggestions follow from names and values. Takes O(records x columns) expected, plus O(records) for each
    pair of a column without a known role and a quasi-identifier that could single out records together.
    """
    table = _read(frame)
    facts = {name: _facts(table[name]) for name in table.columns}
    found = [_suggestion(name, facts[name], last=name == table.columns[-1]) for name in table.columns]
    found = _with_persons(found, facts, table)
    quasi = [each.name for each in found if each.role is Role.QUASI]
    partners = {Role.OTHER: quasi, Role.SENSITIVE: []}  # the roles that are released as they are
    return tuple(
        replace(each, reason=f"{each.reason}; it looks identifying: {why}")
        if each.role in partners and (why := _singled_out(each.name, facts, table, partners[each.role]))
        else each
        for each in found
    )


def _with_persons(
    found: list[Suggestion], facts: Mapping[str, _Facts], table: pl.DataFrame
) -> list[Suggestion]:
    """Return suggestions in which an identifier that repeats says whose record each is.

    That is the number of a person with most values, if no identifier has a value of its own for each record.
    """
    identifiers = [each for each in found if each.role is Role.IDENTIFIER and each.distinct]
    if not all(repeats(each.distinct, facts[each.name].records - each.missing) for each in identifiers):
        return found
    numbers = [
        each
        for each in identifiers
        if not each.missing
        and each.distinct >= FEWEST_PERSONS
        and (hint := _named(each.name, last=False)) is not None
        and hint.meaning in _NUMBERS_OF_PERSONS
    ]
    person = max(numbers, key=lambda each: each.distinct, default=None)
    if person is None:
        return found
    often = np.sort(table[person.name].value_counts()["count"].to_numpy())
    why = (
        f"{person.reason}, and its values repeat: {person.distinct:,} persons with {often[0]:,} to "
        f"{often[-1]:,} records, {np.median(often):g} in the median"
    )
    return [replace(each, role=Role.PERSON, reason=why) if each is person else each for each in found]


def warnings(frame: IntoDataFrame, schema: Schema) -> list[str]:
    """Return one line for each column that would be released unchanged although it looks identifying.

    See `suspects`, which has the same reasons by column.
    """
    return [
        f"column {name!r} would be released unchanged, but {why}"
        for name, why in suspects(frame, schema).items()
    ]


def suspects(frame: IntoDataFrame, schema: Schema) -> dict[str, str]:
    """Return the columns that would be released unchanged although they look identifying, and why.

    The texts give the reason and what to do, without any value of the table. Columns that the schema does not
    mention are released as well. A table without records is judged by the names of its columns. Complexity as
    for `suggest`.

    Raises
    ------
    InputError
        If the schema has a column that the frame lacks.
    """
    table = _read(frame)
    for name in schema.names:
        if name not in table.columns:
            raise unknown_column(name, table.columns)
    quasi = [column.name for column in schema.quasi]
    roles = {name: schema[name].role for name in schema.names}
    carried = [name for name in table.columns if roles.get(name, usual_role(name)) is Role.OTHER]
    facts = {name: _facts(table[name]) for name in (*carried, *quasi)} if carried else {}
    lines = {}
    for name in carried:
        role, why, _ = _role(name, facts[name], last=False)
        advice = _ADVICE.get(role)
        if advice is None and (singled := _singled_out(name, facts, table, quasi)):
            why, advice = f"looks identifying: {singled}", ", or ".join(_ADVICE.values())
        if advice is not None:
            lines[name] = f"{why}; {advice}"
    return lines


def identifier_by_looks(name: str, cells: pl.Series) -> str | None:
    """Return why a column looks like an identifier, by its name or the form of its values, or None.

    Parameters
    ----------
    name
        The name of the column.
    cells
        Its values, null wherever one is missing.
    """
    texts = cells.drop_nulls() if cells.dtype == pl.String else pl.Series(dtype=pl.String)
    some = texts.gather_every(len(texts) // _ENOUGH + 1)
    form = next((form for form, pattern in _IDENTIFIERS.items() if _mostly(some, pattern)), None)
    if form is not None:
        return f"its values look like {form}"
    rule = _named(name, last=False)
    if rule is None or rule.role is not Role.IDENTIFIER:
        return None
    return f"its name suggests {rule.meaning}"


_ADVICE = {
    Role.IDENTIFIER: "make it an identifier, so that it is left out",
    Role.QUASI: "make it a quasi-identifier, so that it is generalized",
}


class _Hint(NamedTuple):
    role: Role
    meaning: str
    codes: float  # up to how many different numbers are codes, not quantities
    words: str


_I, _Q, _S, _O = Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.OTHER
_NUMBERS_OF_PERSONS = ("a number that identifies a person", "an identifier")
_ANY = float("inf")
# The role of a column whose name has one of these words (or its plural in -s), or two in a row (first-name).
# The last match in a name counts: a "patient age" is an age.
# fmt: off
_RULES = (
    _Hint(_I, "a person's name", 0, """surname firstname lastname fullname username first-name last-name
        full-name given-name family-name maiden-name user-name vorname nachname geburtsname prenom
        apellido"""),
    _Hint(_I, _NUMBERS_OF_PERSONS[0], 0, """ssn social-security passport license mrn
        medical-record record-number case-number insurance-number account iban credit-card card-number
        patient-id person-id user-id customer-id client-id subject-id member-id record-id employee-id
        student-id case-id tax-id dni nif nie nir ausweis steuernummer versichertennummer patientennummer
        fallnummer konto pasaporte"""),
    _Hint(_I, "a way to reach a person", 0, """email e-mail mail phone telephone tel mobile fax address street
        ip mac-address imei url website uuid guid photo lat latitude lon longitude gps strasse hausnummer
        anschrift adresse telefon handy kennzeichen rue courriel direccion calle telefono correo"""),
    _Hint(_I, "free text", 0, """comment remark note narrative free-text freitext kommentar bemerkung
        comentario"""),
    _Hint(_Q, "age or birth", 0, """age agep birth birthdate birthday birthyear born dob yob alter geburt
        geburtsdatum geburtstag geburtsjahr naissance edad nacimiento"""),
    _Hint(_Q, "sex or gender", FEW, "sex gender geschlecht sexe genre sexo genero"),
    _Hint(_Q, "a postal or area code", _ANY, "zip zipcode postal postcode plz postleitzahl puma fips tract"),
    _Hint(_Q, "a place", FEW, """city town village county state province region district country residence
        location stadt ort wohnort kreis landkreis gemeinde bundesland land ville commune departement pays
        ciudad municipio provincia pais"""),
    _Hint(_Q, "origin or religion", FEW, """race rac ethnic ethnicity hisp hispanic nationality citizenship
        ancestry language native religion faith herkunft nationalitat staatsangehorigkeit sprache konfession
        nationalite langue origine raza etnia nacionalidad idioma"""),
    _Hint(_Q, "marital status or family", FEW, """marital married msp relationship spouse family household
        familienstand haushalt etat-civil situation-familiale estado-civil"""),
    _Hint(_Q, "the size of a family", 0, """family-size household-size child children sibling noc npf kinder
        enfant hijo"""),
    _Hint(_Q, "education", 0, """education edu school degree bildung ausbildung schulabschluss diplome
        educacion"""),
    _Hint(_Q, "work", FEW, """occupation job profession employment employer employed working workclass
        work-class company beruf arbeitgeber metier emploi ocupacion profesion empleo trabajo"""),
    _Hint(_Q, "an industry", _ANY, "industry indp naics branche"),
    _Hint(_Q, "housing", FEW, "housing tenure own-rent dwelling wohnung logement vivienda"),
    _Hint(_Q, "a stay or a visit", 0, """admission admitted admit discharge discharged visit appointment
        hospital clinic ward death died deceased aufnahme entlassung sortie admision alta fecha-ingreso"""),
    _Hint(_Q, "body measurements", 0, "height weight bmi grosse gewicht taille poids altura peso"),
    _Hint(_S, "health", FEW, """diagnosis diagnoses diagnostic dx icd disease illness condition symptom health
        medical drug medication medicine prescription dose therapy treatment surgery procedure allergy hiv
        cancer pregnant pregnancy contraceptive disability dvet drem dphy deye dear smoker smoking alcohol
        blood result outcome diagnose krankheit medikament therapie befund behandlung ergebnis maladie
        medicament traitement resultat diagnostico enfermedad medicamento tratamiento resultado"""),
    _Hint(_S, "money", 0, """income salary wage pay earnings pincp povpip poverty capital wealth debt loan
        balance credit finance einkommen gehalt lohn schulden salaire revenu dette salario sueldo ingreso
        renta deuda"""),
    _Hint(_S, "a rating", 0, "score grade gpa rating iq"),
    _Hint(_S, "beliefs or conduct", FEW, "political vote sexual-orientation criminal conviction arrest"),
    _Hint(_O, "a survey weight", 0, """fnlwgt pwgtp wgtp sample-weight sampling-weight survey-weight
        person-weight"""),
)
# Only if no other rule matches ("drug name" is about a drug); labels only for the last column.
_WEAK_RULES = (
    _Hint(_I, _NUMBERS_OF_PERSONS[1], 0, "id identifier kennung identifiant identificador patient paciente"),
    _Hint(_I, "a name", 0, "name nom nombre"),
)
_LABEL_RULES = (_Hint(_S, "a class label", FEW, "class label target klasse classe clase"),)
# fmt: on
_OF = {"of", "at", "in", "on", "for", "per", "de", "du", "des", "del", "von", "bei"}
_YEAR = {"year", "years", "jahr", "annee", "ano"}

_IDENTIFIERS = {  # recognized by their form, regardless of the column's name
    "e-mail addresses": r"^\S+@\S+\.\S+$",
    "web addresses": r"^(https?://|www\.)\S+$",
    "IP addresses": r"^\d{1,3}(\.\d{1,3}){3}$",
    "official numbers": r"^\d{3}-\d{2}-\d{4}$|^[A-Z]{2}\d{2}[ 0-9A-Z]{11,36}$",
}
_ODD_DATES = r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|^\s*\d{4}[./]\d{1,2}[./]\d{1,2}\b"
_ENOUGH = 10_000  # texts that show which form most of a column have
_NUMBERS = r"^\s*-?\d+(\.\d+)?\s*$"


class _Facts(NamedTuple):
    """Facts about the values of a column."""

    kind: Kind
    distinct: int
    missing: int
    records: int
    unique: int
    text: bool  # neither numbers nor ISO dates
    whole: bool  # whole numbers only
    form: str | None  # what its texts are, if they are identifiers
    odd_dates: bool  # dates in another form
    odd_one_out: bool  # numbers but for one text


def _read(frame: IntoDataFrame) -> pl.DataFrame:
    """Return a frame with null wherever a value is missing."""
    data = as_frame(frame)
    return pl.DataFrame({name: _cells(data[name]) for name in data.columns})


def _cells(series: nw.Series[Any]) -> pl.Series:
    try:
        cells = to_polars(series)
    except InputError:
        cells = pl.Series(dtype=pl.Object)
    if cells.dtype == pl.Object:  # values of several types are judged by their texts
        pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
        cells = pl.Series([None if null else str(value) for value, null in pairs], dtype=pl.String)
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        return cells.set(cells == "", None)
    return cells.fill_nan(None) if cells.dtype.is_float() else cells


def _facts(cells: pl.Series) -> _Facts:
    counts = pl.DataFrame({"value": cells}).group_by("value").agg(pl.len().alias("records"))
    values = counts["value"].drop_nulls()
    kind = _kind(values)
    written = cells.dtype == pl.String
    texts = values if written and kind.any_text else values.clear().cast(pl.String)
    some = cells.drop_nulls().gather_every(len(cells) // _ENOUGH + 1) if len(texts) else texts
    return _Facts(
        kind=kind,
        distinct=len(values),
        missing=cells.null_count(),
        records=len(cells),
        unique=int((counts["records"] == 1).sum()),
        text=len(texts) > 0,
        whole=kind.numeric and not (_matches(values, "[.eE]") if written else cells.dtype.is_float()),
        form=next((form for form, pattern in _IDENTIFIERS.items() if _mostly(some, pattern)), None),
        odd_dates=_mostly(some, _ODD_DATES),
        odd_one_out=_mostly(some, _NUMBERS) and 2 < len(texts) == _matches(texts, _NUMBERS) + 1,
    )


def _kind(values: pl.Series) -> Kind:
    # If some texts are neither numbers nor dates, the others need not be examined.
    some = infer_kind(nw.from_native(values.head(_ENOUGH), series_only=True))
    return some if some.any_text else infer_kind(nw.from_native(values, series_only=True))


def _matches(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.contains(pattern).sum())


def _mostly(texts: pl.Series, pattern: str) -> bool:
    return 2 * _matches(texts, pattern) > len(texts)


def _suggestion(name: str, facts: _Facts, *, last: bool) -> Suggestion:
    role, why, rule = _role(name, facts, last=last)
    kind, share = facts.kind, facts.unique / max(facts.records, 1)
    years = any(_YEAR.intersection(words) for words in _readings(name))
    codes = rule is not None and facts.distinct <= rule.codes and not years
    if codes and kind.numeric:
        kind = Kind.CATEGORICAL
        why += "; its numbers are codes, not quantities, so it is categorical"
    elif facts.odd_dates:
        why += "; its dates are not in the format YYYY-MM-DD: set date_format to make it a date"
    elif facts.odd_one_out and not codes:
        why += "; all values but one are numbers: if that one means missing, declare it as a missing mark"
    return Suggestion(name, role, kind, why, facts.distinct, facts.missing, share)


def _role(name: str, facts: _Facts, *, last: bool) -> tuple[Role, str, _Hint | None]:
    rule = _named(name, last)
    if facts.form is not None:
        return Role.IDENTIFIER, f"its values look like {facts.form}", rule
    kind = Kind.DATE if facts.odd_dates else facts.kind
    known = Role.QUASI, f"looks identifying: others may know {kind.often_known}", None
    if kind.known_if_sensitive and (rule is None or rule.role not in _ADVICE):
        return known
    if rule is not None:
        return rule.role, f"its name suggests {rule.meaning}", rule
    if kind.often_known:
        return known
    enough = OFTEN_UNIQUE if facts.text else NEARLY_ALL
    if (facts.text or facts.whole) and facts.unique > enough * facts.records:
        return Role.IDENTIFIER, f"looks identifying: {_alone(facts)}", None
    return Role.OTHER, "nothing in its name or values suggests a role", None


def _named(name: str, last: bool) -> _Hint | None:
    """Return the rule that fits the name of a column."""
    for rules in (_BY_WORDS, _BY_WEAK_WORDS, _BY_LABEL_WORDS if last else {}):
        for words in _readings(name):
            # The words before "of" or "at" take precedence: an "age at diagnosis" is an age.
            head = next((place for place, word in enumerate(words) if word in _OF), 0)
            rule = _last_match(words[:head], rules) or _last_match(words, rules)
            if rule is not None:
                return rule
    return None


def _readings(name: str) -> Iterator[list[str]]:
    """Yield the words of a name without accents: split also at capitals, then only at what is no letter."""
    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    for word in ("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", "[A-Za-z]+"):
        yield [found.lower() for found in re.findall(word, plain)]


def _last_match(words: Sequence[str], rules: Mapping[str, _Hint]) -> _Hint | None:
    for end in range(len(words), 0, -1):
        for run in ("-".join(words[max(end - 2, 0) : end]), words[end - 1]):
            if rule := rules.get(run) or rules.get(run.removesuffix("s")):
                return rule
    return None


_BY_WORDS, _BY_WEAK_WORDS, _BY_LABEL_WORDS = (
    {word: rule for rule in rules for word in rule.words.split()}
    for rules in (_RULES, _WEAK_RULES, _LABEL_RULES)
)


def _singled_out(
    name: str, facts: Mapping[str, _Facts], table: pl.DataFrame, quasi: Sequence[str]
) -> str | None:
    """Return how a column singles out records, alone or with a quasi-identifier; None if it does not."""
    own = facts[name]
    if own.unique > OFTEN_UNIQUE * own.records:
        return _alone(own)
    for other in sorted(quasi, key=lambda each: -facts[each].distinct):
        theirs = facts[other]
        # With few records for each value, those equal here could be equal there by chance.
        if 1 < theirs.distinct <= own.distinct <= own.records / 5 and _decides(table.select(name, other)):
            return f"it gives away {other!r}: records that agree in it also agree in {other!r}"
        # No more records can be unique than there are pairs of values.
        pairs = (own.distinct + 1) * (theirs.distinct + 1)
        if own.distinct > 1 and theirs.unique <= own.records / 4 and pairs > OFTEN_UNIQUE * own.records:
            unique = int(table.select(name, other).is_unique().sum())
            if unique > OFTEN_UNIQUE * own.records:
                return f"together with {other!r} it is unique in {unique / own.records:.0%} of the records"
    return None


def _alone(facts: _Facts) -> str:
    return f"{facts.unique / facts.records:.0%} of the records have a unique value"


def _decides(pair: pl.DataFrame) -> bool:
    """Return whether records equal in the first column are equal in the second; most often a few show it."""
    return all(part.n_unique() == part.to_series(0).n_unique() for part in (pair.head(5_000), pair))
