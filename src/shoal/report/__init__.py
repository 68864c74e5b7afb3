"""One page a reader understands, and the same facts as data and as charts."""

from shoal.report.document import Report
from shoal.report.outline import outline
from shoal.report.panel import Material

__all__ = ["Material", "Report", "outline"]
