// The Gray order of sets of items, and where to cut it.
//
// Example: the sets {}, {1}, {0, 1} and {0} of two items are in Gray order: their bitmaps are 00, 01, 11,
// 10.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// The records by the rank of their bitmaps in the reflected binary code, item 0 as the highest bit; equal
// ones by their number. O(n log n) comparisons, each as long as the common beginning of two records.
std::vector<std::int32_t> gray_order(const ItemSets& sets);

// Where segments of `shortest` to `longest` records begin, so that the sum of the steps from one segment to
// the next is smallest (Xue et al. 2012, Equation 1). `steps` are the distances from each record to the
// next one. Empty if there are no such segments.
std::vector<std::int32_t> breakpoints(std::span<const std::int32_t> steps, std::int32_t shortest,
                                      std::int32_t longest);

}  // namespace shoal
