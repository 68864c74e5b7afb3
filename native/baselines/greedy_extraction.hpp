// Greedy assignment extraction (Xue et al. 2012, Section 4.4), literally; for comparison only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Extracts disjoint assignments from the complete graph, by closed walks that pick what is near in an order
// and whose own label the record has not been matched with yet (Algorithms 1 and 2). `starts` are all records
// for each round, in the order in which walks begin at them. Returns the records of each row, row-major, rows
// x rounds. Empty if a walk finds no way on, or all take more than `most` steps; the paper expects neither.
std::vector<std::int32_t> greedy_extraction(const PackedSets& sets, std::span<const std::int32_t> order,
                                            std::span<const std::int32_t> labels,
                                            std::span<const std::int32_t> starts, std::int64_t most);

}  // namespace shoal
