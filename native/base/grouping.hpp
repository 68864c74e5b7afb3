// Grouping equal rows of a matrix of codes.
#pragma once

#include <cstdint>
#include <vector>

namespace shoal {

// Numbers the distinct rows in order of first appearance; group[i] is the number of row i.
// Returns the first row of each group. O(rows x columns) expected.
std::vector<std::int64_t> group_rows(const std::int32_t* codes, std::int64_t rows, std::int64_t columns,
                                     std::int32_t* group);

}  // namespace shoal
