// A chain of records, each the one that costs least next to those before it.
//
// Example: the ages 20, 40, 21 and 41, k = 2, nothing expected elsewhere, starting with 20. Next comes 21,
// which adds 0.01, then 40 (0.19), then 41.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"

namespace shoal {

// Orders distinct records, given row-major, each with its number of copies, which stay together. The next
// record is always the one that adds least to the stretches of up to k records it would end, minus its
// expected cost `elsewhere`: so records that are hard to place are taken where they are cheap.
std::vector<std::int32_t> chain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                std::span<const double> elsewhere, const std::vector<Attribute>& attributes,
                                std::int32_t k);

}  // namespace shoal
