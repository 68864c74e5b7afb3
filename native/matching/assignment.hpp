// Random assignments: perfect matchings of a regular bipartite graph, found by random walks.
//
// Example: boxes {0, 1}, {1, 2} and {2, 0} of a graph of degree 2. Its two disjoint assignments give the
// boxes the records 0, 1, 2 and 1, 2, 0; random_assignment(members, 2, which, random) returns one of them
// for which = 0 and the other for which = 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"

namespace shoal {

struct Walked {
  std::vector<std::int32_t> assignment;  // for each box, its record; empty if the time was up
  std::int64_t steps = 0;                // edges examined and steps back, of all assignments up to this one
  std::int64_t assigned = 0;             // records that got a box, in all these assignments
};

// Decomposes a graph in which each of n boxes has `degree` records, and each record lies in `degree` boxes,
// into disjoint assignments one after the other, and returns the one with number `which`. `members` is
// row-major, boxes x degree. Every assignment is completed by random walks from one free record after the
// other (Goel, Kapralov and Khanna 2013; Xue et al. 2012, Section 4.2): O(n log n) expected.
Walked random_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                         RandomWords& random);

}  // namespace shoal
