"""Files that Spark reads and writes: tables, and folders that appear in one step."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, Reason, listing
from shoal.files import private_folders, staging
from shoal.files.binary import PARQUET
from shoal.files.formats import format_of
from shoal.files.streams import open_source
from shoal.files.text import DELIMITED, dialect_of, names_delimiter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_files(
    session: SparkSession,
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> DataFrame:
    """Read a table from files that all workers can read; cells are read as `read_table` reads them.

    Parameters
    ----------
    session
        The Spark session.
    path
        Files or folders of delimited text or of Parquet, as paths or as addresses such as
        ``s3a://bucket/table``.
    delimiter, encoding
        Delimiter and encoding of text files. If omitted, they are detected as `read_table` does; at an
        address, they are a comma and UTF-8.

    Raises
    ------
    InputError
        If a file has another format, or other columns than the first.
    """
    named = [path] if isinstance(path, str | os.PathLike) else list(path)
    here = [each for each in named if not is_remote(each)]
    if len(here) not in (0, len(named)):
        raise InputError("give either paths or addresses, not both", reason=Reason.PARAMETER)
    files = [str(each) for each in (open_source(here).files if here else named)]
    addresses = [address_of(file) for file in files]
    texts = [file for file in files if format_of(file) is DELIMITED]
    if not texts:
        others = [file for file in files if here and format_of(file) is not PARQUET]
        if others:
            raise InputError(
                f"{others[0]} cannot be read by Spark: tables must be delimited text or Parquet",
                reason=Reason.FILE_FORMAT,
            )
        return _read_parquet(session, addresses)
    if len(texts) < len(files):
        raise InputError(f"{texts[0]} is text, but other files are not", reason=Reason.FILE_FORMAT)
    for file in filter(names_delimiter, map(Path, files)) if here else ():
        raise InputError(
            f"{file} begins with a line that names its delimiter, which Spark cannot skip; remove that line",
            reason=Reason.FILE_FORMAT,
        )
    if here:
        dialect = dialect_of(Path(files[0]), delimiter, encoding)
        delimiter, encoding = dialect.delimiter, dialect.encoding
    return _read_text(session, addresses, delimiter or ",", encoding or "utf-8")


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether this is an address, not a path on this machine."""
    return "://" in str(path)


def address_of(path: str | os.PathLike[str]) -> str:
    """Return the address of a path, as Spark needs it."""
    return str(path) if is_remote(path) else f"file:{os.path.abspath(path)}"


@contextmanager
def staged_output(
    session: SparkSession, output: str | os.PathLike[str], *, overwrite: bool, ours: Collection[str]
) -> Iterator[str]:
    """Fill a folder that appears only if the block succeeds, like `staged_folder`, at any address.

    Yields
    ------
    str
        The address of a folder to write into.
    """
    if not is_remote(output):
        with staging.staged_folder(output, overwrite=overwrite, ours=ours) as folder:
            yield address_of(folder)
        return
    system, target = _opened(session, str(output))
    if system.exists(target):
        names = sorted(status.getPath().getName() for status in system.listStatus(target))
        foreign = [name for name in names if name not in ours]
        if foreign or (names and not overwrite):
            raise InputError(
                f"{output} holds {listing(foreign or names, most=3)}; choose another folder"
                + ("" if foreign else ", or allow to overwrite them"),
                reason=Reason.OUTPUT_EXISTS,
                parameter="output" if foreign else "overwrite",
            )
    with private_folder(session, output) as aside:
        yield aside
        system.delete(target, True)
        if not system.rename(_opened(session, aside)[1], target):
            raise InputError(f"{output} cannot be written", reason=Reason.OUTPUT_UNWRITABLE)


@contextmanager
def private_folder(session: SparkSession, beside: str | os.PathLike[str]) -> Iterator[str]:
    """Make a folder that only its owner can read, and remove it at the end; yield its address."""
    if not is_remote(beside):
        target = Path(os.path.realpath(beside))
        target.parent.mkdir(parents=True, exist_ok=True)
        with private_folders.private_folder(target) as folder:
            yield address_of(folder)
        return
    parent, _, name = str(beside).rstrip("/").rpartition("/")
    address = f"{parent}/.{name}.{secrets.token_hex(8)}"
    system, path = _opened(session, address)
    system.mkdirs(path, _hadoop(session).permission.FsPermission("700"))
    try:
        yield address
    finally:
        system.delete(path, True)


def write_text(session: SparkSession, address: str, text: str) -> None:
    """Write a small file."""
    if not is_remote(address):
        Path(address.removeprefix("file:")).write_text(text, encoding="utf-8")
        return
    system, path = _opened(session, address)
    stream = system.create(path)
    stream.write(bytearray(text.encode()))
    stream.close()


def digests(session: SparkSession, folder: str) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder that Spark wrote, by name."""
    from pyspark.sql import functions as sf

    files = session.read.format("binaryFile").load(folder)
    rows = files.select("path", sf.sha2("content", 256).alias("digest")).collect()
    return dict(sorted((row["path"].rpartition("/")[2], row["digest"]) for row in rows))


def _read_parquet(session: SparkSession, addresses: Sequence[str]) -> DataFrame:
    table = session.read.parquet(*addresses)
    # Spark assumes that all files have the columns of one, and reads absent columns as missing values.
    wanted: dict[str, Any] | None = None
    for file in sorted(table.inputFiles()):
        found = {field.name: field.dataType for field in session.read.parquet(file).schema}
        wanted = wanted or found
        if found != wanted:
            other = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
            raise _mismatch(f"{file} has other columns than the rest, or of other types: {listing(other)}")
    return table


def _read_text(session: SparkSession, addresses: Sequence[str], delimiter: str, encoding: str) -> DataFrame:
    from pyspark.sql import functions as sf

    reader = session.read.options(
        header=True,
        sep=delimiter,
        encoding="utf-8" if encoding == "utf-8-sig" else encoding,
        quote='"',
        escape='"',
        multiLine=True,  # otherwise a line feed inside quotes would end a record unnoticed
        mode="FAILFAST",
        enforceSchema=False,  # all headers must be the same
    )
    first = reader.csv(addresses[0])
    table = reader.schema(first.schema).csv(list(addresses))
    names = [name.strip() for name in table.columns]
    plain = table.toDF(*(f"c{number}" for number in range(len(names))))
    cells = [sf.nullif(sf.col(name), sf.lit("")) for name in plain.columns]
    return plain.select(*cells).toDF(*names)


def _mismatch(message: str) -> InputError:
    return InputError(f"{message}; make them the same", reason=Reason.SCHEMA)


def _opened(session: SparkSession, address: str) -> tuple[Any, Any]:
    """Return the file system of an address, and its path there."""
    path = _hadoop(session).Path(address)
    settings = session.sparkContext._jsc.hadoopConfiguration()
    return path.getFileSystem(settings), path


def _hadoop(session: SparkSession) -> Any:
    return session.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
