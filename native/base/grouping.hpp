// Grouping equal rows of a matrix of codes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// Numbers the distinct rows in order of first appearance; group[i] is the number of row i.
// Returns the first row of each group. O(rows x columns) expected.
std::vector<std::int64_t> group_rows(const std::int32_t* codes, std::int64_t rows, std::int64_t columns,
                                     std::int32_t* group);

// Groups of records after one more column has cut them.
struct Refined {
  std::vector<std::int32_t> records, group;  // those that still share a group, and the group of each
  std::int64_t groups = 0;                   // how many there are, with those of a single record
  std::int64_t shared = 0;                   // how many have several records; these are numbered from 0
  std::int64_t smallest = 0;                 // the size of the smallest
};

// Cuts groups by a column, in which each record has a code from 0 to size - 1. O(records) expected.
//
// Example: records 0, 1, 2 and 5 are in the groups 0, 0, 0 and 1, and have the codes 7, 7, 8 and 7. Of the
// three groups that this makes, one is shared, by the records 0 and 1.
Refined refine(std::span<const std::int32_t> records, std::span<const std::int32_t> group,
               std::int64_t groups, std::span<const std::int32_t> codes, std::int32_t size);

}  // namespace shoal
