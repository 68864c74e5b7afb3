"""The panels of the report, one file each.

Every module in this folder is loaded, and every panel in it registers itself with `report_panel`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
