"""Publishing: draw who gets which row, shuffle, audit, certify and save."""

from shoal.release.certificate import Certificate, described_columns, index_notes
from shoal.release.release import Release, publish
from shoal.release.rendering import published
from shoal.release.saving import RELEASE_FILES, Format, read_key, require_format, sha256, write_documents

__all__ = [
    "RELEASE_FILES",
    "Certificate",
    "Format",
    "Release",
    "described_columns",
    "index_notes",
    "publish",
    "published",
    "read_key",
    "require_format",
    "sha256",
    "write_documents",
]
