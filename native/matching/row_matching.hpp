// Rows that take in whole rows: the graph stays regular.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/box_tree.hpp"

namespace shoal {

// Matches the boxes of a tree, all with equally many members, with the boxes of another tree over the same
// records, or of the same tree: every box takes in one of the others, which is taken in by no other box, and
// both have different members, of different owners. The boxes with the members of both cost least together,
// among the candidates: for each box some of the others that have one of its nearest records.
//
// Example: boxes around the ages {20, 21}, {22, 23}, {60, 61} and {63, 64} take in each other, the first and
// the second, the third and the fourth. Every record was in one box and is in two now.
//
// Returns the box that each box takes in; nothing if there may be no such matching.
std::vector<std::int32_t> match_rows(const BoxTree& tree, const BoxTree& others);

}  // namespace shoal
