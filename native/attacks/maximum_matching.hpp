// Maximum matchings between the records and the boxes of a consistency graph.
#pragma once

#include <cstdint>
#include <vector>

#include "attacks/consistency.hpp"

namespace shoal {

// How many copies of which record are matched with copies of which box; a pair may occur several times.
struct Matched {
  std::vector<std::int32_t> records, boxes;
  std::vector<std::int64_t> copies;
};

struct MaximumMatching {
  Matched matched;
  std::int64_t phases = 0;
  std::int64_t searches = 0;
  std::int64_t visited = 0;  // nodes of trees they looked at
};

// Matches as many copies as possible, starting from those of `start` that are edges. Dinic's algorithm, which
// for single copies is that of Hopcroft and Karp: O(sqrt(n)) phases for n copies. In each of them, a search
// in a tree finds the next neighbour that has not been seen, and takes it away: no edge is looked at twice,
// and most are not looked at.
MaximumMatching maximum_matching(ConsistencyGraph& graph, const Matched& start);

}  // namespace shoal
