// Records in an order in which those of one owner stand apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// Puts records, given by their owners in an order in which neighbours are alike, so that those of one owner
// are at least `gap` places apart: one that comes too soon waits, and is the next as soon as it may be.
// Returns the places of the records in the given order, as they stand then. Records that would still wait
// when all others have a place are left out. O(n log n).
//
// Example: owners a, a, b, c, c, d and a gap of 2. The second `a` waits until `b` has a place, the second `c`
// until `d` has: the result is 0, 2, 1, 3, 5, 4.
std::vector<std::int32_t> spaced(std::span<const std::int32_t> owners, std::int32_t gap);

}  // namespace shoal
