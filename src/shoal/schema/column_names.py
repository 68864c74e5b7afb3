"""What the names of columns suggest: roles, and whether numbers are codes or quantities."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shoal.schema.column import Role

FEW = 12
"""At most this many different numbers are taken for codes where the name of the column suggests codes."""


class Hint(NamedTuple):
    """What a word in the name of a column suggests."""

    role: Role
    meaning: str
    codes: float  # up to how many different numbers are codes, not quantities
    words: str


_I, _Q, _S, _W = Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.WEIGHT
NUMBERS_OF_PERSONS = ("a number that identifies a person", "an identifier")
_ANY = float("inf")
# The role of a column whose name has one of these words (or its plural in -s), or two in a row (first-name).
# The last match in a name counts: a "patient age" is an age.
# fmt: off
_RULES = (
    Hint(_I, "a person's name", 0, """surname firstname lastname fullname username first-name last-name
        full-name given-name family-name maiden-name user-name vorname nachname geburtsname prenom
        apellido"""),
    Hint(_I, NUMBERS_OF_PERSONS[0], 0, """ssn social-security passport license mrn
        medical-record record-number case-number insurance-number account iban credit-card card-number
        patient-id person-id user-id customer-id client-id subject-id member-id record-id employee-id
        student-id case-id tax-id dni nif nie nir ausweis steuernummer versichertennummer patientennummer
        fallnummer konto pasaporte"""),
    Hint(_I, "a way to reach a person", 0, """email e-mail mail phone telephone tel mobile fax address street
        ip mac-address imei url website uuid guid photo lat latitude lon longitude gps strasse hausnummer
        anschrift adresse telefon handy kennzeichen rue courriel direccion calle telefono correo"""),
    Hint(_I, "free text", 0, """comment remark note narrative free-text freitext kommentar bemerkung
        comentario"""),
    Hint(_Q, "age or birth", 0, """age agep birth birthdate birthday birthyear born dob yob alter geburt
        geburtsdatum geburtstag geburtsjahr naissance edad nacimiento"""),
    Hint(_Q, "sex or gender", FEW, "sex gender geschlecht sexe genre sexo genero"),
    Hint(_Q, "a postal or area code", _ANY, "zip zipcode postal postcode plz postleitzahl puma fips tract"),
    Hint(_Q, "a place", FEW, """city town village county state province region district country residence
        location stadt ort wohnort kreis landkreis gemeinde bundesland land ville commune departement pays
        ciudad municipio provincia pais"""),
    Hint(_Q, "origin or religion", FEW, """race rac ethnic ethnicity hisp hispanic nationality citizenship
        ancestry language native religion faith herkunft nationalitat staatsangehorigkeit sprache konfession
        nationalite langue origine raza etnia nacionalidad idioma"""),
    Hint(_Q, "marital status or family", FEW, """marital married msp relationship spouse family household
        familienstand haushalt etat-civil situation-familiale estado-civil"""),
    Hint(_Q, "the size of a family", 0, """family-size household-size child children sibling noc npf kinder
        enfant hijo"""),
    Hint(_Q, "education", 0, """education edu school degree bildung ausbildung schulabschluss diplome
        educacion"""),
    Hint(_Q, "work", FEW, """occupation job profession employment employer employed working workclass
        work-class company beruf arbeitgeber metier emploi ocupacion profesion empleo trabajo"""),
    Hint(_Q, "an industry", _ANY, "industry indp naics branche"),
    Hint(_Q, "housing", FEW, "housing tenure own-rent dwelling wohnung logement vivienda"),
    Hint(_Q, "a stay or a visit", 0, """admission admitted admit discharge discharged visit appointment
        hospital clinic ward death died deceased aufnahme entlassung sortie admision alta fecha-ingreso"""),
    Hint(_Q, "body measurements", 0, "height weight bmi grosse gewicht taille poids altura peso"),
    Hint(_S, "health", FEW, """diagnosis diagnoses diagnostic dx icd disease illness condition symptom health
        medical drug medication medicine prescription dose therapy treatment surgery procedure allergy hiv
        cancer pregnant pregnancy contraceptive disability dvet drem dphy deye dear smoker smoking alcohol
        blood result outcome diagnose krankheit medikament therapie befund behandlung ergebnis maladie
        medicament traitement resultat diagnostico enfermedad medicamento tratamiento resultado"""),
    Hint(_S, "money", 0, """income salary wage pay earnings pincp povpip poverty capital wealth debt loan
        balance credit finance einkommen gehalt lohn schulden salaire revenu dette salario sueldo ingreso
        renta deuda"""),
    Hint(_S, "a rating", 0, "score grade gpa rating iq"),
    Hint(_S, "beliefs or conduct", FEW, "political vote sexual-orientation criminal conviction arrest"),
    Hint(_W, "a survey weight", 0, """fnlwgt pwgtp wgtp sample-weight sampling-weight survey-weight
        instance-weight weight-survey weight-sample weight-sampling design-weight weight-design final-weight
        weight-final expansion-factor weighting-factor gewichtung hochrechnungsfaktor hochrechnung ponderacion
        person-weight"""),
)
# Only if no other rule matches ("drug name" is about a drug); labels only for the last column.
_WEAK_RULES = (
    Hint(_I, NUMBERS_OF_PERSONS[1], 0, "id identifier kennung identifiant identificador patient paciente"),
    Hint(_I, "a name", 0, "name nom nombre"),
)
_LABEL_RULES = (Hint(_S, "a class label", FEW, "class label target klasse classe clase"),)
# fmt: on
_OF = {"of", "at", "in", "on", "for", "per", "de", "du", "des", "del", "von", "bei"}
_QUANTITIES = {
    *("year", "years", "jahr", "annee", "ano"),
    *("count", "number", "num", "nr", "size", "total", "members", "persons", "people", "anzahl"),
}
"""Words of names whose numbers are quantities even if they are few."""


def are_codes(name: str, distinct: int, *, last: bool = False) -> bool:
    """Return whether the numbers of a column are codes, such as 1 and 2 for the sexes, not quantities.

    Parameters
    ----------
    name
        The name of the column.
    distinct
        The number of its different values.
    last
        Whether it is the last column of the table, which may be a label.
    """
    rule = named(name, last)
    quantity = any(_QUANTITIES.intersection(words) for words in _readings(name))
    return rule is not None and distinct <= rule.codes and not quantity


def named(name: str, last: bool) -> Hint | None:
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


def _last_match(words: Sequence[str], rules: Mapping[str, Hint]) -> Hint | None:
    for end in range(len(words), 0, -1):
        for run in ("-".join(words[max(end - 2, 0) : end]), words[end - 1]):
            if rule := rules.get(run) or rules.get(run.removesuffix("s")):
                return rule
    return None


_BY_WORDS, _BY_WEAK_WORDS, _BY_LABEL_WORDS = (
    {word: rule for rule in rules for word in rule.words.split()}
    for rules in (_RULES, _WEAK_RULES, _LABEL_RULES)
)
