"""Publishing: assign records to rows at random, shuffle, audit, certify and save."""

from shoal.release.blocked import BlockedRelease
from shoal.release.cautions import column_warnings
from shoal.release.certificate import Certificate, index_notes
from shoal.release.codebook import codebook_of
from shoal.release.release import Release, publish
from shoal.release.rendering import published
from shoal.release.saving import (
    COPIES,
    RELEASE_FILES,
    Format,
    into,
    read_key,
    require_format,
    sha256,
    write_documents,
)

__all__ = [
    "COPIES",
    "RELEASE_FILES",
    "BlockedRelease",
    "Certificate",
    "Format",
    "Release",
    "codebook_of",
    "column_warnings",
    "index_notes",
    "into",
    "publish",
    "published",
    "read_key",
    "require_format",
    "sha256",
    "write_documents",
]
