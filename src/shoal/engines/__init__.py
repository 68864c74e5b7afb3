"""Engines: they run a method on a table in memory, in blocks on disk, or with Spark."""

from shoal.engines.local import anonymize

__all__ = ["anonymize"]
