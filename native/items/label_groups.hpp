// Groups of records that are near in an order, with different labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// Where an order is cut into stretches in which no label is more frequent than 1 / different, each as short
// as possible: 0, and where each stretch ends. Stretches end at some of `ends` only, which ascend to the
// number of labels. The last stretch takes in those before it until this holds for it as well; for all labels
// together it does. O(n).
//
// Example: the labels a, b, b, a, a, b, any end, and different = 2: the stretches ab, ba and ab, so 0, 2,
// 4, 6.
std::vector<std::int64_t> cut_where_diverse(std::span<const std::int32_t> labels,
                                            std::span<const std::int64_t> ends, std::int64_t different);

// Groups of `different` records near in an order whose labels all differ, in every column. `labels` is
// row-major, in this order. Each group tries the next `window` records after its first one. A record that is
// left over joins the first group within `window` records that has none of its labels, otherwise the first
// one there. Returns the group of each; all records are in group 0 if there is no group.
std::vector<std::int32_t> varied_groups(std::span<const std::int32_t> labels, std::size_t columns,
                                        std::size_t different, std::size_t window);

}  // namespace shoal
