"""The command line: one file a command, and what they share."""

from shoal.cli.app import main

__all__ = ["main"]
