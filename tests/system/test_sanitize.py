"""The compiled core under sanitizers: no bad address, no undefined behaviour, no data race."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "sanitize.sh"


@pytest.mark.slow
@pytest.mark.parametrize(("what", "runtime"), [("addresses", "libasan.so"), ("races", "libtsan.so")])
def test_kernels_under_sanitizers(what: str, runtime: str, unavailable: Callable[[str], NoReturn]) -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None or shutil.which("bash") is None:
        unavailable(f"sanitizers need bash and a C++ compiler; {compiler} is not there")
    asked = [compiler, f"-print-file-name={runtime}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if not Path(found).is_absolute():  # a compiler that does not have the file repeats its name
        unavailable(f"{compiler} has no {runtime}; install the sanitizers that belong to it")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment.pop("SHOAL_NATIVE", None)
    done = subprocess.run(
        ["nice", "-n", "10", "bash", str(SCRIPT), what],  # pages and Spark wait for answers beside it
        env={**environment, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout
