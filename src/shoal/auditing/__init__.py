"""The attacker: what can be learned from a release by knowing the quasi-identifiers of every record."""

from shoal.auditing.auditor import audit, audit_table
from shoal.auditing.outcome import Audit
from shoal.auditing.together import JointAudit, joint_audit

__all__ = ["Audit", "JointAudit", "audit", "audit_table", "joint_audit"]
