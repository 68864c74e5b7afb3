// Which row carries the label of which record: a random assignment, as far as labels allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"

namespace shoal {

// Tries `steps` times to let two or three rows that cover each other's records pass these on, wherever each
// record is still in rows with different labels afterwards. `record_of` is the record of each row, whose
// label it carries. Every step is as likely as its reverse, so in the end all reachable assignments are
// equally likely.
std::vector<std::int32_t> mix(std::span<const std::int32_t> members, std::size_t degree,
                              std::vector<std::int32_t> record_of, std::span<const std::int32_t> labels,
                              std::int64_t steps, RandomWords& random);

}  // namespace shoal
