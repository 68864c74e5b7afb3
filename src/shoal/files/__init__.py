"""Tables in files: reading, streaming, staging and writing."""

# Each of these modules registers its formats; the first one comes first where formats are listed.
from shoal.files import text, transactions, binary  # isort: skip

__all__ = ["binary", "text", "transactions"]
