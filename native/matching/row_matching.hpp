// Rows that take in whole rows: each doubles, and the graph stays regular.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/box_tree.hpp"

namespace shoal {

// Matches the boxes of a tree, all with equally many members, with each other: every box is taken in by one
// other, and both have different members, of different owners. The boxes with the members of both cost least
// together, among the candidates: for each box some of those that have one of its nearest records.
//
// Example: boxes around the ages {20, 21}, {22, 23}, {60, 61} and {63, 64} take in each other, the first and
// the second, the third and the fourth. Every record was in one box and is in two now.
//
// Returns the box that each box takes in; nothing if there may be no such matching.
std::vector<std::int32_t> match_rows(const BoxTree& tree);

}  // namespace shoal
