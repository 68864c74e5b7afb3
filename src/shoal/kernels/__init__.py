"""The only access to native code: typed functions over the compiled core, which trusts its arguments."""

from shoal.kernels.assignments import Walked, cheapest_assignment, walk
from shoal.kernels.classes import ClassMoves, cut, mondrian, spaced
from shoal.kernels.consistency import (
    ConsistencyGraph,
    LabelCounts,
    Matched,
    MatchingChains,
    Neighbourhoods,
    Parts,
    count_labels,
    differences,
    draw_assignment,
    evenest_links,
    exact_links,
    least_chances,
    sets_among_worlds,
)
from shoal.kernels.geometry import (
    RANGE,
    ROUNDING,
    SET,
    TREE,
    Arrays,
    CodeIntervals,
    Geometry,
    group_rows,
    refine,
)
from shoal.kernels.graphs import (
    Crowds,
    DiverseDraw,
    Diversification,
    DrawnColumn,
    Reassignable,
    Refinement,
    Shares,
)
from shoal.kernels.listening import Listener, listening
from shoal.kernels.orders import Ring, chain
from shoal.kernels.own_rows import OwnRows
from shoal.kernels.patterns import ANY_LABELS, Cover, PatternSearch, VariedLabels, cover
from shoal.kernels.proximity import Closeness, Coloring, Component
from shoal.kernels.trees import BoxTree, Matching

__all__ = [
    "ANY_LABELS",
    "RANGE",
    "ROUNDING",
    "SET",
    "TREE",
    "Arrays",
    "BoxTree",
    "ClassMoves",
    "Closeness",
    "CodeIntervals",
    "Coloring",
    "Component",
    "ConsistencyGraph",
    "Cover",
    "Crowds",
    "DiverseDraw",
    "Diversification",
    "DrawnColumn",
    "Geometry",
    "LabelCounts",
    "Listener",
    "Matched",
    "Matching",
    "MatchingChains",
    "Neighbourhoods",
    "OwnRows",
    "Parts",
    "PatternSearch",
    "Reassignable",
    "Refinement",
    "Ring",
    "Shares",
    "VariedLabels",
    "Walked",
    "chain",
    "cheapest_assignment",
    "count_labels",
    "cover",
    "cut",
    "differences",
    "draw_assignment",
    "evenest_links",
    "exact_links",
    "group_rows",
    "least_chances",
    "listening",
    "mondrian",
    "refine",
    "sets_among_worlds",
    "spaced",
    "walk",
]
