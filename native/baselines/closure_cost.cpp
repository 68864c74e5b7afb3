#include "baselines/closure_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {

ClosureCost::ClosureCost(const Attribute& attribute, std::span<const double> counts)
    : attribute_(&attribute), by_entropy_(!counts.empty()) {
  if (!by_entropy_) return;
  before_.emplace_back();
  for (const double count : counts) {
    each_.push_back(CountSums::of(count));
    before_.push_back(before_.back() + each_.back());
  }
  if (attribute.kind == Kind::tree) {
    std::vector<double> heights;
    for (std::int32_t code = 0; code + 1 < attribute.size; ++code)
      heights.push_back(attribute.interval_cost(code, code + 1));
    build_nodes(heights);
  }
}

double ClosureCost::cost(Cell cell) const {
  if (attribute_->kind != Kind::set) {
    if (!by_entropy_) return attribute_->interval_cost(cell.low(), cell.high());
    return attribute_->kind == Kind::tree ? nodes_[node(cell)].cost : entropy(cell.low(), cell.high());
  }
  if (!by_entropy_) return attribute_->set_cost(std::popcount(cell.bits()));
  CountSums sums;
  for (std::uint64_t left = cell.bits(); left != 0; left &= left - 1)
    sums = sums + each_[at(std::countr_zero(left))];
  return sums.entropy();
}

double ClosureCost::cost(std::span<const std::int32_t> codes) const {
  if (!by_entropy_) return attribute_->set_cost(static_cast<std::int64_t>(codes.size()));
  CountSums sums;
  for (const std::int32_t code : codes) sums = sums + each_[at(code)];
  return sums.entropy();
}

double ClosureCost::least_growth(Cell a, double own, Cell within, bool unlike) const {
  if (loose()) return -own;
  if (attribute_->kind == Kind::set) return a.may_share(within) ? 0.0 : attribute_->set_cost(2);
  if (!by_entropy_) {
    if (a.high() < within.low()) return attribute_->interval_cost(a.low(), within.low()) - own;
    if (within.high() < a.low()) return attribute_->interval_cost(within.high(), a.high()) - own;
    return 0.0;
  }
  const Node &here = nodes_[node(a)], &there = nodes_[node(within)];
  if (here.first <= there.first && there.last <= here.last) return 0.0;
  if (there.first <= here.first && here.last <= there.last)
    return (unlike ? here.least_parents : here.least_above) - own;
  Cell both = a;
  both.unite(*attribute_, within);
  return nodes_[node(both)].cost - own;
}

double ClosureCost::least_surplus(Cell a, Cell within) const {
  if (loose()) return 0.0;
  if (attribute_->kind == Kind::set) {
    const int apart = std::popcount(a.bits() & ~within.bits());
    return apart > 0 ? static_cast<double>(apart) * attribute_->set_cost(2) : 0.0;
  }
  Cell both = a;
  both.unite(*attribute_, within);
  if (!by_entropy_)
    return attribute_->interval_cost(both.low(), both.high()) -
           attribute_->interval_cost(within.low(), within.high());
  const Node &here = nodes_[node(a)], &there = nodes_[node(within)];
  if (there.first <= here.first && here.last <= there.last) return -here.worst_above;
  return nodes_[node(both)].cost - there.most_below;
}

double ClosureCost::entropy(std::int32_t low, std::int32_t high) const {
  if (low == high) return 0.0;
  return (before_[at(high) + 1] - before_[at(low)]).entropy();
}

std::size_t ClosureCost::node(Cell cell) const {
  if (cell.low() == cell.high()) return at(cell.low());
  return static_cast<std::size_t>(meeting_(at(cell.low()), at(cell.high())));
}

// A node reaches as far as no gap between two neighbouring codes is higher than the highest one in it.
void ClosureCost::build_nodes(std::span<const double> heights) {
  struct Found {
    double height;
    std::int32_t first, last;
  };
  std::vector<Found> found;
  std::vector<std::size_t> open, meets(heights.size());
  const auto last = static_cast<std::int32_t>(heights.size());
  for (std::int32_t code = 0; code <= last; ++code) {
    const double height = code < last ? heights[at(code)] : kUnlimited;
    std::int32_t first = code;
    while (!open.empty() && found[open.back()].height < height) {
      found[open.back()].last = code;
      first = found[open.back()].first;
      open.pop_back();
    }
    if (code == last) break;
    if (open.empty() || found[open.back()].height > height) {
      open.push_back(found.size());
      found.push_back({height, first, code});
    }
    meets[at(code)] = open.back();
  }
  std::vector<std::size_t> ascending(found.size()), number(found.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t a, std::size_t b) { return found[a].height < found[b].height; });
  for (std::int32_t code = 0; code <= last; ++code) nodes_.push_back({code, code, 0.0, 0.0, 0.0, 0.0, 0.0});
  for (const std::size_t i : ascending) {
    number[i] = nodes_.size();
    const double own = entropy(found[i].first, found[i].last);
    nodes_.push_back({found[i].first, found[i].last, own, own, own, 0.0, own});
  }
  std::vector<double> numbers;
  for (const std::size_t i : meets) numbers.push_back(static_cast<double>(number[i]));
  meeting_ = StretchMaximum(numbers);

  const auto parent = [&](const Node& node) {  // past the end for the root
    double lowest = kUnlimited;
    if (node.first > 0) lowest = numbers[at(node.first) - 1];
    if (node.last < last) lowest = std::min(lowest, numbers[at(node.last)]);
    return node.first > 0 || node.last < last ? static_cast<std::size_t>(lowest) : nodes_.size();
  };
  for (const Node& node : nodes_)
    if (const std::size_t above = parent(node); above < nodes_.size())
      nodes_[above].most_below = std::max(nodes_[above].most_below, node.most_below);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    node.worst_above = node.most_below - node.cost;
    if (const std::size_t above = parent(node); above < nodes_.size()) {
      node.least_parents = nodes_[above].least_above;
      node.least_above = std::min(node.least_above, node.least_parents);
      node.worst_above = std::max(node.worst_above, nodes_[above].worst_above);
    }
  }
}

}  // namespace shoal
