// The cost of the closure of several records in one attribute, by the attribute's own costs or by entropy,
// and lower bounds if only part of the closure is known. Only baselines use it.
//
// Entropy is that of the attribute's value among all records, given that it lies in the closure. It is not
// monotone: another frequent value can make a closure cheaper. So it has bounds of its own.
//
// Example: four records have the codes a, a, b, c of a set. Given that a value is in {a, b}, it is `a` with
// probability 2/3: the entropy is 0.918 bits. In {a, b, c} it is 1.5 bits, and in {a} it is 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cell.hpp"
#include "base/numbers.hpp"
#include "base/space.hpp"

namespace shoal {

class ClosureCost {
 public:
  // `counts` says how many records have each code, to cost by entropy; empty to cost by the attribute. The
  // attribute must outlive this.
  ClosureCost(const Attribute& attribute, std::span<const double> counts);

  const Attribute& attribute() const { return *attribute_; }
  bool by_entropy() const { return by_entropy_; }
  // Whether sets have more codes than a cell has bits: then the caller keeps the codes, too.
  bool wide() const { return attribute_->kind == Kind::set && attribute_->size > 64; }
  // Whether bounds ignore what a closure has in common with others.
  bool loose() const { return by_entropy_ && attribute_->kind != Kind::tree; }

  // Of an interval or a node, or of a set that is not wide.
  double cost(Cell cell) const;
  // Of a set, given by its codes in ascending order.
  double cost(std::span<const std::int32_t> codes) const;

  // Let A be a closure, and B any closure within a union. The cost of A and B together is at least this
  // much
  // - above the cost of A (`own`); `unlike` says that A is one code and no B is the same code,
  double least_growth(Cell a, double own, Cell within, bool unlike) const;
  // - above what B costs; 0 where nothing is known, and with the cost of B itself taken off if `loose`.
  double least_surplus(Cell a, Cell within) const;

 private:
  // A node of a tree: codes first..last. Leaves come first, and all come before their parents.
  struct Node {
    std::int32_t first, last;
    double cost;
    double most_below;     // the highest cost of a node below it, or its own
    double least_above;    // the lowest cost of a node above it, or its own
    double worst_above;    // the most that a node below one of these, or itself, can cost more than that one
    double least_parents;  // the lowest cost of a node above it; its own for the root
  };

  double entropy(std::int32_t low, std::int32_t high) const;
  std::size_t node(Cell cell) const;
  void build_nodes(std::span<const double> heights);

  const Attribute* attribute_;
  bool by_entropy_;
  std::vector<CountSums> each_, before_;  // by entropy: of each code, and of all codes before it
  std::vector<Node> nodes_;               // of a tree, by entropy
  StretchMaximum meeting_;                // per gap between neighbours, the number of the node they meet in
};

}  // namespace shoal
