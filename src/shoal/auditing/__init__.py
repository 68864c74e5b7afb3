"""The adversary: what someone who knows everybody's quasi-identifiers learns from a release."""

from shoal.auditing.auditor import audit, audit_table
from shoal.auditing.outcome import Audit

__all__ = ["Audit", "audit", "audit_table"]
