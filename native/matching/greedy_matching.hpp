// One round of Greedy: one record after the other chooses the box that takes it in at the least cost.
#pragma once

#include <cstdint>
#include <span>

#include "matching/pairing.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// Matches all records and boxes, each with one that does not have it yet (Doka et al. 2015, Algorithm 1):
// in the given order, every record takes the free box with the least extra cost. If all free boxes already
// have it, it takes the box of the nearest record before it that can take a free one instead. `costless`
// names for each of `records` a box at no cost, taken without a search if it is still free, or -1.
Matching match_in_order(BoxTree& tree, std::span<const std::int32_t> records,
                        std::span<const std::int32_t> costless);

}  // namespace shoal
