"""An attacker waits for what the page shows and does not do: ignored edits, files that say too much."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from visitor import Server, Visitor

from shoal.schema import Schema
from shoal.web.columns import FIELDS


@pytest.fixture
def visitor(browser: Browser, server: Server) -> Iterator[Visitor]:
    visitor = Visitor(browser, server)
    visitor.take("patients.csv")
    visitor.use_columns()
    yield visitor
    browser.driver.get("about:blank")


def schema_of(visitor: Visitor) -> Schema:
    path = Path(visitor.server.temporary) / "schema.toml"
    path.write_bytes(visitor.download("get_schema_toml"))
    try:
        return Schema.read(path)
    finally:
        path.unlink()


def gone(visitor: Visitor, name: str) -> None:
    visitor.wait(f"!document.getElementById({name!r})")


def type_into(visitor: Visitor, name: str, keys: str) -> None:
    """Type as a person does, key by key."""
    entry = visitor.browser.driver.find_element("id", name)
    visitor.browser.run(f"document.getElementById({name!r}).value = ''")
    entry.send_keys(keys)


def test_a_role_that_is_edited_later_is_used(visitor: Visitor) -> None:
    place = 9  # kept as it is
    assert visitor.browser.run(f"return document.getElementById('role_{place}').value") == "other"
    visitor.enter(f"role_{place}", "identifier")
    gone(visitor, "go")  # no run before the columns are confirmed
    visitor.use_columns()
    visitor.make(k=3, l="")
    assert schema_of(visitor).columns[place].role == "identifier"
    assert "days" not in visitor.download("get_csv").decode().splitlines()[0].split(",")


EDITS = {
    "role_9": "identifier",
    "kind_2": "categorical",
    "hierarchy_6": "prefixes",
    "missing_3": "suppress",
    "weight_2": "5",
}


def test_an_edit_of_a_column_takes_back_the_verdict(visitor: Visitor) -> None:
    visitor.make(k=3, l="")
    for field, value in EDITS.items():
        visitor.enter(field, value)
        gone(visitor, "verdict")
        gone(visitor, "go")
        gone(visitor, "get_csv")
        assert "edited after the last run" in visitor.text("#downloads_shown"), field
        # The run can be looked at again; the page then says that it is another one than the screen shows.
        visitor.browser.run("document.querySelector('input[name=shown_run]').click()")
        visitor.wait("document.querySelector('#verdict.broken')")
        visitor.wait("document.getElementById('outdated_shown')?.textContent.includes('other settings')")
        assert "Audit passed" not in visitor.text("#verdict"), field
        visitor.press("restore_run")
        visitor.wait("document.querySelector('#verdict:not(.broken)') && document.getElementById('go')")
        visitor.settle()
        assert "Audit passed" in visitor.text("#verdict"), field


def test_every_field_of_a_column_counts_also_in_one_message_with_a_run(visitor: Visitor) -> None:
    names = visitor.browser.run(
        "return [...document.querySelectorAll('.column:first-child :is(input, select)')].map(each => each.id)"
    )
    assert sorted(names) == sorted(f"{name}_0" for name in FIELDS)
    visitor.enter("l", "")
    visitor.browser.run(
        "Shiny.shinyapp.$socket.send(JSON.stringify("
        "{method: 'update', data: {role_9: 'identifier', 'go:shiny.action': 99}}))"
    )
    assert "Use these columns" in visitor.problem("columns")
    assert visitor.browser.run("return document.getElementById('verdict')") is None


def test_an_edit_of_the_promise_marks_the_verdict(visitor: Visitor) -> None:
    visitor.make(k=3, l="")
    edits = {"k": "4", "l": "1.5", "p": "2", "effort": "fast", "form": "parquet", "seed": "5"}
    for run, (field, value) in enumerate(edits.items(), start=2):
        assert "Audit passed" in visitor.text("#verdict")
        visitor.enter(field, value)
        visitor.wait("document.querySelector('#verdict.broken')")
        visitor.wait("document.getElementById('outdated_shown')?.textContent.includes('other settings')")
        visitor.make(run=run)
        if field != "seed":
            visitor.wait("document.querySelector('#verdict:not(.broken)')")
    # A release from a seed must not be published.
    visitor.wait("document.querySelector('#verdict').textContent.includes('Do not publish')")
    assert "other settings" not in visitor.text("#outdated_shown")
    visitor.choose("k-anonymity")
    visitor.wait("document.getElementById('outdated_shown')?.textContent.includes('other settings')")
    visitor.wait("document.querySelector('#verdict.broken')")


def test_a_half_typed_number_stops_the_run_and_a_weight_the_columns(visitor: Visitor) -> None:
    for field in ("l", "p", "entropy_l", "k"):
        before = visitor.browser.run(f"return document.getElementById({field!r}).value")
        for typed in ("2e", "-", "2,5", "two"):
            type_into(visitor, field, typed)
            visitor.browser.run("document.activeElement.blur()")
            visitor.go()
            visitor.wait(f"document.getElementById('problem-{field}').textContent.startsWith({typed!r})")
            assert "is not a number" in visitor.problem(field)
        visitor.enter(field, before)
    assert visitor.browser.run("return document.getElementById('verdict')") is None
    visitor.browser.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    type_into(visitor, "weight_2", "2e")
    visitor.browser.run("document.activeElement.blur()")
    gone(visitor, "go")
    visitor.press("columns_done")
    assert "is not a number" in visitor.problem("weight_2")


def test_no_file_holds_the_seed(visitor: Visitor) -> None:
    visitor.press("keep_key")
    visitor.make(k=3, l="", seed="987654321987")
    packed = zipfile.ZipFile(io.BytesIO(visitor.download("get_everything")))
    contents = {name: packed.read(name) for name in packed.namelist()}
    contents |= {name: visitor.download(f"get_{name}") for name in ("repeat_sh", "repeat_py", "schema_toml")}
    assert {Path(name).name for name in packed.namelist()} >= {"release.csv", "repeat.sh", "repeat.py"}
    assert not any("key" in name for name in packed.namelist())
    for name, content in contents.items():
        assert b"987654321987" not in content, name
    assert "add --seed" in contents["release/repeat.sh"].decode()
    assert "add seed=" in contents["release/repeat.py"].decode()
    assert "--seed 987654321987" in visitor.text("#command")  # for the eyes of the owner
    assert "secret" not in visitor.text("#get_everything")
    assert "without key and seed" in visitor.text("#downloads_shown")
