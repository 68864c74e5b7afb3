// Unions of records over the nodes of a tree: what lies in which part of it, from coarse to fine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "box_tree.hpp"
#include "space.hpp"

namespace shoal {

class UnionTree {
 public:
  using Node = BoxTree::Node;

  // All nodes are empty at first.
  UnionTree(std::vector<Node> nodes, const std::vector<Attribute>& attributes)
      : nodes_(std::move(nodes)), attributes_(attributes), cells_(nodes_.size() * attributes.size()),
        empty_(nodes_.size(), true) {}

  // The nodes of a tree over so many places, halved down to single ones.
  static std::vector<Node> halves(std::int32_t places) {
    std::vector<Node> nodes{{0, places}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [begin, end, left, parent] = nodes[i];
      if (end - begin < 2) continue;
      const std::int32_t middle = begin + (end - begin) / 2, self = static_cast<std::int32_t>(i);
      nodes[i].left = static_cast<std::int32_t>(nodes.size());
      nodes.push_back({begin, middle, -1, self});
      nodes.push_back({middle, end, -1, self});
    }
    return nodes;
  }

  const std::vector<Node>& nodes() const { return nodes_; }  // children after their parents
  const Cell* cells(std::int32_t node) const { return cells_.data() + at(node) * attributes_.size(); }

  // Makes a leaf the union of these records, each given by its codes; without any it is empty.
  void set_leaf(std::int32_t leaf, const std::vector<const std::int32_t*>& records) {
    Cell* cells = cells_.data() + at(leaf) * attributes_.size();
    empty_[at(leaf)] = records.empty();
    for (std::size_t a = 0; a < attributes_.size() && !records.empty(); ++a) {
      cells[a] = Cell(attributes_[a], records[0][a]);
      for (const std::int32_t* record : records)
        cells[a].unite(attributes_[a], Cell(attributes_[a], record[a]));
    }
  }

  // Makes a node the union of its children.
  void unite(std::int32_t node) {
    const std::size_t d = attributes_.size(), left = at(nodes_[at(node)].left), right = left + 1;
    Cell* cells = cells_.data() + at(node) * d;
    empty_[at(node)] = empty_[left] && empty_[right];
    for (std::size_t a = 0; a < d; ++a) {
      cells[a] = cells_[(empty_[left] ? right : left) * d + a];
      if (!empty_[left] && !empty_[right]) cells[a].unite(attributes_[a], cells_[right * d + a]);
    }
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::vector<Node> nodes_;
  const std::vector<Attribute>& attributes_;
  std::vector<Cell> cells_;
  std::vector<char> empty_;
};

}  // namespace shoal
