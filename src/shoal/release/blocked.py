"""A release that was made block by block: its folder and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.auditing import Audit
from shoal.measures import Loss
from shoal.models import Model
from shoal.release.certificate import Certificate

if TYPE_CHECKING:
    from shoal.report import Report


@dataclass(frozen=True, eq=False)
class BlockedRelease:
    """A release that was made block by block and written to a folder.

    Parameters
    ----------
    folder
        The folder with its files.
    certified
        The certificate.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> patients.write_csv("patients.csv")
    >>> release = shoal.anonymize_file("patients.csv", schema, shoal.KAnonymity(k=5), "out", jobs=1)
    >>> release.certificate["rows"]
    100
    """

    folder: Path | str
    certified: Certificate

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.certified.rows} rows, {self.model.call}, "
            f"blocks={self.certified.engine['blocks']}, gcp={self.loss.gcp:.4f})"
        )

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The certificate as plain data, without a value of any record."""
        return self.certified.as_dict()

    @property
    def model(self) -> Model:
        """The privacy model."""
        return self.certified.model

    @property
    def loss(self) -> Loss:
        """The information loss; figures that need the whole table in memory are None."""
        return self.certified.loss

    @property
    def audit(self) -> Audit:
        """The result of the audit; levels are those of the worst block."""
        return self.certified.audit

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that those who decide on the release should know, as sentences, the most serious first."""
        return self.certified.warnings

    @property
    def publishable(self) -> bool:
        """Whether the release may be published; the certificate has the reasons if not."""
        return not self.certified.reasons_not_to_publish

    @cached_property
    def report(self) -> Report:
        """The report as a page, plain data and charts, without panels that need the whole table in memory."""
        return self.certified.report()
