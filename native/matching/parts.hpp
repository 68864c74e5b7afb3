// Regular graphs of rows and records: the rows of each record, and connected parts that can be processed
// independently.
//
// `members` is row-major, rows x degree, and every record stands in as many rows as a row has records.
//
// Example: rows {0, 1}, {1, 2} and {2, 0} of a graph of degree 2. `members` is 0, 1, 1, 2, 2, 0, and
// rows_of(members, 2) is 0, 2 | 0, 1 | 1, 2: record 0 stands in the rows 0 and 2, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"

namespace shoal {

// The rows that each record stands in, ascending; row-major, records x degree.
std::vector<std::int32_t> rows_of(std::span<const std::int32_t> members, std::size_t degree);

// Cuts the rows of a graph into parts of up to `most`, at random. Rows of a part share records where
// possible, and are ascending.
std::vector<std::vector<std::int32_t>> parts(std::span<const std::int32_t> members, std::size_t degree,
                                             std::size_t most, RandomWords& random);

}  // namespace shoal
