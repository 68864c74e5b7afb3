// Shorter paths through segments of an order of sets.
//
// Example: the sets {a}, {b, c}, {a, b}, {b} in this order have the distances 3, 2 and 1. With the ends
// fixed, {a}, {a, b}, {b, c}, {b} has 1, 2 and 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Reorders the records within each segment to shorten the sum of the weighted distances from each to the
// next; the first and the last record of a segment stay. `starts` are where segments begin in `order`.
//
// By 2-opt and Or-opt over lists of neighbours until neither shortens the path. Then, `kicks` times for
// each record, a piece of the path is perturbed and improved again, and restored if the path is longer.
// Segments on all cores; the result depends on the arguments alone. Memory is quadratic in the longest
// segment.
std::vector<std::int32_t> shorten(const PackedSets& sets, std::vector<std::int32_t> order,
                                  std::span<const std::int32_t> starts, std::int32_t kicks);

}  // namespace shoal
