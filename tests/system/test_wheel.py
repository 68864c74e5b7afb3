"""A wheel: it contains what it must, and works in an environment without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "distribution" / "wheel.py"
TOOLS = ("scikit_build_core", "setuptools_scm", "nanobind", "cmake", "ninja", "auditwheel", "twine")


@pytest.mark.slow
def test_a_wheel_works_where_there_is_no_compiler(
    tmp_path: Path, unavailable: Callable[[str], NoReturn]
) -> None:
    """It is linked from what `make setup` compiled; `make wheel` compiles the source distribution."""
    missing = [name for name in TOOLS if find_spec(name) is None]
    if missing:
        unavailable(f"a wheel is built with {', '.join(missing)}; run make setup")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    same = "--config-settings=cmake.define.SHOAL_WERROR=ON"  # as in make setup, or all is compiled again
    subprocess.run([*pip, same, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    call = [sys.executable, str(SCRIPT), "--wheel", str(wheel), "--python", sys.executable]
    done = subprocess.run(
        [*call, "--output", str(tmp_path / "dist")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "works: Python" in done.stdout
    assert len(list((tmp_path / "dist").glob("shoal_privacy-*.whl"))) == 1


def test_a_wheel_without_the_compiled_core_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "shoal_privacy-1-cp312-abi3-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("shoal/py.typed", "")
    code = "import sys, pathlib, wheel; wheel.check(pathlib.Path(sys.argv[1]))"
    call = [sys.executable, "-c", code, str(wheel)]
    done = subprocess.run(call, cwd=SCRIPT.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "has the cores []" in done.stderr
