"""All campaigns by name, in the order in which ``make soak`` runs them."""

from __future__ import annotations

import allocations
import draws
import faults
import forged
import guided
import inputs
import long_runs
import mutants
import native_mutants
import properties
import worlds
from soaking import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    each.CAMPAIGN.name: each.CAMPAIGN
    for each in (
        worlds,
        forged,
        draws,
        inputs,
        faults,
        allocations,
        long_runs,
        properties,
        guided,
        mutants,
        native_mutants,
    )
}
