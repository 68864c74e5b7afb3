"""A plugin of pytest that lets one module of Shoal have another source, as SHOAL_MUTANT says: FILE=SOURCE."""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path

FILE, _, SOURCE = os.environ["SHOAL_MUTANT"].partition("=")
ordinary = SourceFileLoader.get_code


def get_code(self: SourceFileLoader, fullname: str) -> object:
    """Return the code of a module; that of the mutant for its file."""
    if self.path == FILE:
        return compile(Path(SOURCE).read_text(encoding="utf-8"), FILE, "exec", dont_inherit=True)
    return ordinary(self, fullname)


SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
