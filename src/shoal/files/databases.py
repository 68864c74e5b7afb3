"""Tables in databases: read in batches from one state of the database, written in one transaction."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import polars as pl

from shoal.errors import InputError, Reason
from shoal.files.access import installed
from shoal.files.formats import ROWS
from shoal.files.parsing import check_names
from shoal.files.sql_names import literal, named, parts_of, quoted

_SHOWN = 1_000
_SAFE_CLASSES = ("08", "28", "3D", "3F", "42", "53", "57", "58")
"""Classes of SQLSTATE whose messages never quote a value: connections, rights, names, the server itself."""


def is_database(name: object) -> bool:
    """Return whether a name is the address of a database, not of a file."""
    return isinstance(name, str) and urlsplit(name).scheme in _KINDS


def hidden(address: str) -> str:
    """Return an address of a database without its password, so that it can be shown."""
    plain = re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1@", address)
    return re.sub(r"([?&](?:password|sslpassword|token)=)[^&#]*", r"\1...", plain, flags=re.IGNORECASE)


@dataclass(frozen=True)
class Keys:
    """What a database says about the keys of a table.

    Parameters
    ----------
    primary
        The columns of its primary key.
    foreign
        Columns that refer to another table, and the name of that table.
    """

    primary: tuple[str, ...] = ()
    foreign: tuple[tuple[str, str], ...] = ()


class Database(ABC):
    """An open database. A new kind is a class like the ones below, entered into the table at the end.

    Parameters
    ----------
    address
        Where it is; passwords come from the environment or the files of its own client as well.
    """

    extra = "databases"
    describes = True
    """Whether a table can carry a comment."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.connection = self._connect(address)

    @abstractmethod
    def _connect(self, address: str) -> Any:
        """Return a connection that begins a transaction when it is first used."""

    @abstractmethod
    def steady(self) -> None:
        """Let all later queries see the same state, and rows in the same order."""

    @abstractmethod
    def columns(self, query: str) -> list[tuple[str, bool]]:
        """Return the columns of a query, and of each whether it must be read as text."""

    @abstractmethod
    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query, some at a time."""

    @abstractmethod
    def keys(self, table: str) -> Keys:
        """Return the keys of a table."""

    @abstractmethod
    def ingest(self, name: str, frames: Iterator[pl.DataFrame]) -> None:
        """Create a table and fill it, without ending the transaction."""

    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """Return the errors of its client."""

    def execute(self, statement: str) -> None:
        """Run a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a small query."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def text(self, column: str) -> str:
        """Return the expression that is a column as text."""
        return f"cast({quoted(column)} as text)"

    def comment(self, name: str, text: str) -> None:
        """Write a text to a table."""
        self.execute(f"comment on table {named(name)} is {literal(text)}")

    def cancel(self) -> None:
        """Roll back the transaction."""
        self.connection.rollback()

    def finish(self) -> None:
        """Commit the transaction."""
        self.connection.commit()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class _Adbc(Database):
    """A database with an ADBC driver."""

    driver: str

    def _connect(self, address: str) -> Any:
        return self._driver().connect(self._place(address))

    def _place(self, address: str) -> str:
        return address

    def _driver(self) -> Any:
        installed("pyarrow", self.extra, "a database")
        return installed(f"{self.driver}.dbapi", self.extra, "a database")

    def failures(self) -> tuple[type[Exception], ...]:
        error: type[Exception] = self._driver().Error
        return (error,)

    def columns(self, query: str) -> list[tuple[str, bool]]:
        with self.connection.cursor() as cursor:
            cursor.execute(f"select * from ({query}) as asked limit 0")
            schema = cursor.fetch_arrow_table().schema
        return [(field.name, _opaque(field.type)) for field in schema]

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                yield pl.DataFrame(pl.from_arrow(batch))

    def ingest(self, name: str, frames: Iterator[pl.DataFrame]) -> None:
        first = next(frames)
        schema, table = parts_of(name)
        with self.connection.cursor() as cursor:
            for number, frame in enumerate(_with(first, frames)):
                mode = "create" if number == 0 else "append"
                cursor.adbc_ingest(table, frame.to_arrow(), mode=mode, db_schema_name=schema)


class PostgreSQL(_Adbc):
    """A PostgreSQL server; libpq finds passwords, services and certificates as it always does."""

    driver = "adbc_driver_postgresql"

    def steady(self) -> None:
        self.execute("set transaction isolation level repeatable read, read only")
        self.execute("set local synchronize_seqscans = off")

    def keys(self, table: str) -> Keys:
        place = f"to_regclass({literal(named(table))})"
        found = self.rows(
            "select c.contype::text, a.attname::text, coalesce(c.confrelid::regclass::text, '') "
            "from pg_constraint c join pg_attribute a "
            "on a.attrelid = c.conrelid and a.attnum = any(c.conkey) "
            f"where c.conrelid = {place} and c.contype in ('p', 'f')"
        )
        return Keys(
            tuple(column for kind, column, _ in found if kind == "p"),
            tuple((column, other) for kind, column, other in found if kind == "f"),
        )


