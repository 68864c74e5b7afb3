// Cuts a sequence of records into classes of neighbours.
//
// Example: the ages 20, 21, 22, 40, 41 and k = 2. The classes {20, 21, 22} and {40, 41} cost 3 x 0.02 + 2 x
// 0.01 = 0.08; {20, 21} and {22, 40, 41} would cost 0.59.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"

namespace shoal {

// Divides records, given row-major in their order, into stretches of k to 2 k - 1, so that no other
// division of this order has a lower cost, summed over classes times their sizes (Hansen and Mukherjee
// 2003). Returns where each class begins. There are at least k records; O(records x k x attributes).
//
// `owners`, if not empty, says whose record each is: no class has two records of one owner. If there is no
// such division, the result is empty.
std::vector<std::int32_t> cut(std::span<const std::int32_t> codes, std::int32_t rows,
                              const std::vector<Attribute>& attributes, std::int32_t k,
                              std::span<const std::int32_t> owners = {});

}  // namespace shoal
