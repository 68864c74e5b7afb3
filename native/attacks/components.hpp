// Matches: the edges of a consistency graph that some maximum matching uses, as components.
#pragma once

#include <cstdint>
#include <vector>

#include "attacks/consistency.hpp"
#include "attacks/maximum_matching.hpp"

namespace shoal {

struct Components {
  std::vector<std::int32_t> of_record, of_box;
};

// The strongly connected components of the graph in which a record leads to every box around it, and a box to
// every record it is matched with: an edge is used by some maximum matching if and only if both its ends are
// in the same one (Tassa, Mazza and Gionis 2012, Algorithm 4). Edges are not listed: a search in a tree finds
// the next neighbour that has not been seen, so there are about three searches for each record and box.
//
// Copies that are left over count as matched with a box around everything, or with a record in every box. So
// the matching is perfect, and perfect matchings of that graph are the maximum ones of this.
//
// Components are numbered in the order of the edges between them: no record lies in a box of a component with
// a lower number than its own.
Components components(ConsistencyGraph& graph, const Matched& maximum);

}  // namespace shoal
