"""An attacker who has the token, or a hostile page in the browser, writes own messages to the websocket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from visitor import Forger, Server, running

from shoal.samples import hospital
from shoal.web.messages import cleaned
from shoal.web.planning import EXTRAS

SECRET = "hunter2-do-not-show"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tables")
    hospital(60).write_csv(folder / "patients.csv")
    with running(folder, tmp_path_factory.mktemp("temporary"), "--limit", "4") as started:
        yield started


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a file of the user that was never given to the page."""
    path = tmp_path / "victim.csv"
    path.write_text(f"name,word\nann,{SECRET}\nbob,{SECRET}\n")
    return path


def table_at_hand(server: Server) -> Forger:
    """Return a client whose columns are shown."""
    forger = Forger(server)
    forger.update(folder_file="patients.csv")
    assert "columns_done" in forger.listen("columns_done")
    return forger


def columns(**changes: object) -> dict[str, object]:
    """Return what stands in the fields of all columns."""
    roles = ["identifier", "identifier", *["quasi"] * 6, "sensitive", "other"]
    usual = {
        "kind": "categorical",
        "hierarchy": "none",
        "rule": "",
        "levels": None,
        "missing": "category",
        "marks": "",
    }
    usual |= {"weight": 1, "order": "", "dates": "", "separator": ""}
    fields = {f"{name}_{place}": value for place in range(10) for name, value in usual.items()}
    return {**fields, **{f"role_{place}": role for place, role in enumerate(roles)}, **changes}


PROMISE = {"model": "freeform", "k": "3", "l": "", "p": "", "entropy_l": "", "method": "", "effort": ""}
PROMISE |= {"form": "csv", "keep_key": False, "seed": "", "confirmed": True}
PROMISE |= {"predict": "", "run_again": "", "diverse": [], **dict.fromkeys(EXTRAS, "")}


@pytest.mark.parametrize("field", ["upload", "upload:shiny.file", "upload:shiny.number"])
@pytest.mark.parametrize("ending", [".csv", ".docx"])
def test_no_message_has_the_server_read_or_remove_a_file(
    server: Server, victim: Path, field: str, ending: str
) -> None:
    info = {"name": f"x{ending}", "size": 1, "type": "text/csv", "datapath": str(victim)}
    for forged in ([info], {"0": info}, [[info]], info):
        with Forger(server) as forger:
            forger.update(**{field: forged})
            told = forger.listen("columns_done", seconds=3)
        assert SECRET not in told
        assert victim.read_text().count(SECRET) == 2


def test_nor_does_the_first_message(server: Server, victim: Path) -> None:
    info = {"name": "x.csv", "size": 1, "type": "text/csv", "datapath": str(victim)}
    with Forger(server) as forger:
        forger.say({"method": "init", "data": {"upload": [info]}})
        assert SECRET not in forger.listen(SECRET, seconds=2)
    assert victim.exists()


@pytest.mark.parametrize("field", ["levels_6", "levels_6:shiny.file"])
def test_no_message_has_the_server_read_levels(server: Server, victim: Path, field: str) -> None:
    victim.write_text(f"f;{SECRET};*\nf;other;*\n")
    with table_at_hand(server) as forger:
        forger.update(**columns(hierarchy_6="file"))
        forger.update(**{field: [{"name": "x.csv", "datapath": str(victim)}]})
        forger.press("columns_done")
        told = forger.listen(SECRET, seconds=3)
    assert SECRET not in told
    assert victim.exists()


def test_a_file_of_another_session_cannot_be_taken(server: Server) -> None:
    with Forger(server) as other, Forger(server) as forger:
        other.upload(b"f;*\nm;*\n", "levels.csv", "levels_3")
        stored = next(server.temporary.glob("*/fileupload-*/*/0.csv"))
        forger.update(upload=[{"name": "x.csv", "datapath": str(stored)}])
        assert "columns_done" not in forger.listen("columns_done", seconds=3)
        assert stored.exists()


def test_levels_of_the_table_before_are_not_used_for_the_next_one(server: Server) -> None:
    with table_at_hand(server) as forger:
        forger.upload(b"f;*\nm;*\n", "levels.csv", "levels_3")
        forger.press("demo")
        forger.listen("columns_done")
        forger.update(
            **{name: value for name, value in columns(hierarchy_3="file").items() if "levels" not in name}
        )
        forger.press("columns_done")
        assert "Choose the hierarchy file" in forger.listen("Choose the hierarchy file", seconds=10)


def test_an_upload_is_taken_by_the_field_of_a_file_only(server: Server) -> None:
    with table_at_hand(server) as forger:
        forger.update(**columns())
        try:
            forger.upload(b"a,b\n1,2\n", "x.csv", "role_0")
            forger.press("columns_done")
            forger.listen(seconds=2)
        except (AssertionError, OSError):
            pass  # it hung up
    assert server.ask("/")[0] == 200


def test_names_of_uploads_are_only_names(server: Server) -> None:
    for name in ("x.\0", "x." + "y" * 5000, "../../x.csv\n", 7, None, ["x.csv"], {"a": 1}):
        with Forger(server) as forger:
            forger.say({"method": "uploadInit", "args": [[{"name": name, "size": 1, "type": ""}]], "tag": 1})
            told = forger.listen('"tag": 1', seconds=5)
            if "uploadUrl" in told:
                address = told.split('uploadUrl": "')[1].split('"')[0]
                assert server.ask(f"/{address}", method="POST", body=b"a\n1\n")[0] < 500


