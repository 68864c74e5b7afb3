// Random assignments by walks that backtrack, the baseline for `random_assignment`.
#pragma once

#include <cstdint>
#include <span>

#include "base/random_words.hpp"
#include "matching/assignment.hpp"

namespace shoal {

// Like `random_assignment`, but a walk never visits a record twice: it goes on until it is back where it
// began, and takes a step back where it cannot go on (Wong, Mamoulis and Cheung 2010, as described in Xue et
// al. 2012, Section 4.2). O(degree n^2) at worst for each assignment. Stops after `seconds`; 0 for no limit.
Walked backtracking_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                               RandomWords& random, double seconds);

}  // namespace shoal
