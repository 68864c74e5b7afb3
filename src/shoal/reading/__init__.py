"""Computing with a release: estimates, drawn tables and typed frames, from the release alone."""

from shoal.reading.answers import Answer, Count
from shoal.reading.codebook import Codebook
from shoal.reading.opening import open_release
from shoal.reading.reader import ESTIMATORS, Estimator, Reader

__all__ = ["ESTIMATORS", "Answer", "Codebook", "Count", "Estimator", "Reader", "open_release"]
