// Greedy assignment extraction as in Xue et al. (2012, Section 4.4), a baseline. It may break the guarantee
// of that paper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Extracts disjoint assignments from the complete graph by closed walks that pick near rows in an order,
// with an own label that the record has not been matched with yet (Algorithms 1 and 2). `starts` are all
// records for each round, in the order in which walks begin at them. Returns the records of each row,
// row-major, rows x rounds. Empty if a walk cannot go on, or all take more than `most` steps; the paper
// expects neither.
std::vector<std::int32_t> greedy_extraction(const PackedSets& sets, std::span<const std::int32_t> order,
                                            std::span<const std::int32_t> labels,
                                            std::span<const std::int32_t> starts, std::int64_t most);

}  // namespace shoal
