"""Tables in files: reading, streaming, staging and writing."""

# Each of these modules registers its formats; the first one comes first where formats are listed.
from shoal.files import text, transactions, binary, json_lines, spreadsheets, statistics_packages  # isort: skip

__all__ = ["binary", "json_lines", "spreadsheets", "statistics_packages", "text", "transactions"]
