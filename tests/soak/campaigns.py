"""All campaigns by name, in the order in which ``make soak`` runs them."""

from __future__ import annotations

import allocations
import draws
import faults
import forged
import guided
import inputs
import leaks
import long_runs
import mutants
import native_mutants
import properties
import sessions
import signals
import worlds
from soaking import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    each.name: each
    for each in (
        worlds.CAMPAIGN,
        forged.CAMPAIGN,
        draws.CAMPAIGN,
        inputs.CAMPAIGN,
        guided.READERS,
        faults.CAMPAIGN,
        signals.CAMPAIGN,
        allocations.CAMPAIGN,
        long_runs.CAMPAIGN,
        leaks.CAMPAIGN,
        properties.CAMPAIGN,
        guided.CAMPAIGN,
        long_runs.MANY,
        sessions.CAMPAIGN,
        mutants.CAMPAIGN,
        native_mutants.CAMPAIGN,
    )
}