class SQLite(_Adbc):
    """A file of SQLite."""

    driver = "adbc_driver_sqlite"
    describes = False

    def _place(self, address: str) -> str:
        return _path(address)

    def steady(self) -> None:
        self.rows("select 1 from sqlite_master limit 1")  # the transaction begins with a read

    def keys(self, table: str) -> Keys:
        columns = self.rows(f"select name, pk from pragma_table_info({literal(table)})")
        others = self.rows(f'select "from", "table" from pragma_foreign_key_list({literal(table)})')
        return Keys(tuple(name for name, key in columns if key), tuple((a, b) for a, b in others))


class DuckDB(Database):
    """A file of DuckDB."""

    extra = "duckdb"

    def _connect(self, address: str) -> Any:
        connection = self._client().connect(_path(address))
        connection.begin()
        return connection

    def _client(self) -> Any:
        installed("pyarrow", self.extra, "a DuckDB file")
        return installed("duckdb", self.extra, "a DuckDB file")

    def failures(self) -> tuple[type[Exception], ...]:
        error: type[Exception] = self._client().Error
        return (error,)

    def steady(self) -> None:
        """Do nothing more: a transaction sees one state, and rows come in the order of insertion."""

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return found

    def columns(self, query: str) -> list[tuple[str, bool]]:
        schema = self.connection.sql(f"select * from ({query}) as asked limit 0").to_arrow_table().schema
        return [(field.name, _opaque(field.type)) for field in schema]

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        for batch in self.connection.sql(query).to_arrow_reader(ROWS):
            yield pl.DataFrame(pl.from_arrow(batch))

    def keys(self, table: str) -> Keys:
        schema, name = parts_of(table)
        found = self.rows(
            "select constraint_type, unnest(constraint_column_names), referenced_table "
            f"from duckdb_constraints() where table_name = {literal(name)} "
            f"and schema_name = {literal(schema or 'main')}"
        )
        return Keys(
            tuple(column for kind, column, _ in found if kind == "PRIMARY KEY"),
            tuple((column, other) for kind, column, other in found if kind == "FOREIGN KEY"),
        )

    def ingest(self, name: str, frames: Iterator[pl.DataFrame]) -> None:
        for number, frame in enumerate(frames):
            self.connection.register("shoal_batch", frame.to_arrow())
            how = f"create table {named(name)} as" if number == 0 else f"insert into {named(name)}"
            self.execute(f"{how} select * from shoal_batch")
            self.connection.unregister("shoal_batch")


_KINDS: dict[str, type[Database]] = {
    "postgresql": PostgreSQL,
    "postgres": PostgreSQL,
    "sqlite": SQLite,
    "duckdb": DuckDB,
}


@contextmanager
def opened(address: str) -> Iterator[Database]:
    """Open a database; what its client refuses becomes an error without passwords and values.

    Raises
    ------
    InputError
        If it cannot be reached, or refuses a statement.
    """
    kind = _KINDS[urlsplit(address).scheme]
    shown = hidden(address)
    failures = kind.failures(kind.__new__(kind))
    try:
        database = kind(address)
    except failures as error:
        raise _refused(shown, error, address) from None
    try:
        yield database
    except failures as error:
        with suppress(*failures):
            database.cancel()
        raise _refused(shown, error, address) from None
    except BaseException:
        with suppress(*failures):
            database.cancel()
        raise
    finally:
        with suppress(*failures):
            database.close()


def _refused(shown: str, error: Exception, address: str) -> InputError:
    """Return what a database said, unless it may quote a value of a record."""
    state = str(getattr(error, "sqlstate", None) or "")
    text = " ".join(str(error).partition("Query was:")[0].split())
    text = re.sub(r"^.*?(?:ERROR|FATAL|Failed to connect): +|^[A-Z_]+: | LINE [0-9]+:.*$", "", text)
    password = _password(address)
    if password:
        text = text.replace(password, "...")
    connecting = "connect" in text.lower() or "unable to open" in text.lower()
    if (
        not connecting
        and state[:2] not in _SAFE_CLASSES
        and not re.search(r"does not exist|no such table", text)
    ):
        text = f"it refused a statement{f' (SQLSTATE {state})' if state else ''}"
    return InputError(f"{shown}: {text.rstrip('.')}", reason=Reason.DATABASE)


