"""The command behind ``make soak``: runs campaigns for some minutes and prints what they found.

``python tests/soak/run.py [NAME] [--minutes M] [--seed FIRST] [--case NUMBER]``
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import warnings
from pathlib import Path

# Tables are tiny: handing them to other threads takes longer than the work, and files need no disk.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("SHOAL_THREADS", "1")
if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # helpers of all tests

from campaigns import CAMPAIGNS
from soaking import run_case, soak, summary

from shoal import ShoalWarning


def main() -> int:
    """Run the campaigns that are named; return 1 if one has a finding."""
    parser = argparse.ArgumentParser(description="Run campaigns against faults, bad input and bugs.")
    parser.add_argument("name", nargs="?", choices=list(CAMPAIGNS), help="Campaign to run; all if omitted.")
    parser.add_argument("--minutes", type=float, default=10.0, help="Time for all of them together.")
    parser.add_argument("--seed", type=int, help="Number of the first case; drawn at random if omitted.")
    parser.add_argument("--case", type=int, help="Run this case alone and show its traceback.")
    chosen = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ShoalWarning)
    names = [chosen.name] if chosen.name else [name for name, each in CAMPAIGNS.items() if not each.by_name]
    if chosen.case is not None:
        for name in names:
            print(f"{name} {chosen.case}: {run_case(CAMPAIGNS[name], chosen.case)}")
        return 0
    first = secrets.randbelow(10**9) * 10**6 if chosen.seed is None else chosen.seed
    faults = 0
    for name in names:
        outcome = soak(
            CAMPAIGNS[name],
            first=first,
            minutes=chosen.minutes / len(names),
            found=lambda number, text, name=name: print(f"finding in {name} {number}:\n{text}", flush=True),
        )
        print(*summary(CAMPAIGNS[name], outcome), sep="\n", flush=True)
        faults += len(outcome.findings)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
