"""Shoal publishes a table so that nobody in it can be singled out among fewer than k records."""

from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.auditing import Audit, audit
from shoal.engines import anonymize
from shoal.errors import InfeasibleError, InputError, InternalError, PromiseError, ShoalError
from shoal.files.reading import read_table
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.measures import Loss
from shoal.methods.dissimilarity_limits import Advice, advise
from shoal.models import (
    KK,
    Concealment,
    Dissimilarity,
    Freeform,
    KAnonymity,
    KOne,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)
from shoal.models.patterns import Pattern
from shoal.release import BlockedRelease, Release
from shoal.schema import Column, Kind, Missing, Role, Schema
from shoal.schema.long_tables import collect_items

if TYPE_CHECKING:
    from shoal.engines import (
        ComparedRun,
        Comparison,
        Scan,
        SparkRelease,
        anonymize_file,
        anonymize_spark,
        compare,
        scan,
        spark_session,
    )
    from shoal.reading import open_release

__all__ = [
    "KK",
    "Advice",
    "Audit",
    "BlockedRelease",
    "Column",
    "ComparedRun",
    "Comparison",
    "Concealment",
    "Dissimilarity",
    "Freeform",
    "Hierarchy",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "Intervals",
    "KAnonymity",
    "KOne",
    "Kind",
    "Loss",
    "Missing",
    "OneK",
    "Pattern",
    "Patterned",
    "Prefixes",
    "PromiseError",
    "Release",
    "Role",
    "Scan",
    "Schema",
    "SetAnonymity",
    "SetDiversity",
    "ShoalError",
    "SparkRelease",
    "advise",
    "anonymize",
    "anonymize_file",
    "anonymize_spark",
    "audit",
    "collect_items",
    "compare",
    "open_release",
    "read_table",
    "scan",
    "spark_session",
]


def __getattr__(name: str) -> Any:
    """Load an engine on first use."""
    if name == "open_release":
        from shoal.reading import open_release

        return open_release
    if name in __all__:
        return getattr(engines, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
