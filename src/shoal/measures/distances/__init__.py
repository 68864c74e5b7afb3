"""Distances between sensitive values, which decide whether two of them are nearly equal."""

from shoal.measures.distances.absolute import Absolute
from shoal.measures.distances.asked import Asked
from shoal.measures.distances.choosing import distance_of, distance_over, ground_distance, has_distance
from shoal.measures.distances.composite import Least, Norm
from shoal.measures.distances.distance import Distance, LinearDistance
from shoal.measures.distances.equality import Equality
from shoal.measures.distances.tree import TreeDistance

__all__ = [
    "Absolute",
    "Asked",
    "Distance",
    "Equality",
    "Least",
    "LinearDistance",
    "Norm",
    "TreeDistance",
    "distance_of",
    "distance_over",
    "ground_distance",
    "has_distance",
]
