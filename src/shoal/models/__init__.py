"""The privacy models: what a release guarantees to the people in the table."""

from shoal.models.models import (
    KK,
    Concealment,
    ConsistentModel,
    CrowdModel,
    Dissimilarity,
    DiverseModel,
    Freeform,
    KAnonymity,
    KOne,
    Model,
    OneK,
    Patterned,
    SetAnonymity,
    SetDiversity,
)

__all__ = [
    "KK",
    "Concealment",
    "ConsistentModel",
    "CrowdModel",
    "Dissimilarity",
    "DiverseModel",
    "Freeform",
    "KAnonymity",
    "KOne",
    "Model",
    "OneK",
    "Patterned",
    "SetAnonymity",
    "SetDiversity",
]
