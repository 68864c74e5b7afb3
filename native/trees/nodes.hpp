// What all binary trees over numbered places share: their nodes, and the search that visits the nearer
// child first.
//
// Example: five places, cut in two and once more; children come after their parents:
//   nodes[0] = {0, 5, 1, -1}  // places 0..4; its children are nodes 1 and 2
//   nodes[1] = {0, 2, -1, 0}  // a leaf with the places 0 and 1
//   nodes[2] = {2, 5, -1, 0}  // a leaf with the places 2, 3 and 4
// A search that reaches node 2 at a bound of 0.1 and node 1 at a bound of 0.7 looks at the places of node 2
// first. If one of these costs 0.5, node 1 is left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

struct TreeNode {
  std::int32_t begin, end;  // of the places below it
  std::int32_t left = -1;   // its children are left and left + 1; -1 for a leaf
  std::int32_t parent = -1;
  bool equal = false;  // all records below it are equal, and it is cut in half
};

template <typename Bound>
struct WaitingNode {
  std::int32_t node;
  Bound bound;
};

// Calls look(leaf, bound) for leaves, those below the nearer child first. reach(node) is a lower bound for
// all places below a node; nodes for which is_hopeless(node, bound) holds are skipped. Of two halves of
// equal records that are equally near, the one on the side of the place `home` comes first, so that
// searches from different places find different records. Returns the number of nodes visited. `stack` is
// working memory that may be reused.
template <typename Bound, typename Reach, typename IsHopeless, typename Look>
std::int64_t visit_nearer_first(const std::vector<TreeNode>& nodes, std::vector<WaitingNode<Bound>>& stack,
                                std::int32_t home, const Reach& reach, const IsHopeless& is_hopeless,
                                const Look& look) {
  using Waiting = WaitingNode<Bound>;
  std::int64_t visited = 0;
  stack.assign(1, Waiting{0, reach(0)});
  while (!stack.empty()) {
    const Waiting here = stack.back();
    stack.pop_back();
    if (is_hopeless(here.node, here.bound)) continue;
    ++visited;
    const TreeNode& node = nodes[at(here.node)];
    if (node.left < 0) {
      look(here.node, here.bound);
      continue;
    }
    Waiting near{node.left, reach(node.left)}, far{node.left + 1, reach(node.left + 1)};
    const bool at_right = node.equal && home >= nodes[at(far.node)].begin;
    if (far.bound < near.bound || (at_right && far.bound == near.bound)) std::swap(near, far);
    if (!is_hopeless(far.node, far.bound)) stack.push_back(far);
    if (!is_hopeless(near.node, near.bound)) stack.push_back(near);
  }
  return visited;
}

}  // namespace shoal
