"""The campaign "native-mutants": one change in a kernel that the audit stands on; some test must fail.

Kernels are compiled in ``build/mutants``, the changed room alone for each mutant. Like "mutants", it runs
only by its name.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from drawing import Draw
from mutant_process import WAITING, limit_time
from mutants import equivalent, write_down
from soaking import Campaign, Finding

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutants"
ROOM = "attacks"
SECONDS = 60
"""A mutant that keeps the tests busy for more processor time counts as killed, apart from the others."""
MEMORY = 4 << 30
"""Bytes that tests of a mutant may hold: some of them ask for ever more."""
TESTS = (
    "unit/test_matches.py",
    "property/test_match_laws.py",
    "property/test_link_laws.py",
    "property/test_person_kernels.py",
    "property/test_least_chance.py",
    "unit/test_posterior.py",
    "property/test_worlds.py",
    "property/test_kernels.py",
    "soak/test_soak_slices.py::test_a_slice_of_a_campaign_has_no_findings[forged]",
)
CHANGES = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
    " && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " += ": " -= ", " -= ": " += ",
    "std::min(": "std::max(", "std::max(": "std::min(", "true": "false", "false": "true", "if (": "if (!(",
}  # fmt: skip


def case(draw: Draw, folder: Path) -> str:
    """Change a kernel, compile it, and run the tests that know it."""
    del folder
    core = built()
    file, line, old, new = draw.choice(list(places()))
    sources = ROOT / "native" / ROOM / file, TREE / "native" / ROOM / file
    lines = sources[0].read_text(encoding="utf-8").split("\n")
    before, lines[line] = lines[line], changed(lines[line], old, new)
    name = f"native/{ROOM}/{file}: {before.strip()} -> {lines[line].strip()}"
    if name in equivalent():
        return "equivalent"
    sources[1].write_text("\n".join(lines), encoding="utf-8")
    began = sum(os.times()[2:4])
    try:
        if _compiled():
            return "killed: not compiled"
        code = _tested(core)
    finally:
        sources[1].write_bytes(sources[0].read_bytes())
    CAMPAIGN.counts["mutants"] += 1
    verdict = "killed: too slow" if code == -signal.SIGXCPU else "killed" if code else "survives"
    seconds = sum(os.times()[2:4]) - began
    write_down(verdict, seconds, f"native/{ROOM}/{file}", line + 1, before.strip(), lines[line].strip())
    if verdict == "survives":
        raise Finding(f"survives: line {line + 1} of {name!r}")
    return verdict


def changed(line: str, old: str, new: str) -> str:
    """Return a line of code with its first part of a kind changed."""
    if old != "if (":
        return line.replace(old, new, 1)
    begin = line.index(old) + len(old)
    depth, end = 1, begin
    while depth:
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    return f"{line[: begin - 1]}(!({line[begin : end - 1]})){line[end:]}"


def places() -> Iterator[tuple[str, int, str, str]]:
    """Yield what can be changed: file, line, and the text before and after."""
    for file in sorted((ROOT / "native" / ROOM).glob("*.cpp")):
        for line, text in enumerate(file.read_text(encoding="utf-8").split("\n")):
            code = text.split("//")[0]
            if re.match(r"\s*(#|template|using|throw)", code):
                continue
            for old, new in CHANGES.items():
                balanced = old != "if (" or code.count("(") == code.count(")")
                if old in code and balanced:
                    yield file.name, line, old, new


@functools.cache
def built() -> Path:
    """Return the compiled core of an unchanged copy of the kernels, which its tests pass.

    Raises
    ------
    Finding
        If it cannot be compiled, or its tests fail without a change.
    """
    TREE.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "native", TREE / "native", dirs_exist_ok=True)
    shutil.copy(ROOT / "CMakeLists.txt", TREE)
    for file in (TREE / "native" / ROOM).iterdir():
        file.touch()  # what was compiled may be a mutant of a campaign that was stopped
    asked = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    words = [
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    tool = Path(sys.executable).with_name("cmake")
    subprocess.run(
        [tool, "-S", TREE, "-B", TREE / "build", *words, f"-Dnanobind_DIR={nanobind}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    if _compiled():
        raise Finding("the kernels are not compiled")
    core = next((TREE / "build").glob("_native*.so"))
    if _tested(core):
        raise Finding("tests fail without a change")
    return core


def _compiled() -> int:
    tool = Path(sys.executable).with_name("cmake")
    return subprocess.run([tool, "--build", TREE / "build"], capture_output=True, check=False).returncode


def _tested(core: Path) -> int:
    """Return how the tests end with a core; not 0 if one fails."""
    words = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not large", "--hypothesis-profile=few"]
    files = [str(ROOT / "tests" / each) for each in TESTS]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *files],
            cwd=ROOT,
            env=os.environ | {"SHOAL_NATIVE": str(core)},
            capture_output=True,
            timeout=WAITING * SECONDS,
            preexec_fn=_limited,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -signal.SIGXCPU
    return done.returncode


def _limited() -> None:
    limit_time(SECONDS)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


CAMPAIGN = Campaign("native-mutants", case, slice=0, by_name=True)
