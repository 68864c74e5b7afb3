"""Computing with a release: estimates, drawn tables and typed frames, from the release alone."""

from typing import TYPE_CHECKING, Any

from shoal.reading.codebook import Codebook

if TYPE_CHECKING:
    from shoal.reading.answers import Answer, Count
    from shoal.reading.joint import ESTIMATORS, Estimator
    from shoal.reading.opening import open_release
    from shoal.reading.reader import Reader

__all__ = ["ESTIMATORS", "Answer", "Codebook", "Count", "Estimator", "Reader", "open_release"]


def __getattr__(name: str) -> Any:
    """Load what computes with a release when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shoal.reading import answers, opening, reader

    return next(getattr(module, name) for module in (answers, opening, reader) if hasattr(module, name))
