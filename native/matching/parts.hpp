// Regular graphs of rows and records: the rows of each record, and parts that hang together, so that each can
// be worked on by itself.
//
// `members` is row-major, rows x degree, and every record stands in as many rows as a row has records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"

namespace shoal {

// The rows that each record stands in, ascending; row-major, records x degree.
std::vector<std::int32_t> rows_of(std::span<const std::int32_t> members, std::size_t degree);

// Cuts the rows of a graph into parts of up to `most`, at random. Rows of a part share records as far as that
// goes, and are ascending.
std::vector<std::vector<std::int32_t>> parts(std::span<const std::int32_t> members, std::size_t degree,
                                             std::size_t most, RandomWords& random);

}  // namespace shoal
