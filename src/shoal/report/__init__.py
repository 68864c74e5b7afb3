"""One page a reader understands, and the same facts as data and as charts."""

from shoal.report.chart import Chart
from shoal.report.document import Report
from shoal.report.panel import PANELS, Content, Detail, Grid, Material, in_memory, report_panel

__all__ = [
    "PANELS",
    "Chart",
    "Content",
    "Detail",
    "Grid",
    "Material",
    "Report",
    "in_memory",
    "report_panel",
]
