"""The command line: one file for each command, and what they share."""

from shoal.cli.app import main

__all__ = ["main"]