def _password(address: str) -> str | None:
    with suppress(ValueError):
        return unquote(urlsplit(address).password or "") or None
    return None


class DatabaseTable:
    """A table or query of a database, read in batches, any number of times, always in the same state.

    Parameters
    ----------
    database
        The database, which must stay open as long as the table is read.
    query
        What is read.
    """

    def __init__(self, database: Database, query: str) -> None:
        self.database = database
        database.steady()
        asked = database.columns(query)
        names = [name for name, _ in asked]
        check_names("the table", names)
        chosen = [f"{database.text(n)} as {quoted(n)}" if text else quoted(n) for n, text in asked]
        self.query = f"select {', '.join(chosen)} from ({query}) as asked"

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows, some at a time; at least one frame, which may have no rows."""
        empty = True
        for batch in self.database.batches(self.query):
            if batch.height:
                empty = False
                yield batch
        if empty:
            yield from self._limited(0)

    def _limited(self, rows: int) -> Iterator[pl.DataFrame]:
        found = list(self.database.batches(f"{self.query} limit {rows}"))
        if found:
            yield pl.concat(found)
            return
        yield pl.DataFrame(schema=dict.fromkeys((n for n, _ in self.database.columns(self.query)), pl.String))

    @cached_property
    def head(self) -> pl.DataFrame:
        """The first rows, if there are any."""
        return next(self._limited(_SHOWN))

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        found = next(self.database.batches(f"select count(*) as n from ({self.query}) as asked"))
        return int(found.item())

    def rows_about(self) -> int:
        """Return the number of rows."""
        return self.rows

    @cached_property
    def size(self) -> int:
        """The approximate number of bytes."""
        head = self.head
        return int(self.rows * head.estimated_size() // max(head.height, 1))

    @cached_property
    def fingerprint(self) -> list[Any]:
        """A random number, because a change of the database in between cannot be noticed."""
        return [uuid4().hex]

    def read(self) -> pl.DataFrame:
        """Return all rows."""
        return pl.concat(self.batches())


def query_of(table: str | None, query: str | None) -> str:
    """Return the query for a table, or the one that was given.

    Raises
    ------
    InputError
        If there is not exactly one of the two.
    """
    if (table is None) == (query is None):
        raise InputError(
            "a database needs the name of a table (table) or a query (query), one of them",
            reason=Reason.PARAMETER,
            parameter="table",
        )
    return f"select * from {named(table)}" if table is not None else str(query).strip().rstrip(";")


def keys_of(address: str, table: str) -> Keys:
    """Return the keys of a table of a database."""
    with opened(address) as database:
        return database.keys(table)


def write_to_database(
    address: str, name: str, frames: Iterable[pl.DataFrame], certificate: str, *, overwrite: bool = False
) -> None:
    """Write a release and its certificate into a database: all of it, or nothing.

    Parameters
    ----------
    address
        The database.
    name
        The table to create.
    frames
        The release, one or more frames with the same columns.
    certificate
        The certificate: a comment on the table, or, in SQLite, the only cell of a table whose name ends in
        ``_certificate``.
    overwrite
        Whether a table of that name is replaced.

    Raises
    ------
    InputError
        If the table exists and is not to be replaced, or the database refuses it.
    """
    with opened(address) as database:
        beside = f"{name}_certificate"
        if overwrite:
            database.execute(f"drop table if exists {named(name)}")
            if not database.describes:
                database.execute(f"drop table if exists {named(beside)}")
        elif _exists(database, name):
            raise InputError(
                f"{hidden(address)} already has a table {name!r}; choose another name, or allow it to be "
                "replaced (overwrite)",
                reason=Reason.OUTPUT_EXISTS,
                parameter="overwrite",
            )
        database.ingest(name, iter(frames))
        if database.describes:
            database.comment(name, certificate)
        else:
            database.ingest(beside, iter([pl.DataFrame({"certificate": [certificate]})]))
        database.finish()


def _exists(database: Database, name: str) -> bool:
    try:
        database.columns(f"select * from {named(name)}")
    except database.failures():
        database.cancel()
        return False
    return True


def _opaque(kind: Any) -> bool:
    """Return whether a type of Arrow is one that only the database understands, or no value at all."""
    name = str(kind)
    return name.startswith(("extension", "month_day_nano", "binary", "large_binary", "duration"))


def _with(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _path(address: str) -> str:
    """Return the file that an address such as ``sqlite:///folder/file.db`` names."""
    split = urlsplit(address)
    place = unquote(split.netloc + split.path)
    # Three slashes begin a relative path, four an absolute one, as elsewhere.
    return place[1:] if place.startswith("/") else place
