"""Tables in databases: read in one state, written in one transaction, with nothing secret in a message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import call
from polars.testing import assert_frame_equal
from servers import postgresql, program

import shoal
from shoal.errors import InputError, Reason
from shoal.files.databases import DatabaseTable, hidden, is_database, opened, write_to_database
from shoal.files.sql_names import named
from shoal.samples import hospital

pytest.importorskip("adbc_driver_postgresql", reason="the extra databases is not installed")
pytest.importorskip("adbc_driver_sqlite", reason="the extra databases is not installed")
duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")

PASSWORD = "s3cret%word"
SHOAL = (sys.executable, "-m", "shoal")
ROLES = ("--quasi", "age,sex,zip", "--drop", "patient,name", "--sensitive", "diagnosis")

pytestmark = pytest.mark.xdist_group("databases")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Yield the address of a server, without its password."""
    if program("initdb") is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql() as folder:
        yield f"postgresql://owner@/postgres?host={folder}"


@pytest.fixture
def address(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a server whose password is in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return server


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database of each kind."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("address"))
    return f"{request.param}:///{tmp_path / 'file.db'}"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return call(Path.cwd(), *words)


def refused(address: str, **how: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        shoal.read_table(address, **how)
    assert caught.value.reason is Reason.DATABASE
    return caught.value


def test_there_and_back(database: str) -> None:
    patients = hospital(500)
    write_to_database(database, "there", [patients.head(200), patients.tail(300)], "{}", overwrite=True)
    assert shoal.read_table(database, table="there").height == 500
    found = shoal.read_table(database, query="select patient, age, zip from there where age > 40;")
    expected = patients.filter(pl.col("age") > 40).select("patient", "age", "zip")
    assert_frame_equal(found.sort("patient"), expected.sort("patient"), check_dtypes=False)
    with pytest.raises(InputError, match="already has a table 'there'"):
        write_to_database(database, "there", [patients], "{}")
    assert "nowhere" in str(refused(database, table="nowhere"))


def test_a_release_through_the_command_line(database: str, tmp_path: Path) -> None:
    patients = hospital(400)
    write_to_database(database, "visits", [patients], "{}", overwrite=True)
    target = ("--to", database, "--to-table", "visits_release", "--overwrite")
    out = tmp_path / "out"
    done = run("anonymize", database, "--table", "visits", *ROLES, "--k", "5", "-o", str(out), *target)
    assert done.returncode == 0, done.stderr
    released = shoal.read_table(database, table="visits_release")
    text = shoal.read_table(out / "release.csv")
    assert_frame_equal(released.select(pl.all().cast(pl.String)).drop("admitted"), text.drop("admitted"))
    schema = shoal.Schema.infer(
        patients, quasi=["age", "sex", "zip"], drop=["patient", "name"], sensitive=["diagnosis"]
    )
    assert shoal.audit(patients, released, schema, shoal.Freeform(k=5)).holds
    checked = run("audit", database, "--table", "visits", str(out / "release.csv"), *ROLES, "--k", "5")
    assert checked.returncode == 0, checked.stderr


def test_the_certificate_goes_along(address: str, tmp_path: Path) -> None:
    write_to_database(address, "people", [hospital(100)], "{}", overwrite=True)
    target = ("--to", address, "--to-table", "people_release", "--overwrite")
    done = run(
        "anonymize", address, "--table", "people", *ROLES, "--k", "5", "-o", str(tmp_path / "o"), *target
    )
    assert done.returncode == 0, done.stderr
    said = shoal.read_table(
        address, query="select obj_description('people_release'::regclass) as said"
    ).item()
    assert json.loads(said) == json.loads((tmp_path / "o" / "certificate.json").read_text())


def test_blocks_without_a_file_in_between(address: str, tmp_path: Path) -> None:
    patients = hospital(3_000)
    write_to_database(address, "many", [patients], "{}", overwrite=True)
    blocks = ("--engine", "blocks", "--block-rows", "1000", "--jobs", "1")
    target = ("--to", address, "--to-table", "many_release", "--overwrite")
    out = tmp_path / "out"
    done = run("anonymize", address, "--table", "many", *ROLES, "--k", "5", "-o", str(out), *blocks, *target)
    assert done.returncode == 0, done.stderr
    released = shoal.read_table(address, table="many_release")
    assert released.height == 3_000
    assert released["days"].dtype == pl.Int64
    assert sorted(released["days"]) == sorted(patients["days"])
    assert not [each for each in tmp_path.iterdir() if each != out]


def test_types_of_the_server(address: str) -> None:
    query = (
        "select 1.50::numeric(8,2) as amount, '02138'::text as zip, date '2020-01-02' as day, "
        "timestamptz '2020-01-02 03:04:05+02' as seen, 'ab0c8d2e-0000-4000-8000-000000000000'::uuid as id, "
        "interval '1 day' as lasted, '10.0.0.1'::inet as ip, true as ok, array['a','b'] as items, "
        "null::int as n"
    )
    row = shoal.read_table(address, query=query)
    assert row["amount"].item() == "1.50"
    assert row["zip"].item() == "02138"
    assert row["id"].item() == "ab0c8d2e-0000-4000-8000-000000000000"
    assert row["lasted"].item() == "1 day"
    assert row["ip"].item().startswith("10.0.0.1")
    assert row["ok"].item() is True
    assert row["items"].to_list() == [["a", "b"]]
    assert row["n"].item() is None


def test_scan_follows_keys(address: str, tmp_path: Path) -> None:
    statements = [
        "drop table if exists stays, patients",
        "create table patients (number int primary key)",
        "create table stays (stay int primary key, who int not null references patients, age int, sex text)",
        "insert into patients select generate_series(1, 30)",
        "insert into stays select i, 1 + i % 30, 20 + i % 50, case i % 2 when 0 then 'f' else 'm' end "
        "from generate_series(1, 100) i",
    ]
    import adbc_driver_postgresql.dbapi as client

    with client.connect(address) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
    done = run("scan", address, "--table", "stays", "-o", str(tmp_path / "s.toml"), "--json")
    assert done.returncode == 0, done.stderr
    roles = {column["name"]: column["role"] for column in json.loads(done.stdout)["columns"]}
    assert roles["stay"] == "identifier"
    assert roles["who"] == "person"


def test_no_password_in_any_message(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    wrong = server.replace("owner@", "owner:wr0ng%25word@")
    error = str(refused(wrong, table="people"))
    assert "password authentication failed" in error
    assert "wr0ng" not in error
    right = server.replace("owner@", "owner:s3cret%25word@")
    done = run("scan", right, "--table", "pg_catalog.pg_class", "-o", str(tmp_path / "s.toml"))
    assert done.returncode == 0, done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert hidden(right) == server
    assert hidden("postgresql://h/d?user=a&password=b&x=1") == "postgresql://h/d?user=a&password=...&x=1"


def test_a_password_can_be_asked_for(server: str, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PGPASSWORD"}
    words = ("scan", server, "--query", "select 1 as age", "--ask-password", "-o", str(tmp_path / "s.toml"))
    for typed, code in ((PASSWORD, 0), ("wr0ng", 2)):
        command = [*SHOAL, *words, "--overwrite"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=env, input=f"{typed}\n"
        )
        assert done.returncode == code, done.stderr
        assert typed not in done.stdout + done.stderr


def test_a_dropped_connection_is_an_error_without_values(address: str) -> None:
    write_to_database(address, "long", [hospital(2_000)], "{}", overwrite=True)

    def read_and_lose() -> None:
        with opened(address) as database:
            table = DatabaseTable(database, "select * from long")
            with opened(address) as other:
                everyone = "pg_stat_activity where pid <> pg_backend_pid()"
                other.rows(f"select pg_terminate_backend(pid) from {everyone}")
            list(table.batches())

    with pytest.raises(InputError) as caught:
        read_and_lose()
    assert caught.value.reason is Reason.DATABASE
    assert "Hawthorne" not in str(caught.value)


def test_no_value_in_any_message(address: str) -> None:
    error = str(refused(address, query="select cast(name as int) from (values ('Alice')) as t(name)"))
    assert "Alice" not in error
    assert "22P02" in error


def test_no_rights(address: str) -> None:
    import adbc_driver_postgresql.dbapi as client

    with client.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("drop role if exists guest")
        cursor.execute("create role guest login password 'guest'")
        cursor.execute("create table if not exists closed (a int)")
        connection.commit()
    guest = address.replace("owner@", "guest:guest@")
    assert "permission denied" in str(refused(guest, table="closed"))


def test_bad_calls(address: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs the name of a table"):
        shoal.read_table(address)
    with pytest.raises(InputError, match="needs the name of a table"):
        shoal.read_table(address, table="a", query="select 1")
    missing = f"sqlite:///{tmp_path / 'no' / 'file.db'}"
    assert refused(missing, table="a")
    done = run("anonymize", "x.csv", *ROLES, "--k", "5", "-o", str(tmp_path / "o"), "--to", address)
    assert done.returncode == 2
    assert "--to-table" in done.stderr


def test_a_killed_writer_leaves_the_target_as_it_was(address: str) -> None:
    write_to_database(address, "kept", [hospital(50)], "{}", overwrite=True)
    code = (
        "import sys, time\n"
        "from shoal.files.databases import write_to_database\n"
        "from shoal.samples import hospital\n"
        "def frames():\n"
        "    for _ in range(1000):\n"
        "        yield hospital(2000)\n"
        "        print('one', flush=True)\n"
        "write_to_database(sys.argv[1], 'kept', frames(), '{}', overwrite=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, address], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(3):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while True:  # the server notices the broken connection
        try:
            height = shoal.read_table(address, table="kept").height
            break
        except InputError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert height == 50


def test_names(tmp_path: Path) -> None:
    assert named("public.visits") == '"public"."visits"'
    assert named('"a.b"') == '"a.b"'
    assert named('x"; drop table y; --'.replace('"', "")) == '"x; drop table y; --"'
    assert is_database("postgresql://x/y")
    assert not is_database("a.csv")
    assert not is_database(tmp_path)
    assert os.sep in str(tmp_path)
