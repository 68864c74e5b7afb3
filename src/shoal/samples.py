"""Made-up data for demos, documentation and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.randomness import checked_seed
from shoal.errors import InputError, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

_Integers: TypeAlias = NDArray[np.int64]
_Floats: TypeAlias = NDArray[np.float64]

MISSING = {"occupation": 0.015, "marital": 0.010}
"""Share of the cells of `hospital` that are null."""

# Admissions by age, as straight lines between these points; newborns stand apart.
_AGE_POINTS = (0, 1, 4, 9, 17, 28, 35, 45, 60, 72, 82, 92, 100, 104)
_AGE_WEIGHTS = (500, 35, 18, 10, 25, 66, 62, 52, 90, 125, 112, 42, 6, 1)

_SEXES = ("female", "male", "other")
_SEX_BY_AGE = {  # weight of each sex, from this age on
    0: (48.7, 51.0, 0.3),
    15: (59.0, 40.0, 1.0),
    45: (48.0, 51.5, 0.5),
    80: (58.0, 41.8, 0.2),
}

# Each area's share of the patients and its codes, the largest first.
_ZIP_AREAS = (
    (46, "02139 02138 02141 02140 02142 02143 02144 02145 02134 02135 02115 02116 02118 02130"),
    (22, "02472 02474 02476 02478 02451 02453 02458 02460"),
    (14, "01801 01803 01821 01824 01841 01843 01850"),
    (10, "01902 01904 01905 01915 01960 01970"),
    (6, "03038 03060 03062 03079"),
    (2, "10025 10128"),
)

_WEEKDAYS = (1.20, 1.12, 1.08, 1.05, 1.02, 0.76, 0.77)  # Monday first
_SEASON = 0.12  # how far the middle of January lies above, and that of July below, the average

_MARITAL = ("single", "married", "widowed", "divorced", "separated")
_MARITAL_BY_AGE = {  # weight of each, from this age on
    0: (100, 0, 0, 0, 0),
    18: (94, 5, 0, 0.4, 0.6),
    25: (62, 33, 0.2, 3, 1.8),
    35: (29, 54, 1, 12, 4),
    50: (15, 57, 6, 18, 4),
    65: (7, 54, 22, 15, 2),
    80: (5, 33, 53, 8, 1),
}

# fmt: off
_OCCUPATION_AGES = (0, 6, 16, 20, 25, 35, 55, 63, 68)
_OCCUPATIONS = {  # name: weight from each of the ages above on
    "child":        (1, 0,  0,  0,  0,  0,  0,  0,  0),
    "student":      (0, 1, 82, 40,  8,  1,  0,  0,  0),
    "apprentice":   (0, 0,  8, 10,  1,  0,  0,  0,  0),
    "office clerk": (0, 0,  0,  8, 16, 17, 15, 10,  1),
    "sales":        (0, 0,  3, 10, 11, 10,  9,  6,  1),
    "teacher":      (0, 0,  0,  1,  7,  8,  8,  5,  1),
    "nurse":        (0, 0,  0,  4,  8,  8,  7,  4,  0),
    "physician":    (0, 0,  0,  0,  2,  3,  3,  3,  1),
    "engineer":     (0, 0,  0,  2,  9,  9,  7,  4,  0),
    "builder":      (0, 0,  1,  6,  8,  8,  7,  3,  0),
    "driver":       (0, 0,  0,  3,  5,  6,  6,  4,  0),
    "cook":         (0, 0,  2,  5,  5,  4,  3,  2,  0),
    "manager":      (0, 0,  0,  0,  5,  9,  9,  6,  1),
    "homemaker":    (0, 0,  0,  2,  6,  7,  7,  6,  4),
    "unemployed":   (0, 0,  4,  9,  8,  7,  8,  4,  0),
    "retired":      (0, 0,  0,  0,  0,  1, 10, 45, 91),
}

_DIAGNOSIS_AGES = (0, 1, 5, 15, 20, 35, 45, 60, 75)
_DIAGNOSES = {
    # name: factor for women and for men, typical days in hospital, weight from each of the ages above on
    "Preterm birth":            (1.0, 1.1, 12.0, (16,  0,  0,  0,  0,  0,  0,  0,  0)),
    "Neonatal jaundice":        (1.0, 1.1,  3.0, (22,  0,  0,  0,  0,  0,  0,  0,  0)),
    "Neonatal infection":       (1.0, 1.1,  6.0, (11,  0,  0,  0,  0,  0,  0,  0,  0)),
    "Bronchiolitis":            (1.0, 1.2,  3.0, (14,  8,  0,  0,  0,  0,  0,  0,  0)),
    "Febrile seizure":          (1.0, 1.1,  1.5, ( 3, 11,  1,  0,  0,  0,  0,  0,  0)),
    "Tonsillitis":              (1.1, 1.0,  1.5, ( 0, 10, 12,  9,  4,  1,  0,  0,  0)),
    "Asthma":                   (1.0, 1.0,  2.5, ( 1, 12, 12,  5,  3,  3,  2,  2,  1)),
    "Gastroenteritis":          (1.0, 1.0,  2.0, ( 7, 18, 10,  7,  5,  4,  3,  3,  4)),
    "Influenza":                (1.0, 1.0,  3.5, ( 4,  9,  6,  4,  3,  3,  3,  3,  4)),
    "Pneumonia":                (1.0, 1.1,  6.0, ( 4, 12,  7,  3,  3,  4,  7, 11, 17)),
    "Concussion":               (0.9, 1.2,  1.0, ( 2, 10, 13, 11,  4,  2,  1,  1,  2)),
    "Appendicitis":             (1.0, 1.2,  3.0, ( 0,  2, 18, 15,  7,  5,  3,  1,  0)),
    "Forearm fracture":         (1.0, 1.0,  1.5, ( 0,  6, 14,  6,  3,  2,  2,  2,  2)),
    "Epilepsy":                 (1.0, 1.1,  3.0, ( 2,  5,  6,  3,  2,  2,  1,  1,  1)),
    "Type 1 diabetes":          (1.0, 1.1,  4.0, ( 0,  3,  7,  5,  3,  2,  1,  0,  0)),
    "Childbirth":               (1.0, 0.0,  2.5, ( 0,  0,  0, 24, 99, 65,  0,  0,  0)),
    "Miscarriage":              (1.0, 0.0,  0.8, ( 0,  0,  0,  3,  8,  8,  0,  0,  0)),
    "Alcohol intoxication":     (0.7, 1.4,  1.0, ( 0,  0,  0, 14,  9,  9,  8,  3,  1)),
    "Depression":               (1.3, 0.8, 18.0, ( 0,  0,  2, 11,  9,  9,  8,  3,  2)),
    "Schizophrenia":            (0.8, 1.2, 21.0, ( 0,  0,  0,  2,  4,  3,  2,  1,  0)),
    "Migraine":                 (1.6, 0.6,  1.5, ( 0,  0,  2,  3,  3,  3,  2,  0,  0)),
    "Slipped disc":             (0.9, 1.1,  4.0, ( 0,  0,  0,  1,  6, 11, 11,  6,  3)),
    "Kidney stones":            (0.7, 1.4,  2.0, ( 0,  0,  0,  2,  6,  9,  8,  5,  2)),
    "Gallstones":               (1.4, 0.8,  3.5, ( 0,  0,  0,  2,  7,  9, 10,  8,  6)),
    "Inguinal hernia":          (0.2, 1.7,  1.0, ( 1,  2,  1,  1,  2,  3,  5,  5,  3)),
    "Type 2 diabetes":          (0.9, 1.1,  5.0, ( 0,  0,  0,  0,  1,  4,  9, 10,  8)),
    "Breast cancer":            (1.0, .01,  4.0, ( 0,  0,  0,  0,  1,  6, 12, 10,  6)),
    "Prostate cancer":          (0.0, 1.0,  4.5, ( 0,  0,  0,  0,  0,  0,  5, 14,  8)),
    "Lung cancer":              (0.8, 1.2,  7.0, ( 0,  0,  0,  0,  0,  1,  5,  9,  5)),
    "Colon cancer":             (0.9, 1.1,  9.0, ( 0,  0,  0,  0,  0,  1,  4,  7,  7)),
    "Angina":                   (0.8, 1.2,  2.5, ( 0,  0,  0,  0,  0,  3, 10, 15, 10)),
    "Heart attack":             (0.7, 1.3,  5.0, ( 0,  0,  0,  0,  0,  3, 10, 12, 11)),
    "Atrial fibrillation":      (0.9, 1.1,  3.0, ( 0,  0,  0,  0,  1,  2,  7, 15, 16)),
    "Heart failure":            (1.0, 1.0,  8.0, ( 0,  0,  0,  0,  0,  1,  6, 20, 34)),
    "Stroke":                   (1.0, 1.1,  9.0, ( 0,  0,  0,  0,  1,  2,  6, 12, 17)),
    "COPD":                     (0.9, 1.1,  6.5, ( 0,  0,  0,  0,  0,  1,  7, 14,  9)),
    "Knee osteoarthritis":      (1.3, 0.8,  5.0, ( 0,  0,  0,  0,  0,  1,  8, 15,  8)),
    "Hip fracture":             (1.4, 0.7, 11.0, ( 0,  0,  0,  0,  0,  0,  1,  5, 18)),
    "Urinary tract infection":  (1.5, 0.8,  4.0, ( 5,  4,  2,  3,  3,  3,  3,  5, 10)),
    "Sepsis":                   (0.9, 1.1, 11.0, ( 2,  1,  0,  0,  1,  1,  4, 11, 16)),
    "Multiple sclerosis":       (1.5, 0.6,  4.0, ( 0,  0,  0, .5,  1,  1, .6, .2,  0)),
    "HIV infection":            (0.5, 1.5,  8.0, ( 0,  0,  0, .2, .6, .6, .5, .2,  0)),
    "Tuberculosis":             (0.8, 1.2, 18.0, ( 0, .2, .2, .3, .4, .4, .3, .2, .2)),
}
# fmt: on

_WOMEN = """Ada Alice Anna Carmen Clara Elena Emma Fatima Grace Hannah Ines Julia Leila Lucy Maria Mei Nora
    Olivia Priya Ruth Sofia Teresa"""
_MEN = """Ahmed Andre Carlos Daniel David Emil George Henry Ivan Jack James Jonas Kenji Leo Luis Marco Martin
    Noah Omar Paul Samuel Victor"""
_SURNAMES = """Adams Almeida Bauer Brown Chen Clark Cohen Diaz Evans Fischer Garcia Haddad Hughes Jensen
    Johnson Khan Kim Lopez Miller Moreau Nguyen Novak Okafor Patel Rossi Silva Smith Tanaka Walsh Young"""


def hospital(patients: int = 5_000, seed: int = 2026) -> pl.DataFrame:
    """Return one year of made-up hospital admissions, one row for each patient.

    Parameters
    ----------
    patients
        Number of rows.
    seed
        The same number gives the same table.

    Returns
    -------
    polars.DataFrame
        Columns ``patient`` and ``name`` (identifiers), ``age``, ``sex``, ``zip``, ``admitted``, ``marital``,
        ``occupation``, ``diagnosis`` and ``days`` (length of stay). A few cells of ``marital`` and
        ``occupation`` are null.

    Raises
    ------
    InputError
        If `patients` is negative.
    """
    check_count("patients", patients)
    rng = np.random.default_rng(checked_seed(seed))
    age = _pick(rng, np.interp(range(_AGE_POINTS[-1] + 1), _AGE_POINTS, _AGE_WEIGHTS), patients)
    sex = _pick_by_age(rng, age, list(_SEX_BY_AGE), list(_SEX_BY_AGE.values()))
    diagnosis = _diagnoses(rng, age, sex)
    marital = _pick_by_age(rng, age, list(_MARITAL_BY_AGE), list(_MARITAL_BY_AGE.values()))
    occupation = _pick_by_age(rng, age, _OCCUPATION_AGES, list(zip(*_OCCUPATIONS.values(), strict=True)))
    return pl.DataFrame(
        {
            "patient": _patient_numbers(rng, patients),
            "name": _names(rng, sex),
            "age": pl.Series(age),
            "sex": _labels(_SEXES, sex),
            "zip": _zip_codes(rng, patients),
            "admitted": _admission_dates(rng, patients),
            "marital": _labels(_MARITAL, marital, rng.random(patients) < MISSING["marital"]),
            "occupation": _labels(
                list(_OCCUPATIONS), occupation, rng.random(patients) < MISSING["occupation"]
            ),
            "diagnosis": _labels(list(_DIAGNOSES), diagnosis),
            "days": _stays(rng, age, diagnosis),
        }
    )


def check_count(name: str, value: int) -> None:
    """Refuse a negative count."""
    if value < 0:
        raise InputError(f"{name} is {value}; give 0 or more", reason=Reason.PARAMETER)


def _pick(rng: np.random.Generator, weights: _Floats, size: int) -> _Integers:
    """Draw positions of `weights` in proportion to them."""
    cumulated = np.cumsum(weights)
    picked: _Integers = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return picked


def _pick_by_age(
    rng: np.random.Generator, age: _Integers, starts: Sequence[int], weights: Sequence[Sequence[float]]
) -> _Integers:
    """Draw one position for each age, with the weights of the band of ages in which it lies."""
    band = np.searchsorted(starts, age, side="right") - 1
    picked = np.empty(len(age), dtype=np.int64)
    for number, band_weights in enumerate(weights):
        here = np.flatnonzero(band == number)
        picked[here] = _pick(rng, np.asarray(band_weights, dtype=np.float64), len(here))
    return picked


def _diagnoses(rng: np.random.Generator, age: _Integers, sex: _Integers) -> _Integers:
    by_age = np.array([weights for _, _, _, weights in _DIAGNOSES.values()], dtype=np.float64).T
    women, men = np.array([(woman, man) for woman, man, _, _ in _DIAGNOSES.values()]).T
    picked = np.empty(len(age), dtype=np.int64)
    # The lesser factor for `other`: what only women or only men can have is never drawn there.
    for number, factor in enumerate((women, men, np.minimum(women, men))):
        here = np.flatnonzero(sex == number)
        picked[here] = _pick_by_age(rng, age[here], _DIAGNOSIS_AGES, list(by_age * factor))
    return picked


def _labels(
    labels: Sequence[str], positions: _Integers, missing: NDArray[np.bool_] | None = None
) -> pl.Series:
    """Return the label at each position, and null where `missing`."""
    # A null label after the last one serves the missing cells.
    positions = positions if missing is None else np.where(missing, len(labels), positions)
    return pl.Series([*labels, None], dtype=pl.String).gather(positions)


def _patient_numbers(rng: np.random.Generator, patients: int) -> pl.Series:
    digits = max(6, len(str(patients)))
    return "P-" + pl.Series(rng.permutation(patients) + 1).cast(pl.String).str.zfill(digits)


def _names(rng: np.random.Generator, sex: _Integers) -> pl.Series:
    women, men, surnames = _WOMEN.split(), _MEN.split(), _SURNAMES.split()
    # Names of both sexes are drawn for every patient, so that `other` can have either.
    woman = rng.integers(len(women), size=len(sex))
    man = rng.integers(len(men), size=len(sex)) + len(women)
    either = np.where(rng.random(len(sex)) < 0.5, woman, man)
    given = np.choose(sex, (woman, man, either))
    surname = rng.integers(len(surnames), size=len(sex))
    full_names = [f"{first} {last}" for first in women + men for last in surnames]
    return _labels(full_names, given * len(surnames) + surname)


def _zip_codes(rng: np.random.Generator, patients: int) -> pl.Series:
    codes: list[str] = []
    weights: list[float] = []
    for share, listed in _ZIP_AREAS:
        ranks = np.arange(1, len(listed.split()) + 1)
        codes += listed.split()
        weights += list(share / ranks / np.sum(1 / ranks))
    return _labels(codes, _pick(rng, np.array(weights), patients))


def _admission_dates(rng: np.random.Generator, patients: int) -> pl.Series:
    days = np.arange("2025-01-01", "2026-01-01", dtype="datetime64[D]")
    number = np.arange(len(days))
    weekday = (number + 2) % 7  # 2025 begins on a Wednesday
    season = 1 + _SEASON * np.cos(2 * np.pi * (number - 15) / len(days))
    return pl.Series(days[_pick(rng, np.array(_WEEKDAYS)[weekday] * season, patients)])


def _stays(rng: np.random.Generator, age: _Integers, diagnosis: _Integers) -> pl.Series:
    """Draw skewed lengths of stay; old patients stay somewhat longer."""
    typical = np.array([days for _, _, days, _ in _DIAGNOSES.values()])
    mean = typical[diagnosis] * np.where(age == 0, 1.0, 0.8 + age / 250)
    return pl.Series(rng.gamma(1.6, mean / 1.6).round().astype(np.int64))
