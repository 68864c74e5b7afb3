"""Publish a table so that an attacker cannot narrow any record down to fewer than k rows."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of `typing` takes longer than all of this
if TYPE_CHECKING:
    import typing

    from shoal.attacking import AttackResult, Attacks, attack
    from shoal.auditing import Audit, JointAudit, audit, joint_audit
    from shoal.engines.again import anonymize_again, anonymize_new
    from shoal.engines.comparison import ComparedRun, Comparison, compare
    from shoal.engines.ledger import Ledger
    from shoal.engines.local import anonymize
    from shoal.engines.on_disk import anonymize_file
    from shoal.engines.repetition import repeated_attack
    from shoal.engines.rerunning import Guesses, RepeatedAttack
    from shoal.engines.scanning import Scan, scan
    from shoal.engines.spark import SparkRelease, anonymize_spark
    from shoal.engines.spark_sessions import spark_session
    from shoal.errors import (
        InfeasibleError,
        InputError,
        InternalError,
        PromiseError,
        ShoalError,
        ShoalWarning,
    )
    from shoal.files.reading import read_table
    from shoal.kinds.hierarchy import Hierarchy
    from shoal.kinds.hierarchy_rules import Intervals, Prefixes
    from shoal.measures import Loss
    from shoal.methods.dissimilarity_limits import Advice, advise
    from shoal.models import (
        KK,
        BetaLikeness,
        Concealment,
        DeltaDisclosure,
        DeltaPresence,
        Dissimilarity,
        Freeform,
        KAnonymity,
        KmAnonymity,
        KMap,
        KOne,
        OneK,
        Patterned,
        SetAnonymity,
        SetDiversity,
        TCloseness,
    )
    from shoal.models.patterns import Pattern
    from shoal.reading import open_release
    from shoal.release import BlockedRelease, Release
    from shoal.schema import Column, Kind, Missing, Role, Schema
    from shoal.schema.long_tables import collect_items

__all__ = [
    "KK",
    "Advice",
    "AttackResult",
    "Attacks",
    "Audit",
    "BetaLikeness",
    "BlockedRelease",
    "Column",
    "ComparedRun",
    "Comparison",
    "Concealment",
    "DeltaDisclosure",
    "DeltaPresence",
    "Dissimilarity",
    "Freeform",
    "Guesses",
    "Hierarchy",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "Intervals",
    "JointAudit",
    "KAnonymity",
    "KMap",
    "KOne",
    "Kind",
    "KmAnonymity",
    "Ledger",
    "Loss",
    "Missing",
    "OneK",
    "Pattern",
    "Patterned",
    "Prefixes",
    "PromiseError",
    "Release",
    "RepeatedAttack",
    "Role",
    "Scan",
    "Schema",
    "SetAnonymity",
    "SetDiversity",
    "ShoalError",
    "ShoalWarning",
    "SparkRelease",
    "TCloseness",
    "advise",
    "anonymize",
    "anonymize_again",
    "anonymize_file",
    "anonymize_new",
    "anonymize_spark",
    "attack",
    "audit",
    "collect_items",
    "compare",
    "joint_audit",
    "open_release",
    "read_table",
    "repeated_attack",
    "scan",
    "spark_session",
]

_LATE = {
    "attacking": ("AttackResult", "Attacks", "attack"),
    "auditing": ("Audit", "JointAudit", "audit", "joint_audit"),
    "engines.again": ("anonymize_again", "anonymize_new"),
    "engines.comparison": ("ComparedRun", "Comparison", "compare"),
    "engines.ledger": ("Ledger",),
    "engines.local": ("anonymize",),
    "engines.on_disk": ("anonymize_file",),
    "engines.repetition": ("repeated_attack",),
    "engines.rerunning": ("Guesses", "RepeatedAttack"),
    "engines.scanning": ("Scan", "scan"),
    "engines.spark": ("SparkRelease", "anonymize_spark"),
    "engines.spark_sessions": ("spark_session",),
    "errors": (
        *("InfeasibleError", "InputError", "InternalError", "PromiseError", "ShoalError", "ShoalWarning"),
    ),
    "files.reading": ("read_table",),
    "kinds.hierarchy": ("Hierarchy",),
    "kinds.hierarchy_rules": ("Intervals", "Prefixes"),
    "measures": ("Loss",),
    "methods.dissimilarity_limits": ("Advice", "advise"),
    "models": (
        *("BetaLikeness", "Concealment", "DeltaDisclosure", "DeltaPresence", "Dissimilarity", "Freeform"),
        *("KAnonymity", "KK", "KMap", "KOne", "KmAnonymity", "OneK", "Patterned"),
        *("SetAnonymity", "SetDiversity", "TCloseness"),
    ),
    "models.patterns": ("Pattern",),
    "reading": ("open_release",),
    "release": ("BlockedRelease", "Release"),
    "schema": ("Column", "Kind", "Missing", "Role", "Schema"),
    "schema.long_tables": ("collect_items",),
}
"""Names that are loaded on first use, by module: importing Shoal takes little time, and a command can handle
signals before it loads large libraries."""

_ROOMS = ("base", "errors", "files", "kernels", "kinds", "models", "schema")
"""Modules that need no import of their own."""


def __getattr__(name: str) -> typing.Any:
    if name == "__version__":
        return import_module("shoal.base.distribution").version()
    for module, names in _LATE.items():
        if name in names:
            globals()[name] = found = getattr(import_module(f"shoal.{module}"), name)
            return found
    if name in _ROOMS:
        return import_module(f"shoal.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
