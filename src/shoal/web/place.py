"""Where the user is: which steps are done and which need attention."""

from __future__ import annotations

from shiny import reactive

from shoal.web.state import Desk

DONE, ATTENTION = "done", "needs attention"


def serve_place(desk: Desk) -> None:
    """Tell the page the state of each step whenever it changes."""

    @reactive.effect
    def _() -> None:
        desk.mark_steps(states(desk))


def states(desk: Desk) -> dict[str, str]:
    """Return the state of each step; steps that are still to be done are left out."""
    run, found = desk.run_shown(), {}
    if desk.seen() is not None:
        found["data"] = DONE
    if desk.weighed() is not None:
        found["columns"] = found["promise"] = DONE
        if not set(desk.dangers()) <= set(desk.confirmed()):
            found["run"] = ATTENTION
    elif desk.runs() and desk.seen() is not None:
        found["columns"] = ATTENTION
    if run is not None:
        doubtful = desk.outdated() or run.plan.dangers or run.result["status"] != "holds"
        found.setdefault("run", DONE)
        if "attacks" in run.result["certificate"] or desk.kept("attack_release", run.number):
            found["attack"] = DONE
        found["result"] = found["download"] = ATTENTION if doubtful else DONE
    return found
