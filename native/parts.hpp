// Parts of a regular graph that hang together, so that each can be worked on by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "random_words.hpp"

namespace shoal {

// Cuts the rows of a graph into parts of up to `most`, at random. `members` is row-major, rows x degree, and
// every record stands in as many rows as a row has records. Rows of a part share records as far as that goes,
// and are ascending.
std::vector<std::vector<std::int32_t>> parts(std::span<const std::int32_t> members, std::size_t degree,
                                             std::size_t most, RandomWords& random);

}  // namespace shoal
