"""Engines: who runs a method on a table."""

from shoal.engines.large import BlockedRelease, anonymize_file
from shoal.engines.local import anonymize
from shoal.engines.session import spark_session
from shoal.engines.spark import SparkRelease, anonymize_spark

__all__ = [
    "BlockedRelease",
    "SparkRelease",
    "anonymize",
    "anonymize_file",
    "anonymize_spark",
    "spark_session",
]
