"""What is published: metadata, workflows, container and recipe agree and name no package index."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURATION["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def files() -> Iterator[Path]:
    """Yield all files that belong to the project."""
    call = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git repository")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.endswith((".png", ".parquet", ".gz")):
            yield ROOT / name


def test_no_file_has_the_address_of_a_package_index() -> None:
    address = re.compile(r"--(?:extra-)?index[-]url|https?://[^\s\"']*\.(?:whl|tar\.gz|tgz)\b")
    own = Path(__file__).resolve()
    found = {
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in files()
        if file != own
        for match in address.finditer(file.read_text(encoding="utf-8", errors="replace"))
    }
    assert found == set()


def test_no_document_installs_the_package_of_another_project() -> None:
    wrong = re.compile(r"pip install '?shoal(?!-privacy)\b")
    allowed = {"docs/how-to/install.md"}  # which warns of it
    found = [
        str(file.relative_to(ROOT))
        for file in files()
        if file.suffix in (".md", ".py", ".html", ".ipynb", ".yml", ".toml", "")
        and wrong.search(file.read_text(encoding="utf-8", errors="replace"))
    ]
    assert set(found) - {"tests/unit/test_packaging.py"} == allowed


def test_the_version_is_in_no_file() -> None:
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    assert not re.search(r"^version:", text("CITATION.cff"), re.MULTILINE)


def test_extras_contain_each_other_as_documented() -> None:
    extras = PROJECT["optional-dependencies"]
    assert "shoal-privacy[report]" in extras["web"]
    assert extras["all"] == [
        f"shoal-privacy[{','.join(name for name in extras if name not in ('all', 'dev'))}]"
    ]
    assert "shoal-privacy[all]" in extras["dev"]  # or CI would test less than users install
    page = text("docs/how-to/install.md")
    for name in extras.keys() - {"dev"}:
        assert f"`pip install 'shoal-privacy[{name}]'`" in page


def test_charts_are_not_in_the_core() -> None:
    core = {re.split("[>=]", each)[0] for each in PROJECT["dependencies"]}
    assert not core & {"altair", "vl-convert-python", "shiny", "pyspark"}


def test_the_recipe_asks_for_the_same_packages() -> None:
    recipe = yaml.safe_load(text("distribution/conda/recipe.yaml"))
    asked = {each.replace(" ", "") for each in recipe["requirements"]["run"]} - {"python"}
    assert asked == set(PROJECT["dependencies"])
    built = {each.replace(" ", "") for each in recipe["requirements"]["host"]} - {"python", "pip"}
    assert built == set(CONFIGURATION["build-system"]["requires"])


def test_the_container_has_no_root_and_no_compiler() -> None:
    stages = text("Containerfile").split("\nFROM ")
    assert len(stages) == 3
    assert "g++" in stages[1]
    assert "g++" not in stages[2]
    user, command = stages[2].index("USER shoal"), stages[2].index("ENTRYPOINT")
    assert user < command
    assert '"--no-browser"' in stages[2]
    assert text(".dockerignore") == text(".containerignore")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists_with_few_rights(workflow: Path) -> None:
    loaded = yaml.safe_load(workflow.read_text())
    assert "permissions" in loaded
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    for name, job in loaded["jobs"].items():
        assert "timeout-minutes" in job, name
        assert set(job.get("needs", ()) if isinstance(job.get("needs"), list) else ()) <= set(loaded["jobs"])
        for step in job["steps"]:
            assert "@" in step.get("uses", "@")
            for line in step.get("run", "").splitlines():
                asked = re.match(r"\s*make ([a-z-]+)", line)
                assert asked is None or asked[1] in targets, line
                for path in re.findall(r"\b(?:tests|distribution)/[\w./-]+", line):
                    assert (ROOT / path).exists(), line


def test_packages_reach_the_test_index_first_and_without_a_password() -> None:
    jobs = yaml.safe_load(text(".github/workflows/release.yml"))["jobs"]
    assert jobs["release"]["needs"] == "test-index"
    assert jobs["test-index"]["needs"] == "check"
    for name in ("test-index", "release"):
        assert jobs[name]["permissions"]["id-token"] == "write"
        assert jobs[name]["environment"] == name
        assert "password" not in str(jobs[name])


def test_wheels_are_built_for_every_version_that_is_claimed() -> None:
    versions = {each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if " :: 3." in each}
    built = {
        each.removeprefix("cp3").removesuffix("-*") for each in CONFIGURATION["tool"]["cibuildwheel"]["build"]
    }
    assert {f"3.{minor}" for minor in built} == versions
    assert CONFIGURATION["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"


def test_the_changelog_follows_its_format() -> None:
    lines = text("CHANGELOG.md").splitlines()
    versions = [line for line in lines if line.startswith("## ")]
    assert versions[0].startswith("## [Unreleased]")
    assert all(re.match(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$", line) for line in versions[1:])
    kinds = {line for line in lines if line.startswith("### ")}
    assert kinds <= {
        f"### {kind}" for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    }


def test_libraries_are_installed_beside_the_kernels_from_the_same_list() -> None:
    script = ROOT / "distribution" / "dependencies.py"
    printed = subprocess.run([sys.executable, script, "dev"], capture_output=True, text=True, check=True)
    named = {each for extra in PROJECT["optional-dependencies"].values() for each in extra}
    wanted = {*PROJECT["dependencies"], *(each for each in named if not each.startswith(PROJECT["name"]))}
    assert set(printed.stdout.splitlines()) == wanted  # the extra for development contains all others
