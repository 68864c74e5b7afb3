// For each set, the sets that share most items with it, or nearly so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// The numbers of `count` other sets at a small weighted distance from each, nearest first, row-major; there
// are more than `count` sets. Small inputs are compared all with all, and the result is exact. Otherwise
// each set starts with its neighbours in each of the `orders`, and looks `rounds` times at the neighbours
// of its neighbours and of the sets whose neighbour it is (Dong, Moses and Li 2011). On all cores; the
// result depends on the arguments alone.
std::vector<std::int32_t> near_sets(const PackedSets& sets, std::span<const std::int32_t> orders,
                                    std::size_t count, std::int32_t rounds);

}  // namespace shoal