JUNK = (
    *(None, True, -1, 2.5, 1e300, "", "x", "2e", "NaN", "x" * 200_000, "9" * 5000, "\0", "\ud800"),
    *([], ["x"], [None], [[1]], {}, {"a": 1}, float("nan"), float("inf")),
)
FIELDS = (
    *("folder_file", "delimiter", "encoding", "upload", "demo", "columns_done", "model", "k", "l", "p"),
    *("entropy_l", "two_sided", "withhold", "epsilon", "delta", "distance", "up_to", "never", "advise"),
    *("method", "effort", "seed", "form", "keep_key", "go", "cancel", "shown_run", "unknown", "role_3"),
    *("kind_3", "hierarchy_3", "rule_3", "levels_3", "missing_3", "marks_3", "weight_3", "order_3"),
    *("dates_3", "separator_3", "role_99999", ".clientdata_url_search", ".clientdata_output_go_hidden"),
    *("k:shiny.number", "go:shiny.action", "k:shiny.date", "k:shiny.datetime", "k:nonsense", "a:b:c", ":"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_only_plain_values_pass(field: str) -> None:
    for junk in JUNK:
        passed = cleaned(json.dumps({"method": "update", "data": {field: junk}}))
        if passed is None:
            continue
        for name, value in json.loads(passed)["data"].items():
            assert value is None or isinstance(value, str | int | float | list), name
            assert not isinstance(value, list) or (name == "never" and all(isinstance(x, str) for x in value))
            assert not isinstance(value, str) or len(value) <= 100_000
            assert value is None or not name.startswith(("upload", "levels"))
            assert name.count(":") < 2


def plain() -> Iterator[object]:
    """Yield the junk that a field for text can hold."""
    for junk in JUNK:
        if cleaned(json.dumps({"method": "update", "data": {"k": junk}})) is not None and junk != "":
            yield junk


def test_no_value_of_a_column_breaks_the_server(server: Server) -> None:
    """Check by the end of the module, too: a traceback in what the server printed fails it."""
    with table_at_hand(server) as forger:
        for times, junk in enumerate(plain(), start=1):
            changed = {name: junk for name in columns() if not name.startswith("levels")}
            forger.update(**columns(**changed))
            forger.press("columns_done", times)
            assert '"problems": {"' in forger.listen('"problems": {"'), junk
            assert forger.connected
        for name in ("delimiter", "encoding", "shown_run", "folder_file", "model"):
            for junk in plain():
                forger.update(**{name: junk})
        assert forger.connected


def test_no_value_of_a_promise_is_dropped(server: Server) -> None:
    """A value that is not a number stops the run, in every field, with words at that field."""
    with table_at_hand(server) as forger:
        forger.update(**columns())
        forger.press("columns_done")
        assert "Make the release" in forger.listen("Make the release")
        presses = 0
        for model, fields in {
            "freeform": ("k", "l", "p", "entropy_l", "seed"),
            "kk": ("withhold", "chance"),
            "patterned": ("up_to",),
            "dissimilarity": ("epsilon", "delta"),
        }.items():
            usual = {**PROMISE, "model": model, "withhold": "0", "up_to": "", "epsilon": "1", "delta": "0.5"}
            usual |= {"distance": "", "never": [], "two_sided": False, "chance": ""}
            for field in fields:
                for junk in ("2e", "-", "NaN", "inf", "1,5", "0x10", "٣", "1 000", "x" * 5000, "1e999", True):
                    presses += 1
                    forger.update(**usual)
                    forger.update(**{field: junk})
                    forger.press("go", presses)
                    told = forger.listen('"problems": {"')
                    assert f'"problems": {{"{field}"' in told, (field, junk, told[-300:])
        for name in ("model", "method", "effort", "form", "distance"):
            for junk in plain():
                presses += 1
                forger.update(**{**usual, "model": "dissimilarity", "epsilon": "1", "delta": "0.5"})
                forger.update(**{name: junk})
                forger.press("go", presses)
                if junk is not None:
                    assert '"problems": {"' in forger.listen('"problems": {"'), (name, junk)
        assert forger.connected
        assert server.workers() == []


@pytest.mark.parametrize(
    "message",
    [
        *("", "x", "7", "null", "[]", '"method"', "{}", '{"method": 7}', '{"method": "update"}'),
        *('{"method": "update", "data": []}', '{"method": "init", "data": {}}', '{"method": []}'),
        *('{"method": "uploadEnd", "args": [], "tag": 1}', '{"method": "uploadInit", "args": 7, "tag": 1}'),
        *('{"method": "makeRequest", "args": [], "tag": {}}', "[" * 100_000, '{"a":' * 100_000),
        '{"method": "uploadEnd", "args": [{}, []], "tag": 1}',
    ],
)
def test_no_message_breaks_the_server(server: Server, message: str) -> None:
    with Forger(server) as forger:
        forger.say(message)
        forger.listen(seconds=0.3)
    assert server.ask("/")[0] == 200


def test_a_binary_message_is_refused(server: Server) -> None:
    with Forger(server) as forger:
        forger._socket.send_binary(json.dumps({"method": "update", "data": {}}).encode())
        forger.listen(seconds=1)
    assert server.ask("/")[0] == 200
