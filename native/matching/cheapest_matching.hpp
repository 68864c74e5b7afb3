// One round of matching: records and boxes matched one to one at the least total cost.
#pragma once

#include <cstddef>

#include "matching/pairing.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// Matches all records and boxes, each with one that does not have it yet, at the least sum of extra costs
// among the candidate pairs: for each box the `candidates` records nearest to it, and the pairs of a stable
// matching, so that a perfect matching exists among them.
//
// In the stable matching boxes ask records, not records boxes as in match_cheapest_first. The pairs are the
// same except for ties, and it takes a quarter of the work: records stay where they are, so the tree finds
// them quickly however far boxes have grown.
Matching match_cheapest_together(BoxTree& tree, std::size_t candidates);

}  // namespace shoal
