"""Publishing: draw who gets which row, shuffle, audit, certify and save."""

from shoal.release.release import (
    RELEASE_FILES,
    Format,
    Release,
    described_columns,
    publish,
    published,
    read_key,
    require_format,
)

__all__ = [
    "RELEASE_FILES",
    "Format",
    "Release",
    "described_columns",
    "publish",
    "published",
    "read_key",
    "require_format",
]
