"""The adversary: what someone who knows everybody's quasi-identifiers learns from a release."""

from shoal.audit.auditor import audit, audit_table
from shoal.audit.outcome import Audit

__all__ = ["Audit", "audit", "audit_table"]
