"""Engines: who runs a method on a table."""

from shoal.engines.local import anonymize

__all__ = ["anonymize"]
