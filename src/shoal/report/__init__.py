"""One page a reader understands, and the same facts as data and as charts."""

from shoal.report.document import Report
from shoal.report.panel import Detail, Material

__all__ = ["Detail", "Material", "Report"]
