"""The adversary: what someone who knows everybody's quasi-identifiers learns from a release."""

from shoal.audit.auditor import Audit, audit, audit_table

__all__ = ["Audit", "audit", "audit_table"]
