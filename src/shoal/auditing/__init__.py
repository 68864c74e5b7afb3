"""The attacker: what can be learned from a release by knowing the quasi-identifiers of every record."""

from shoal.auditing.auditor import audit, audit_table
from shoal.auditing.outcome import Audit

__all__ = ["Audit", "audit", "audit_table"]
