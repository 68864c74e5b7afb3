// Correlation-aware anonymization of high-dimensional data (Ghinita, Kalnis and Tao 2011), a baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Groups of `size` records with different labels. One record after the other, in an order, picks the
// records that share most items with it, among the `reach` nearest on either side that are free and have
// other labels. A group is not made if some label would be too frequent among the remaining records; these
// form the last group. Returns the group of each record. No label has a share above 1 / size in any group,
// if none has in the table.
std::vector<std::int32_t> cahd(const PackedSets& sets, std::span<const std::int32_t> order,
                               std::span<const std::int32_t> labels, std::int32_t different, std::size_t size,
                               std::size_t reach);

}  // namespace shoal
