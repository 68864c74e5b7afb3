// One round of matching: records and boxes matched one to one at the least cost together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "box_tree.hpp"
#include "pairing.hpp"

namespace shoal {

// Matches all records and boxes, each with one that does not have it yet, at the least sum of extra costs
// among the pairs that are looked at: for each box the `candidates` records nearest to it, and the pairs of
// `known`, the box of each record in a perfect matching, so that there is one among them.
Matching match_cheapest_together(const BoxTree& tree, std::span<const std::int32_t> known,
                                 std::size_t candidates);

}  // namespace shoal
