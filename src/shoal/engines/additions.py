"""What users declare in modules of their own, and how worker processes come to know it."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from shoal.auditing.rules import rule_for
from shoal.errors import InputError, Reason
from shoal.files.formats import FORMATS
from shoal.kinds.kind import Kind
from shoal.measures import MEASURES
from shoal.methods import METHODS, method_for
from shoal.models import MODELS, Model
from shoal.schema import Schema

Modules = Mapping[str, str | None]
"""Names of modules, each with the file of the package or module at its top; None if it has no file."""


def modules_used(schema: Schema, model: Model, method: str | None) -> Modules:
    """Return the modules outside Shoal that a release depends on.

    Parameters
    ----------
    schema, model, method
        As for `anonymize`.

    Raises
    ------
    InputError
        If other processes cannot import what the release depends on, because it is declared in a script, in a
        notebook or inside a function; or if there is no such method.
    """
    name, function = method_for(model, method)
    declared: list[tuple[str, Any, dict[str, str]]] = [
        (f"model {model.name!r}", type(model), {"parameter": "model"}),
        (f"the audit rule of model {model.name!r}", rule_for(model), {"parameter": "model"}),
        (f"method {name!r}", function, {"parameter": "method"}),
        *((f"kind {column.kind!s}", type(column.kind), {"column": column.name}) for column in schema),
    ]
    for what, each, about in declared:
        nested = "<locals>" in each.__qualname__
        if nested or each.__module__ == "__main__":
            where = "inside a function" if nested else "in a script or a notebook"
            raise InputError(
                f"{what} is declared {where}, where worker processes cannot import it; declare it at the top "
                "of a module, a file of its own, and import that",
                reason=Reason.PARAMETER,
                **about,
            )
    return _outside(each for _, each, _ in declared)


def modules_of_measures() -> Modules:
    """Return the modules outside Shoal that declare measures of information loss."""
    return _outside(measure.compute for measure in MEASURES.values())


def all_modules() -> Modules:
    """Return the modules outside Shoal that declare anything: models, methods, kinds, measures and so on."""
    from shoal.report import PANELS  # late: workers of blocks make no report

    return _outside(
        [
            *MODELS.values(),
            *(method for methods in METHODS.values() for method in methods.values()),
            *map(type, Kind),
            *(measure.compute for measure in MEASURES.values()),
            *(known.read for known in FORMATS),
            *(panel.render for panel in PANELS.values()),
        ]
    )


def _outside(declared: Iterable[Any]) -> Modules:
    names = dict.fromkeys(getattr(each, "func", each).__module__ for each in declared)  # func: of a partial
    tops = {name: name.partition(".")[0] for name in names}
    return {
        name: getattr(sys.modules.get(top), "__file__", None)
        for name, top in tops.items()
        if top not in ("shoal", "__main__")
    }


def load(modules: Modules) -> None:
    """Import modules in another process, each from the file that it has in the first one.

    Only these modules are imported from their folders: nothing else there is found by an import.

    Raises
    ------
    InputError
        If one cannot be imported.
    """
    for name, file in modules.items():
        try:
            _load(name, file)
        except Exception as error:
            raise InputError(
                f"a worker process cannot import module {name!r} ({type(error).__name__}: {error}); install "
                "the module where workers run, or add its folder to PYTHONPATH there",
                reason=Reason.PARAMETER,
            ) from error


def load_found(modules: Modules) -> None:
    """Import the modules that can be imported here."""
    for name, file in modules.items():
        with suppress(InputError):
            load({name: file})


def _load(name: str, file: str | None) -> None:
    top = name.partition(".")[0]
    if top not in sys.modules and file is not None and Path(file).is_file():
        found = spec_from_file_location(top, file)
        if found is not None and found.loader is not None:
            sys.modules[top] = module_from_spec(found)
            try:
                found.loader.exec_module(sys.modules[top])
            except BaseException:
                del sys.modules[top]
                raise
    import_module(name)


def packed(value: Any, modules: Modules, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """Return a value as bytes, for a process that has not imported the modules that it depends on.

    Parameters
    ----------
    value
        The value.
    modules
        The modules that it depends on. Those that declare measures are imported as well, if they
        are found.
    dumps
        Makes bytes of the value.
    """
    return pickle.dumps((dict(modules), modules_of_measures(), dumps(value)))


def unpacked(data: bytes) -> Any:
    """Return what `packed` was given, after importing the modules that it depends on.

    Raises
    ------
    InputError
        If a module cannot be imported.
    """
    modules, of_measures, value = pickle.loads(data)
    load(modules)
    load_found(of_measures)
    return pickle.loads(value)
