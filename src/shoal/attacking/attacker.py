"""The attacker: carries out attacks on a release of any tool, and counts how often they succeed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from narwhals.stable.v2.typing import IntoDataFrame

from shoal.attacking.inferring import inference
from shoal.attacking.linking import linkability
from shoal.attacking.results import Attacks
from shoal.attacking.scene import Scene, scene_of
from shoal.attacking.singling_out import singling_out
from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason
from shoal.schema import Schema


def attack(
    original: IntoDataFrame,
    released: IntoDataFrame,
    schema: Schema,
    control: IntoDataFrame | None = None,
    *,
    targets: int = 1000,
    halves: Sequence[Sequence[str]] | None = None,
    confidence: float = 0.95,
    posterior: float = 10.0,
    suppressed_marks: Collection[str] = (),
    seed: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Attacks:
    """Attack a release of any tool: singling out, linkability and inference.

    Each attack is carried out on records of the original, on records of a control group that are not in the
    release, and without the release. The risk is what the attack gains over the control group, or over
    guesses without the release where these succeed more often.

    Parameters
    ----------
    original, released
        The two tables, as any frames that narwhals supports. Released cells may be written as Shoal or ARX
        writes them, or be typed.
    schema
        What the columns of the original are.
    control
        Records from the same source that were held out before the release was made. Without them, risks are
        what attacks gain over guesses without the release.
    targets
        The maximum number of records of the original, and of the control group, that are attacked.
    halves
        Two lists of quasi-identifiers, for linkability; if omitted, each gets every other column, by the
        number of values.
    confidence
        The confidence of the intervals.
    posterior
        Seconds to find out, for inference, how likely each row is each record's, if every way to match them
        is equally likely. Where this is not known by then, rows are weighed by the number of records they
        match.
    suppressed_marks
        Texts for suppressed cells of quasi-identifiers in the release, besides ``*``.
    seed
        Makes the attacks repeatable, unless `posterior` ends some.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.

    Raises
    ------
    InputError
        If a table does not match the schema, a released cell is unreadable, or a parameter is impossible.

    Examples
    --------
    >>> patients = shoal.samples.hospital(300).drop("patient", "name")
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "zip", "sex"], sensitive=["diagnosis"])
    >>> found = shoal.attack(patients[:200], patients[:200], schema, patients[200:], seed=1)
    >>> found["singling-out"].members.share > 0.5
    True

    Notes
    -----
    `Attacks.notes` says if rows of the release cover no record of the original. Then cells may have been read
    in another way than they were meant, such as ``02138`` as a number, and success rates are too low.
    """
    _require(targets, confidence)
    told = progress or (lambda _stage, _share: None)
    randomness = Randomness(seed)
    told("reading tables", 0.0)
    scene = scene_of(
        original,
        released,
        Schema.of(schema),
        control,
        targets=targets,
        randomness=randomness,
        suppressed_marks=suppressed_marks,
    )
    told("singling out", 0.2)
    results = [*singling_out(scene, confidence)]
    notes = [*_doubts(scene)]
    told("linking", 0.5)
    if len(scene.rows.columns) > 1:
        results.append(linkability(scene, halves, confidence))
    else:
        notes.append("Linkability needs two quasi-identifiers or more.")
    told("guessing sensitive values", 0.8)
    results += inference(scene, confidence, posterior)
    if not scene.labels:
        notes.append("Inference needs a sensitive column in the release.")
    told("guessing sensitive values", 1.0)
    return Attacks(
        tuple(results),
        int(scene.is_member.sum()),
        len(scene.release),
        int((~scene.is_member).sum()),
        confidence,
        tuple(notes),
    )


def _doubts(scene: Scene) -> Iterator[str]:
    """Yield why success rates may be too low."""
    if scene.strangers:
        yield (
            f"{scene.strangers:,} of {len(scene.release):,} released rows cover no record of the original: "
            "success rates are too low unless values were changed on purpose."
        )
    missing = int(scene.is_member.sum()) - len(scene.release)
    if missing > 0:
        yield (
            f"The release has {missing:,} rows fewer than the original has records: some of the records that "
            "were attacked are not in it, which lowers the success rates."
        )


def _require(targets: int, confidence: float) -> None:
    """Refuse parameters that are impossible."""
    if isinstance(targets, bool) or not isinstance(targets, int) or targets < 1:
        raise InputError(
            f"targets = {targets!r} is not a positive whole number",
            reason=Reason.PARAMETER,
            parameter="targets",
        )
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence = {confidence!r} must be between 0 and 1",
            reason=Reason.PARAMETER,
            parameter="confidence",
        )
