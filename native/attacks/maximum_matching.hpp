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

// Matches as many copies as possible, starting from those of `start` that are edges. Dinic's algorithm,
// which for single copies is that of Hopcroft and Karp: O(sqrt(n)) phases for n copies. In each phase, a
// search in a tree finds the next unseen neighbour and removes it: no edge is examined twice, and most are
// never examined.
//
// Example: the boxes A around the records 0 and 1, and B around 0. If 0 - A is matched first, the path 1 -
// A - 0 - B augments it to 1 - A, 0 - B.
MaximumMatching maximum_matching(ConsistencyGraph& graph, const Matched& start);

}  // namespace shoal
