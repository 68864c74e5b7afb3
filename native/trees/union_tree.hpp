// Unions of records over the nodes of a tree, from coarse to fine.
//
// Example: three classes on a range of ages, halved down to single ones; nodes 1 and 2 are the children of 0:
//   UnionTree tree(UnionTree::halves(3), attributes);  // leaves: node 1, and nodes 3 and 4 below node 2
//   tree.set_leaf(1, {ages 20, 25});                   // the class at place 0 spans 20..25
//   tree.set_leaf(3, {ages 30, 31});
//   tree.set_leaf(4, {ages 60, 70});
//   tree.unite(2);                                     // 30..70
//   tree.unite(0);                                     // 20..70
//   tree.nearest(age 27, 1, limit, nearby);            // place 0: 25 is nearer to 27 than 30 is
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/cell.hpp"
#include "base/numbers.hpp"
#include "base/space.hpp"
#include "trees/nodes.hpp"

namespace shoal {

class UnionTree {
 public:
  using Node = TreeNode;

  // All nodes are empty at first.
  UnionTree(std::vector<Node> nodes, const std::vector<Attribute>& attributes)
      : nodes_(std::move(nodes)), attributes_(attributes), cells_(nodes_.size() * attributes.size()),
        empty_(nodes_.size(), true) {}

  // The nodes of a tree over a number of places, halved down to single ones.
  static std::vector<Node> halves(std::int32_t places);

  const std::vector<Node>& nodes() const { return nodes_; }  // children after their parents
  const Cell* cells(std::int32_t node) const { return cells_.data() + at(node) * attributes_.size(); }

  // Makes a leaf the union of these records, each given by its codes; without any it is empty.
  void set_leaf(std::int32_t leaf, const std::vector<const std::int32_t*>& records);
  // Makes a node the union of its children.
  void unite(std::int32_t node);

  // The results and the memory of `nearest`; may be reused.
  struct Nearby {
    std::vector<std::pair<double, std::int32_t>>
        found;  // extra cost, first place of the leaf; cheapest first
    std::vector<WaitingNode<double>> waiting;
  };

  // The few leaves whose unions can take in a record at the least extra cost below the limit; none is empty.
  void nearest(const std::int32_t* codes, std::size_t few, double limit, Nearby& nearby) const;

 private:
  double reach(std::int32_t node, const std::int32_t* codes, double enough) const;

  std::vector<Node> nodes_;
  const std::vector<Attribute>& attributes_;
  std::vector<Cell> cells_;
  std::vector<char> empty_;
};

}  // namespace shoal
