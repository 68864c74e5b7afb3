"""Shoal publishes a table so that nobody in it can be singled out among fewer than k records."""

from shoal.advice import Advice, advise
from shoal.audit import Audit, audit
from shoal.engines import anonymize
from shoal.errors import InfeasibleError, InputError, InternalError, PromiseError, ShoalError
from shoal.hierarchy import Hierarchy, Intervals, Prefixes
from shoal.io import read_table
from shoal.measures import Loss
from shoal.models import Dissimilarity, Freeform, KAnonymity
from shoal.release import Release
from shoal.schema import Column, Kind, Missing, Role, Schema

__all__ = [
    "Advice",
    "Audit",
    "Column",
    "Dissimilarity",
    "Freeform",
    "Hierarchy",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "Intervals",
    "KAnonymity",
    "Kind",
    "Loss",
    "Missing",
    "Prefixes",
    "PromiseError",
    "Release",
    "Role",
    "Schema",
    "ShoalError",
    "advise",
    "anonymize",
    "audit",
    "read_table",
]
