"""Does an installed Shoal work? Run by the Python it is installed for, away from the sources.

It uses nothing but Shoal and what Shoal needs, so that it runs wherever a wheel is tested.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import shoal
from shoal.samples import hospital

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl")


def main() -> None:
    """Check the installation, the library and the command line."""
    if "--no-compiler" in sys.argv:
        found = [name for name in COMPILERS if shutil.which(name)]
        assert not found, f"the environment has compilers: {found}"
    package = Path(shoal.__file__).parent
    assert Path(sysconfig.get_path("platlib")) in package.parents, f"not the installed package: {package}"
    for name in ("py.typed", "kernels/_native.pyi", "report/templates/report.html"):
        assert (package / name).is_file(), f"{name} is missing"
    with tempfile.TemporaryDirectory() as folder:
        library(Path(folder))
        command_line(Path(folder))
    core = Path(sys.modules["shoal.kernels._native"].__file__ or "").name
    print(f"shoal {version('shoal-privacy')} works: Python {sys.version.split()[0]}, {core}")


def library(folder: Path) -> None:
    """Make, audit, write and read releases of three models."""
    frame = hospital(300, seed=1)
    schema = shoal.Schema.infer(
        frame, quasi=["age", "sex", "zip"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    for model in (shoal.Freeform(k=5, l=2), shoal.KAnonymity(k=5), shoal.Concealment(k=5)):
        release = shoal.anonymize(frame, schema, model)
        assert release.audit.holds
        assert release.table.height == frame.height
        assert shoal.audit(frame, release.table, schema, model).holds
        release.save(folder / model.name)
        page = (folder / model.name / "report.html").read_text(encoding="utf-8")
        drawn = find_spec("vl_convert") is not None
        assert ("<svg" in page) is drawn
        assert ("shoal-privacy[report]" in page) is not drawn
        told = shoal.open_release(folder / model.name).count(sex="female")
        assert told.certain <= (frame["sex"] == "female").sum() <= told.possible


def command_line(folder: Path) -> None:
    """Call commands as a user would."""
    scripts = Path(sysconfig.get_path("scripts"))
    program = next(path for path in (scripts / "shoal", scripts / "shoal.exe") if path.exists())

    def call(*words: str) -> str:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert call("--version").strip() == f"shoal {version('shoal-privacy')}"
    assert json.loads(call("demo", "--patients", "500", "--json"))["audit"]["holds"]
    release, schema = "shoal-demo/release/release.csv", "shoal-demo/schema.toml"
    call("audit", "shoal-demo/patients.csv", release, "--schema", schema, "--k", "10", "--l", "2")
    found = {each["name"]: each for each in json.loads(call("doctor", "--json"))}
    assert found["shoal"]["advice"] == ""


if __name__ == "__main__":
    main()
