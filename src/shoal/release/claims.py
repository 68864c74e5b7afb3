"""What the folder of a release claims about itself: its schema, its guarantee, its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.auditing import Audit
from shoal.errors import InputError, Reason, ShoalError
from shoal.files.access import exists, is_file
from shoal.models import Model, make_model
from shoal.reading.codebook import FILE, Codebook
from shoal.release.saving import sha256
from shoal.schema import Column, Kind, Missing, Role, Schema

CERTIFICATE = "certificate.json"


@dataclass(frozen=True, eq=False)
class Claims:
    """What the certificate and the codebook of a release say.

    Parameters
    ----------
    folder
        The folder of the release.
    schema
        The schema of the original.
    certificate
        The certificate as plain data.
    """

    folder: Path
    schema: Schema
    certificate: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Claims:
        """Read what the folder of a release claims.

        Raises
        ------
        InputError
            If the folder has no certificate or no codebook, or one of them is not understood.
        """
        file = folder / CERTIFICATE
        try:
            certificate = json.loads(file.read_text(encoding="utf-8"))
            listed = [(str(each["name"]), Role(each["role"]), each) for each in certificate["columns"]]
            _require_plain(certificate)
        except FileNotFoundError:
            raise InputError(
                f"{folder} has no {CERTIFICATE}; name the released file, and describe the original",
                reason=Reason.MISSING_FILE,
            ) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{file} is not understood: {type(error).__name__} {error}", reason=Reason.RELEASE_UNREADABLE
            ) from None
        notes = {each.name: each for each in Codebook.from_file(folder / FILE).columns}
        columns = []
        for name, role, described in listed:
            column = Column(name, role)
            if name in notes:
                known = notes[name]
                column = replace(
                    column,
                    kind=Kind(known.kind),
                    domain=known.domain,
                    hierarchy=known.hierarchy,
                    missing=Missing(known.missing),
                    missing_marks=known.missing_marks,
                    date_format=known.date_format,
                    separator=known.separator,
                    exact=known.exact,
                    widest=known.widest,
                    bands=known.bands,
                    suppressible=known.suppressible,
                    weight=described.get("weight", 1.0),
                )
            columns.append(column)
        return cls(folder, Schema(tuple(columns)), certificate)

    def model(self, population: Any = None) -> Model:
        """Return the guarantee; a model that is about a population needs its table.

        Raises
        ------
        InputError
            If the certificate does not describe it completely.
        """
        said = dict(self.certificate["model"])
        name = said.pop("name", "")
        said.pop("promise", None)
        if population is not None and "population" in said:
            said["population"] = population
        try:
            return make_model(name, said)
        except (ShoalError, TypeError, ValueError) as error:
            raise InputError(
                f"the certificate does not describe its guarantee completely ({error}); name the model and "
                "its parameters",
                reason=Reason.RELEASE_UNREADABLE,
            ) from None

    @property
    def left_some_out(self) -> bool:
        """Whether it says that records were left out, beyond those with missing values."""
        return bool(self.certificate.get("over_limit") or self.certificate.get("withheld"))

    def disagreements(self, found: Audit) -> Iterator[str]:
        """Yield where the certificate disagrees with its files or an audit."""
        for name, said in self.certificate.get("files", {}).items():
            file = self.folder / name
            if not exists(file):
                yield f"the certificate is about {name}, which is not there"
            elif is_file(file) and sha256(file) != said["sha256"]:
                yield f"{name} is not the file that was certified: its digest differs"
        claimed = self.certificate["audit"]
        for what, said, seen in (
            ("released rows", self.certificate["rows"], found.rows),
            ("records", claimed["records"], found.records),
            ("rows in the smallest class", claimed["k"], found.k),
            ("matches of a record, at least", claimed["concealment"], found.concealment),
        ):
            blocks = "engine" in self.certificate and what != "released rows"
            if (seen < said) if blocks else (seen != said):
                yield f"{what}: {said:,} by the certificate, {seen:,} by this audit"
        if claimed["holds"] and not found.holds and found.promise == self.model():
            yield "the certificate says that its guarantee holds"


def _require_plain(certificate: Mapping[str, Any]) -> None:
    """Raise an error unless all of a certificate that is compared with a release is of the right type."""
    audited, files = certificate["audit"], certificate.get("files", {})
    if not isinstance(certificate["model"], dict) or not isinstance(files, dict):
        raise TypeError("its model and its files must be tables")
    numbers = [certificate["rows"], *(audited[name] for name in ("records", "k", "concealment"))]
    if not all(type(each) is int for each in numbers) or type(audited["holds"]) is not bool:
        raise TypeError("its figures must be whole numbers")
    if not all(isinstance(each["sha256"], str) for each in files.values()):
        raise TypeError("its digests must be texts")
