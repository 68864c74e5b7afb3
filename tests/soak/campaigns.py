"""All campaigns by name, in the order in which ``make soak`` runs them."""

from __future__ import annotations

import draws
import forged
import inputs
import worlds
from soaking import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    each.name: each for each in (worlds.CAMPAIGN, forged.CAMPAIGN, draws.CAMPAIGN, inputs.CAMPAIGN)
}
