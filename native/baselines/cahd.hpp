// Correlation-aware anonymization of high-dimensional data (Ghinita, Kalnis and Tao 2011); a rival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Groups of `size` records with different labels. One record after the other of an order picks those that
// share most items with it, among the `reach` nearest before and behind it that are free and whose labels
// differ; a group after which some label would be too frequent among the records that are left is not made.
// These are the last group. Returns the group of each record; no label has a share above 1 / size in any, if
// none has in the whole.
std::vector<std::int32_t> cahd(const PackedSets& sets, std::span<const std::int32_t> order,
                               std::span<const std::int32_t> labels, std::int32_t different, std::size_t size,
                               std::size_t reach);

}  // namespace shoal
