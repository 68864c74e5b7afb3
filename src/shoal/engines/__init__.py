"""Engines: they run a method on a table in memory, in blocks on disk, or with Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.engines.local import anonymize

if TYPE_CHECKING:
    from shoal.engines.comparison import ComparedRun, Comparison, compare
    from shoal.engines.on_disk import anonymize_file
    from shoal.engines.scanning import Scan, scan
    from shoal.engines.spark import SparkRelease, anonymize_spark
    from shoal.engines.spark_sessions import spark_session

__all__ = [
    "ComparedRun",
    "Comparison",
    "Scan",
    "SparkRelease",
    "anonymize",
    "anonymize_file",
    "anonymize_spark",
    "compare",
    "scan",
    "spark_session",
]

_LATE = {
    "ComparedRun": "comparison",
    "Comparison": "comparison",
    "Scan": "scanning",
    "SparkRelease": "spark",
    "anonymize_file": "on_disk",
    "anonymize_spark": "spark",
    "compare": "comparison",
    "scan": "scanning",
    "spark_session": "spark_sessions",
}
"""The module of each name that is loaded on first use, because most tables need one engine only."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"shoal.engines.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
