"""The documentation is complete: every name, option, key and reason is in it, and the site builds."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import typer.main

import shoal
from shoal.cli.app import app
from shoal.errors import Reason
from shoal.schema import Column

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_every_reason_is_explained() -> None:
    listed = set(
        re.findall(r"^\| `([a-z-]+)` \|", page("how-to/errors.md").split("## Reasons")[1], re.MULTILINE)
    )
    assert listed == {reason.value for reason in Reason}


def test_every_key_of_a_schema_file_is_explained() -> None:
    text = page("how-to/schema.md")
    keys = [field.name for field in dataclasses.fields(Column) if field.name != "name"]
    assert [key for key in keys if f"| `{key}` |" not in text] == []


def test_every_public_name_is_in_the_reference() -> None:
    text = page("reference/api.md")
    assert [n for n in shoal.__all__ if not re.search(rf"^::: shoal\.(\w+\.)*{n}$", text, re.MULTILINE)] == []


def test_every_option_is_in_the_reference() -> None:
    text = page("reference/cli.md")
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        part = text.split(f"## shoal {name}\n")[1].split("\n## ")[0]
        options = [o for parameter in command.params for o in parameter.opts if o.startswith("--")]
        assert [o for o in options if o not in part and o != "--help"] == []


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    # Not --quiet: what is not logged does not count as a warning.
    call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    for file in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img)[^>]+(?:src|href)=[\"']?(https?://[^\"' >]+)", file.read_text()
        )
        assert [address for address in loaded if "canonical" not in address] == [], file
    # The search works from disk: its index is a script, and so is what stands in for a worker.
    assert (tmp_path / "search" / "search_index.js").is_file()
    assert 'src="assets/iframe-worker.js"' in (tmp_path / "index.html").read_text()
