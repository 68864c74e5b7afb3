"""The privacy models: what a release guarantees to the people in the table, one declaration each.

Every module in this folder is loaded, and every model class in it registers itself under its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, Reason
from shoal.models.beta_likeness import BetaLikeness
from shoal.models.concealment import Concealment
from shoal.models.coverage import KK, KOne, OneK
from shoal.models.delta_disclosure import DeltaDisclosure
from shoal.models.delta_presence import DeltaPresence
from shoal.models.dissimilarity import Dissimilarity
from shoal.models.diversity import RequiredDistance, RequiredDiversity, UsualDiversity, usual_l
from shoal.models.families import (
    CoverageModel,
    CrowdModel,
    DiverseModel,
    LikenessModel,
    OwnRowsModel,
    PopulationModel,
)
from shoal.models.freeform import Freeform
from shoal.models.k_anonymity import KAnonymity
from shoal.models.k_map import KMap
from shoal.models.km_anonymity import KmAnonymity
from shoal.models.model import (
    DIVERSITY,
    MODELS,
    Model,
    Parameter,
    declarations,
    instead_of,
    is_required,
    model_named,
    parameter,
    require_model,
)
from shoal.models.patterned import Patterned
from shoal.models.set_anonymity import SetAnonymity
from shoal.models.set_diversity import SetDiversity
from shoal.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from shoal.schema import Schema

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def in_order() -> list[type[Model]]:
    """Return all models as people see them: the usual ones first, those for comparison last."""
    return sorted(MODELS.values(), key=lambda model: (model.for_comparison, not model.usual, model.place))


def suitable(schema: Schema) -> list[type[Model]]:
    """Return the models that a table with this schema can have without more, the usual one first."""
    return [
        model
        for model in in_order()
        if model.needs_items == schema.has_items
        and (schema.sensitive or not model.needs_sensitive)
        and not model.needs_population
    ]


def usual_model(schema: Schema) -> type[Model]:
    """Return the model to use if none is named."""
    return next(model for model in suitable(schema) if model.usual)


def make_model(name: str, given: Mapping[str, Any]) -> Model:
    """Return the model of a name with these parameters; those that are None were not given.

    Parameters
    ----------
    name
        The name of the model.
    given
        Parameters by name. Where a parameter is read from a file, its path.

    Raises
    ------
    InputError
        If there is no such model, or a parameter is missing, impossible or not one of its own.
    """
    model = model_named(name)
    known = {each: (declared, own) for each, declared, own in declarations(model)}
    asked: dict[str, Any] = {}
    for each, value in given.items():
        if value is None:
            continue
        if each not in known:
            raise InputError(
                f"model {name!r} has no parameter {each!r}{instead_of(each, known)}",
                reason=Reason.PARAMETER,
                parameter=each,
            )
        read = known[each][0].from_file
        if read is not None and isinstance(value, str | PathLike) and value != "all":
            asked = {**read(str(value)), **asked}
        else:
            asked[each] = value
    for each, (_, own) in known.items():
        if is_required(own) and each not in asked:
            raise InputError(
                f"model {name!r} needs the parameter {each!r}",
                reason=Reason.PARAMETER,
                parameter=each,
            )
    return model(**asked)


__all__ = [
    "DIVERSITY",
    "KK",
    "MODELS",
    "BetaLikeness",
    "Concealment",
    "CoverageModel",
    "CrowdModel",
    "DeltaDisclosure",
    "DeltaPresence",
    "Dissimilarity",
    "DiverseModel",
    "Freeform",
    "KAnonymity",
    "KMap",
    "KOne",
    "KmAnonymity",
    "LikenessModel",
    "Model",
    "OneK",
    "OwnRowsModel",
    "Parameter",
    "Patterned",
    "PopulationModel",
    "RequiredDistance",
    "RequiredDiversity",
    "SetAnonymity",
    "SetDiversity",
    "TCloseness",
    "UsualDiversity",
    "declarations",
    "in_order",
    "is_required",
    "make_model",
    "model_named",
    "parameter",
    "require_model",
    "suitable",
    "usual_l",
    "usual_model",
]
