"""Tables in files: reading, streaming, staging and writing."""
