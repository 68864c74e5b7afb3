// Random assignments by closed walks exactly as printed, a baseline for `random_assignment`.
#pragma once

#include <cstdint>
#include <span>

#include "base/random_words.hpp"
#include "matching/assignment.hpp"

namespace shoal {

// Like `random_assignment`, but by Algorithm 1 of Xue et al. (2012): a walk leads from row to row, prefers
// rows that it has not visited, never goes the same way twice, and ends only where it began; detours are left
// out. Quadratic in the number of rows at worst.
Walked closed_walk_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                              RandomWords& random);

}  // namespace shoal
