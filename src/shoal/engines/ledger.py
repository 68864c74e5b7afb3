"""The ledger: a private file that says which releases were made and, by keyed hash, of whom."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.linking import texts_of
from shoal.base.wording import plural
from shoal.errors import InputError, Reason
from shoal.files.staging import staged_file
from shoal.models import Model
from shoal.schema import Schema, as_frame

VERSION = 1
SECRET_BYTES = 32
_BYTES = 16  # of a hash: enough that no two persons share one by chance


@dataclass(frozen=True)
class Ledger:
    """Which releases were made, and whose records are in them, without a value of any record.

    The file is personal data: it can tell whether a certain person is in a release. It is readable by its
    owner only. If it is lost, releases, originals and keys say the same.

    Parameters
    ----------
    secret
        The key of the hashes.
    releases
        Plain data on each release: when it was made, the model, the digest of its table, and the hashes of
        persons and records.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["name"], person="patient")
    >>> ledger = shoal.Ledger.read("ledger.json")
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> ledger = ledger.with_release(patients, schema, release.model, key=release.key)
    >>> ledger.write("ledger.json")
    >>> len(shoal.Ledger.read("ledger.json").releases)
    1
    """

    secret: bytes
    releases: tuple[Mapping[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"Ledger({plural(len(self.releases), 'release')})"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Ledger:
        """Read a ledger; if there is no such file, begin a new one.

        Raises
        ------
        InputError
            If the file is not a ledger.
        """
        file = Path(path)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            known = data["version"] == VERSION
            found = cls(bytes.fromhex(data["secret"]), tuple(data["releases"]))
            whole = len(found.secret) == SECRET_BYTES and all(map(_is_release, data["releases"]))
        except FileNotFoundError:
            return cls(secrets.token_bytes(SECRET_BYTES))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{file} is not a ledger: {error}", reason=Reason.FILE_FORMAT) from None
        if not known or not whole:
            raise InputError(f"{file} is not a ledger of this version", reason=Reason.FILE_FORMAT)
        return found

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger, readable by its owner only; an earlier one is replaced."""
        data = {"version": VERSION, "secret": self.secret.hex(), "releases": [dict(r) for r in self.releases]}
        with staged_file(path, overwrite=True) as staged:
            staged.chmod(0o600)
            staged.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        Path(path).chmod(0o600)

    def with_release(
        self,
        frame: Any,
        schema: Schema,
        model: Model,
        *,
        key: Sequence[int] | NDArray[np.int64],
        digest: str | None = None,
    ) -> Ledger:
        """Return the ledger with one more release.

        Parameters
        ----------
        frame, schema, model
            The original, its schema and the privacy model.
        key
            The position of the record of each released row.
        digest
            The SHA-256 digest of the released file, if there is one.
        """
        persons, records = self._hashes(as_frame(frame)[np.asarray(key)], schema)
        made = {
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "model": {"name": model.name, **model.parameters},
            "sha256": digest,
            # Sorted: the order of rows in a release stays with its key.
            "persons": sorted(set(persons)),
            "records": sorted(set(records)),
        }
        return replace(self, releases=(*self.releases, made))

    def unpublished(self, frame: Any, schema: Schema) -> NDArray[np.int64]:
        """Return the positions of the records of persons who are in no release.

        Raises
        ------
        InputError
            If the schema has no person column, or persons who were published before have other records now.
        """
        persons, records = self._hashes(as_frame(frame), schema)
        who = {each for release in self.releases for each in release["persons"]}
        what = {each for release in self.releases for each in release["records"]}
        before = np.array([each in who for each in persons], dtype=np.bool_)
        changed = [p for p, r in zip(persons, records, strict=True) if p in who and r not in what]
        if changed:
            raise InputError(
                f"{plural(len(set(changed)), 'person')} with {plural(len(changed), 'record')} were published "
                "before, according to the ledger, and have other records now: an attacker can link the two; "
                "leave them out",
                reason=Reason.PUBLISHED_BEFORE,
            )
        return np.flatnonzero(~before)

    def require_named(self, digests: Sequence[str]) -> None:
        """Refuse a call that does not name all releases of the ledger.

        Parameters
        ----------
        digests
            The digests of the released files that are named.
        """
        missing = [each for each in self.releases if each["sha256"] not in digests]
        if missing:
            raise InputError(
                f"{plural(len(missing), 'release')} of the ledger, of {missing[0]['created']} and later, "
                "must be named as well: persons in it may be published again",
                reason=Reason.PUBLISHED_BEFORE,
            )

    def _hashes(self, frame: Any, schema: Schema) -> tuple[list[str], list[str]]:
        """Return keyed hashes of the person and of the record of each row."""
        schema = schema.completed(frame.columns)
        if schema.person is None:
            raise InputError(
                "a ledger needs a column that says whose record each is; name it (person)",
                reason=Reason.PARAMETER,
                parameter="person",
            )
        released = [column.name for column in schema if column.role.released]
        persons = texts_of(frame, [schema.person.name])
        records = texts_of(frame, [schema.person.name, *released])
        return [self._hash(each) for each in persons], [self._hash(each) for each in records]

    def _hash(self, values: tuple[str | None, ...]) -> str:
        written = json.dumps(values, ensure_ascii=False).encode()
        return hmac.new(self.secret, written, hashlib.sha256).digest()[:_BYTES].hex()


def _is_release(noted: Any) -> bool:
    """Return whether this is what a ledger notes of a release."""
    texts = [noted["created"], *noted["persons"], *noted["records"]]
    lists = isinstance(noted["persons"], list) and isinstance(noted["records"], list)
    plain = isinstance(noted["model"], dict) and isinstance(noted["sha256"], str | None)
    return lists and plain and all(isinstance(each, str) for each in texts)
