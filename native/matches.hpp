// Matches: the pairs of a record and a box that some maximum matching of the consistency graph uses.
//
// Tassa, Mazza and Gionis 2012, Section 6.2.1. Edges are never listed: a search in one of the graph's trees
// finds the next neighbour that has not been seen, and takes it away.
#pragma once

#include <cstdint>
#include <vector>

#include "consistency.hpp"

namespace shoal {

// How many copies of which record are matched with copies of which box. A pair may occur several times.
// Records and boxes are numbered as they came into the graph.
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

// Matches as many copies as possible, starting from those of `start` that lie in their boxes. Dinic's
// algorithm, which for unit copies is that of Hopcroft and Karp, with layers that grow from both ends.
MaximumMatching maximum_matching(ConsistencyGraph& graph, const Matched& start);

struct Components {
  std::vector<std::int32_t> of_record, of_box;
};

// The strongly connected components of the graph in which a record leads to every box around it, and a box to
// every record it is matched with. A box around a record is a match of it if and only if both are in the same
// one. They are numbered so that no record lies in a box of a component with a lower number.
//
// Where not all copies are matched, those left over count as matched with a box around everything, or with a
// record in every box: then matches are the pairs that some maximum matching uses.
Components components(ConsistencyGraph& graph, const Matched& maximum);

}  // namespace shoal
