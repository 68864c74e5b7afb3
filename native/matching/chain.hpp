// A chain of records, each the one that costs least next to those before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"

namespace shoal {

// Orders distinct records, given row-major, each with its number of copies, which stand together. The next
// one is always that which adds least to the stretches of up to k records it would end, less what it is
// expected to cost `elsewhere`: so records that are hard to place are taken along where they are cheap.
std::vector<std::int32_t> chain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                std::span<const double> elsewhere, const std::vector<Attribute>& attributes,
                                std::int32_t k);

}  // namespace shoal
