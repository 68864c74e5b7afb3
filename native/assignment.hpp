// Random assignments: perfect matchings of a regular bipartite graph, found by random walks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "random_words.hpp"

namespace shoal {

// Decomposes a graph in which each of n boxes has `degree` records, and each record lies in `degree` boxes,
// into disjoint assignments one after the other, and returns the one with number `which`: for each box, the
// record it gets. `members` is row-major, boxes x degree. Every assignment is completed by random walks from
// one free record after the other (Goel, Kapralov and Khanna 2013; Xue et al. 2012, Section 4.2): O(n log n)
// expected.
std::vector<std::int32_t> random_assignment(std::span<const std::int32_t> members, std::int32_t degree,
                                            std::int32_t which, RandomWords& random);

}  // namespace shoal
