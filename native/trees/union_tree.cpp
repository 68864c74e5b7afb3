#include "trees/union_tree.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace shoal {

std::vector<UnionTree::Node> UnionTree::halves(std::int32_t places) {
  std::vector<Node> nodes{{0, places}};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t begin = nodes[i].begin, end = nodes[i].end;
    if (end - begin < 2) continue;
    const std::int32_t middle = begin + (end - begin) / 2, self = static_cast<std::int32_t>(i);
    nodes[i].left = static_cast<std::int32_t>(nodes.size());
    nodes.push_back({begin, middle, -1, self});
    nodes.push_back({middle, end, -1, self});
  }
  return nodes;
}

void UnionTree::set_leaf(std::int32_t leaf, const std::vector<const std::int32_t*>& records) {
  Cell* cells = cells_.data() + at(leaf) * attributes_.size();
  empty_[at(leaf)] = records.empty();
  for (std::size_t a = 0; a < attributes_.size() && !records.empty(); ++a) {
    cells[a] = Cell(attributes_[a], records[0][a]);
    for (const std::int32_t* record : records)
      cells[a].unite(attributes_[a], Cell(attributes_[a], record[a]));
  }
}

void UnionTree::unite(std::int32_t node) {
  const std::size_t d = attributes_.size(), left = at(nodes_[at(node)].left), right = left + 1;
  Cell* cells = cells_.data() + at(node) * d;
  empty_[at(node)] = empty_[left] && empty_[right];
  for (std::size_t a = 0; a < d; ++a) {
    cells[a] = cells_[(empty_[left] ? right : left) * d + a];
    if (!empty_[left] && !empty_[right]) cells[a].unite(attributes_[a], cells_[right * d + a]);
  }
}

// The cost for the union below a node to take in a record: no part of the union can do it at a lower cost.
double UnionTree::reach(std::int32_t node, const std::int32_t* codes, double enough) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size() && sum < enough; ++a) {
    const Attribute& attribute = attributes_[a];
    const Cell cell = cells(node)[a];
    if (attribute.kind == Kind::set) {
      if (!cell.may_have(codes[a])) sum += attribute.weight * attribute.set_cost(2);
    } else if (codes[a] < cell.low() || codes[a] > cell.high()) {
      const double cost =
          attribute.interval_cost(std::min(codes[a], cell.low()), std::max(codes[a], cell.high()));
      sum += attribute.weight * (cost - attribute.interval_cost(cell.low(), cell.high()));
    }
  }
  return sum;
}

void UnionTree::nearest(const std::int32_t* codes, std::size_t few, double limit, Nearby& nearby) const {
  auto& found = nearby.found;  // no structured binding: compilers before clang 16 do not capture them
  auto& waiting = nearby.waiting;
  found.clear();
  waiting.clear();
  visit_nearer_first(
      nodes_, waiting, 0, [&](std::int32_t node) { return reach(node, codes, limit); },
      [&](std::int32_t, double bound) { return bound >= limit; },
      [&](std::int32_t node, double bound) {
        found.emplace_back(bound, nodes_[at(node)].begin);
        std::push_heap(found.begin(), found.end());
        if (found.size() > few) {
          std::pop_heap(found.begin(), found.end());
          found.pop_back();
        }
        if (found.size() == few) limit = found.front().first;
      });
  std::sort_heap(found.begin(), found.end());
}

}  // namespace shoal
