// Cuts a row of records into classes of neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"

namespace shoal {

// Divides records, given row-major in their order, into stretches of k to 2 k - 1 such that the cost of all
// classes, each times its size, is the least that any division of this order has (Hansen and Mukherjee 2003).
// Returns where each class begins. There are at least k records; O(records x k x attributes).
//
// `owners`, if not empty, says whose record each is: no class has two of one owner. If there is no such
// division, nothing is returned.
std::vector<std::int32_t> cut(std::span<const std::int32_t> codes, std::int32_t rows,
                              const std::vector<Attribute>& attributes, std::int32_t k,
                              std::span<const std::int32_t> owners = {});

}  // namespace shoal
