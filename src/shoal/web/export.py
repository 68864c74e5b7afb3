"""The command and the Python script that make a release without the page, and the archive of its files."""

from __future__ import annotations

import shlex
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from shoal.base.commands import words
from shoal.models import Model, declarations
from shoal.release import RELEASE_FILES
from shoal.web.earlier import After
from shoal.web.state import Plan, Run

SCHEMA, COMMAND, SCRIPT, EVERYTHING = "schema.toml", "repeat.sh", "repeat.py", "release.zip"
KEY = "key.csv"
"""The file that is never part of the archive."""
OUTPUT = "release"
_WITHOUT_SEED = """\
# This release was made with a seed. The seed is not in this file, because anyone who has the seed and the
# original table can undo the shuffle. To make exactly the same release, add {}.
"""


def command(plan: Plan) -> str:
    """Return the command that makes the same release in a folder with the table and the schema.

    It contains the seed, if there is one: it is shown on the page, and not written to files for others.
    """
    given = given_parameters(plan.model)
    parameters = {name: value for name, value in given.items() if name not in plan.model.in_file}
    option, described = _file_of(plan.model)
    if described:
        parameters[option] = f"{option}.toml"
    if plan.model.takes_diversity() and plan.model.diversity is None and plan.schema.sensitive:
        parameters = {**parameters, "l": 1}  # otherwise the command line requires l = 2
    choices = dict(plan.choices)
    stated = choices.pop("about", {})
    asked = {
        "schema": SCHEMA,
        **plan.source.reading,
        "model": plan.model.name,
        **parameters,
        **choices,
        **stated,
        **(plan.after.options if plan.after else {}),
        "format": plan.form if plan.form != "csv" else None,
        "keep_key": plan.keep_key,
        "output": OUTPUT,
    }
    return shlex.join(["shoal", "anonymize", _path(plan), *words(asked)])


def joint_audit_command(run: Run, earlier: str, table: str) -> str:
    """Return the command that audits a release together with an earlier one, of which there is the table."""
    audited = ["shoal", "audit", _path(run.plan), OUTPUT, *words(run.plan.source.reading)]
    return shlex.join([*audited, "--with", earlier, "--with-table", table])


def attack_command(plan: Plan) -> str:
    """Return the command that attacks a release."""
    return shlex.join(["shoal", "attack", _path(plan), OUTPUT, *words(plan.source.reading)])


def script(plan: Plan) -> str:
    """Return the Python script that makes the same release in a folder with the table and the schema.

    It contains the seed, if there is one, like `command`.
    """
    model = f"shoal.{type(plan.model).__name__}({_keywords(given_parameters(plan.model))})"
    saving = {"format": plan.form if plan.form != "csv" else None, "keep_key": plan.keep_key or None}
    choices = _keywords(plan.choices)
    making = "anonymize"
    if plan.after is not None:
        making = "anonymize_again" if plan.after.stable else "anonymize_new"
        choices = _arguments(choices, f"after=[{_earlier(plan.after)}]")
    return "\n".join(
        [
            "import shoal",
            *(["from shoal.release import read_key"] if plan.after and plan.after.key else []),
            "",
            f"table = shoal.read_table({_arguments(repr(_path(plan)), _keywords(plan.source.reading))})",
            f"schema = shoal.Schema.read({SCHEMA!r})",
            f"release = shoal.{making}({_arguments('table', 'schema', model, choices)})",
            "print(release.audit.verdict)",
            f"release.save({_arguments(repr(OUTPUT), _keywords(saving))})",
            "",
        ]
    )


def write_beside(plan: Plan, folder: Path) -> None:
    """Write the files that repeat a run to the folder of its release, without the seed."""
    public, seed_of_command, seed_of_script = plan, "", ""
    if "seed" in plan.choices:
        public = replace(plan, choices={k: v for k, v in plan.choices.items() if k != "seed"})
        seed_of_command = _WITHOUT_SEED.format("--seed with the number to the command")
        seed_of_script = _WITHOUT_SEED.format("seed= with the number to anonymize()")
    texts = {
        SCHEMA: plan.schema.to_toml(),
        COMMAND: f"{seed_of_command}{command(public)}\n",
        SCRIPT: f"{seed_of_script}{script(public)}",
    }
    option, described = _file_of(plan.model)
    if described:
        texts[f"{option}.toml"] = tomli_w.dumps(described)
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")


def bundle(run: Run) -> Path:
    """Return an archive of all files of a run except the key; none of them contains the seed."""
    target = run.folder / EVERYTHING
    if not target.exists():
        names = [
            *(n for n in RELEASE_FILES if n != KEY),
            SCHEMA,
            f"{_file_of(run.plan.model)[0]}.toml",
            COMMAND,
            SCRIPT,
        ]
        unfinished = target.with_suffix(".part")
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=5) as packed:
            for file in (run.folder / name for name in names):
                if file.exists():
                    packed.write(file, f"{OUTPUT}/{file.name}")
        unfinished.replace(target)
    return target


def _path(plan: Plan) -> str:
    # A name that starts with a dash would be read as an option.
    return f"./{plan.source.name}" if plan.source.name.startswith("-") else plan.source.name


def given_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    usual = {field.name: field.default for field in fields(model)}
    return {name: value for name, value in model.parameters.items() if value != usual[name]}


def _earlier(after: After) -> str:
    """Return an earlier release as a tuple of its table, itself and its key, in Python."""
    key = f"read_key({after.key[0]!r})" if after.key else "None"
    return f"(shoal.read_table({after.table[0]!r}), shoal.read_table({after.release[0]!r}), {key})"


def _file_of(model: Model) -> tuple[str, dict[str, Any]]:
    """Return the option that takes a file of parameters, and those that differ from their defaults."""
    given = {name: value for name, value in given_parameters(model).items() if name in model.in_file}
    options = (name for name, declared, _ in declarations(type(model)) if declared.from_file)
    return next(options, ""), given


def _keywords(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)


def _arguments(*words: str) -> str:
    return ", ".join(word for word in words if word)
