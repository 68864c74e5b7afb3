"""Engines: who runs a method on a table."""

from shoal.engines.large import BlockedRelease, anonymize_file
from shoal.engines.local import anonymize

__all__ = ["BlockedRelease", "anonymize", "anonymize_file"]
