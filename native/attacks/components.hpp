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

// The strongly connected components of the graph in which a record leads to every box around it, and a box
// to every record it is matched with: an edge is used by some maximum matching if and only if both its ends
// are in the same component (Tassa, Mazza and Gionis 2012, Algorithm 4). Edges are not listed: a search in
// a tree finds the next unseen neighbour, so there are about three searches for each record and box.
//
// Example: the boxes A and B around the records 0 and 1, and C around 1 and 2. Matched are 0 - A, 1 - B and
// 2 - C. Record 1 leads to C, but C leads only to 2: {0, 1, A, B} and {2, C} are the components, and no
// maximum matching uses 1 - C.
//
// Unmatched copies count as matched with a box around everything, or with a record in every box. So the
// matching is perfect, and perfect matchings of that graph correspond to maximum matchings of this one.
//
// Components are numbered in the order of the edges between them: no record lies in a box of a component with
// a lower number than its own.
Components components(ConsistencyGraph& graph, const Matched& maximum);

}  // namespace shoal
