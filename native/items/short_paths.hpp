// Shorter ways through segments of an order of sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Reorders the records within each segment so that the weighted distances from each to the next are shorter
// together; the first and the last record of a segment stay. `starts` are where segments begin in `order`.
//
// By 2-opt and Or-opt over lists of neighbours until neither shortens the way, then `kicks` times for each
// record: a piece of the way is put in disorder and improved again, and taken back if the way is longer
// then. Segments on all cores; the result follows from the arguments alone. Memory is quadratic in the
// longest segment.
std::vector<std::int32_t> shorten(const PackedSets& sets, std::vector<std::int32_t> order,
                                  std::span<const std::int32_t> starts, std::int32_t kicks);

}  // namespace shoal
