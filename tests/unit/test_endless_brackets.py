"""Files that no parser can follow: brackets nested without end, numbers with thousands of digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shoal import InputError, Ledger, Schema
from shoal.reading.codebook import Codebook
from shoal.release.claims import Claims

DEEP = "[" * 100_000
READERS: dict[str, Callable[[Path], object]] = {
    "codebook.json": Codebook.from_file,
    "certificate.json": lambda file: Claims.read(file.parent),
    "ledger.json": Ledger.read,
    "schema.toml": Schema.of,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "content", [DEEP, f"a = {DEEP}", "9" * 5_000, f"[columns.a]\nweight = {'9' * 5_000}"]
)
def test_what_cannot_be_parsed_is_an_error_of_the_input(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("model", ['"ab"', "[1]", "7"])
def test_a_codebook_whose_model_is_no_table(model: str, tmp_path: Path) -> None:
    (tmp_path / "codebook.json").write_text(f'{{"codebook": 1, "columns": [], "model": {model}}}')
    with pytest.raises(InputError, match="is not understood"):
        Codebook.from_file(tmp_path / "codebook.json")


def test_a_schema_with_a_number_that_no_decimal_can_hold(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text("[columns.a]\nweight = 1e9999999999999999999\n")
    with pytest.raises(InputError, match="has a number that is too large"):
        Schema.of(tmp_path / "schema.toml")
