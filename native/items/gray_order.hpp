// The Gray order of sets of items, and where to cut it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// The records by the rank of their bitmaps in the reflected binary code, item 0 as the highest bit; equal
// ones by their number. O(n log n) comparisons, each as long as what two records have in common at first.
std::vector<std::int32_t> gray_order(const ItemSets& sets);

// Where segments of `shortest` to `longest` records begin, so that the steps from one segment to the next are
// the shortest together (Xue et al. 2012, Equation 1). `steps` are the distances from each record to the next
// one. Empty if there are no such segments.
std::vector<std::int32_t> breakpoints(std::span<const std::int32_t> steps, std::int32_t shortest,
                                      std::int32_t longest);

}  // namespace shoal
