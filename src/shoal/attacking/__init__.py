"""Attacks that are carried out: on records in a release, on a control group, and without the release."""

from shoal.attacking.attacker import attack
from shoal.attacking.results import AttackResult, Attacks
from shoal.attacking.splitting import checked_share, held_out, usual_share

__all__ = ["AttackResult", "Attacks", "attack", "checked_share", "held_out", "usual_share"]
