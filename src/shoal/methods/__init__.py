"""How a guarantee is kept: the methods, by the model they serve and by name.

Every module in this folder and in `baselines` is loaded, and every method in it registers itself with
`keeps`.
"""

from importlib import import_module
from pkgutil import walk_packages

from shoal.methods.method import (
    METHODS,
    Circumstances,
    Effort,
    Method,
    Option,
    Progress,
    is_baseline,
    keeps,
    method_for,
    options_of,
    require_counting_persons,
    require_options,
    silent,
    supports_k_alone,
)
from shoal.methods.moving import paced

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = [
    "METHODS",
    "Circumstances",
    "Effort",
    "Method",
    "Option",
    "Progress",
    "is_baseline",
    "keeps",
    "method_for",
    "options_of",
    "paced",
    "require_counting_persons",
    "require_options",
    "silent",
    "supports_k_alone",
]
