// A binary tree of unions over a row of cells: what lies in which stretch of it, from coarse to fine.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "box_tree.hpp"
#include "space.hpp"

namespace shoal {

// Leaves are numbered 0, 1, 2, ...; the root is node 1, and the children of node i are 2 i and 2 i + 1.
class UnionTree {
 public:
  UnionTree(std::size_t leaves, const std::vector<Attribute>& attributes)
      : attributes_(attributes), first_leaf_(std::bit_ceil(std::max<std::size_t>(leaves, 1))),
        cells_(2 * first_leaf_ * attributes.size()), empty_(2 * first_leaf_, true) {}

  bool is_empty(std::size_t node) const { return empty_[node]; }
  bool is_leaf(std::size_t node) const { return node >= first_leaf_; }
  std::size_t number(std::size_t leaf_node) const { return leaf_node - first_leaf_; }
  const Cell* cells(std::size_t node) const { return cells_.data() + node * attributes_.size(); }

  // Makes a leaf the union of these records, each given by its codes; without any it is empty.
  template <typename Records>
  void set_leaf(std::size_t leaf, const Records& records) {
    const std::size_t node = first_leaf_ + leaf;
    empty_[node] = true;
    for (const std::int32_t* codes : records) {
      for (std::size_t a = 0; a < attributes_.size(); ++a) {
        Cell& cell = cells_[node * attributes_.size() + a];
        const Cell one(attributes_[a], codes[a]);
        if (empty_[node])
          cell = one;
        else
          cell.unite(attributes_[a], one);
      }
      empty_[node] = false;
    }
  }

  void renew() {
    for (std::size_t node = first_leaf_; --node > 0;) renew(node);
  }
  void renew_above(std::size_t leaf) {
    for (std::size_t node = (first_leaf_ + leaf) / 2; node > 0; node /= 2) renew(node);
  }

 private:
  void renew(std::size_t node) {
    const std::size_t d = attributes_.size(), left = 2 * node, right = left + 1;
    empty_[node] = empty_[left] && empty_[right];
    for (std::size_t a = 0; a < d; ++a) {
      Cell& cell = cells_[node * d + a];
      cell = cells_[(empty_[left] ? right : left) * d + a];
      if (!empty_[left] && !empty_[right]) cell.unite(attributes_[a], cells_[right * d + a]);
    }
  }

  const std::vector<Attribute>& attributes_;
  std::size_t first_leaf_;
  std::vector<Cell> cells_;
  std::vector<char> empty_;
};

}  // namespace shoal
