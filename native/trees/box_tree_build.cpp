// How the records of a box tree are divided, and what its boxes consist of.

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "trees/box_tree.hpp"

namespace shoal {
namespace {

constexpr std::int32_t kLeaf = 8;  // a leaf has at most this many boxes

// Calls visit(value, count) for each stretch of equal values.
template <typename Visit>
void for_each_run(const std::vector<std::int32_t>& sorted, const Visit& visit) {
  for (std::size_t begin = 0, end; begin < sorted.size(); begin = end) {
    for (end = begin; end < sorted.size() && sorted[end] == sorted[begin];) ++end;
    visit(sorted[begin], end - begin);
  }
}

// The average cost of covering two of these codes, given in order. For intervals it pairs the lowest with
// the highest, which is as good for comparing attributes.
double expected_cost(const Attribute& attribute, const std::vector<std::int32_t>& codes) {
  const auto n = static_cast<double>(codes.size());
  double sum = 0.0;
  if (attribute.kind == Kind::set) {
    for_each_run(codes, [&](std::int32_t, std::size_t count) {
      sum += static_cast<double>(count) / n * (1.0 - static_cast<double>(count) / n);
    });
    return sum * attribute.set_cost(2);
  }
  for (std::size_t i = 0; i < codes.size() / 2; ++i)
    sum += attribute.interval_cost(codes[i], codes[codes.size() - 1 - i]);
  return sum / n;
}

}  // namespace

void BoxTree::build() {
  nodes_.push_back({0, rows_});
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node node = nodes_[i];
    if (node.end - node.begin <= kLeaf) {
      for (std::int32_t place = node.begin; place < node.end; ++place)
        leaf_of_[at(place)] = static_cast<std::int32_t>(i);
      continue;
    }
    const std::size_t a = attribute_to_cut(node);
    nodes_[i].equal = a == attributes_.size();
    const std::int32_t middle = nodes_[i].equal ? std::midpoint(node.begin, node.end) : divide(node, a);
    nodes_[i].left = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({node.begin, middle, -1, static_cast<std::int32_t>(i)});
    nodes_.push_back({middle, node.end, -1, static_cast<std::int32_t>(i)});
  }
}

// Cuts a node in two; returns where the right part begins.
std::int32_t BoxTree::divide(const Node& node, std::size_t a) {
  return attributes_[a].kind == Kind::set ? divide_categories(node, a) : divide_in_order(node, a);
}

// The attribute in which two records of the node are expected to cost most together, estimated from a
// sample: the tree has to be good, not optimal. If the sample shows no difference, any attribute that has
// one; the number of attributes if all records are equal.
std::size_t BoxTree::attribute_to_cut(const Node& node) const {
  constexpr std::int32_t kSample = 256;
  const std::int32_t step = std::max(1, (node.end - node.begin) / kSample);
  std::size_t best = attributes_.size();
  double most = 0.0;
  std::vector<std::int32_t> sample;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    sample.clear();
    for (std::int32_t place = node.begin; place < node.end; place += step) sample.push_back(code(place, a));
    std::sort(sample.begin(), sample.end());
    const double expected = attributes_[a].weight * expected_cost(attributes_[a], sample);
    if (expected > most) {
      most = expected;
      best = a;
    }
  }
  for (std::size_t a = 0; a < attributes_.size() && best == attributes_.size(); ++a)
    for (std::int32_t place = node.begin + 1; place < node.end; ++place)
      if (code(place, a) != code(node.begin, a)) best = a;
  return best;
}

// Puts the most frequent categories left, up to half of the records; no category is on both sides.
std::int32_t BoxTree::divide_categories(const Node& node, std::size_t a) {
  std::vector<std::int32_t> codes;
  for (std::int32_t place = node.begin; place < node.end; ++place) codes.push_back(code(place, a));
  std::sort(codes.begin(), codes.end());
  std::vector<std::pair<std::int32_t, std::int32_t>> often;  // minus the count, code
  for_each_run(codes, [&](std::int32_t code, std::size_t count) {
    often.emplace_back(-static_cast<std::int32_t>(count), code);
  });
  std::sort(often.begin(), often.end());
  std::vector<std::int32_t> left{often[0].second};
  std::int32_t taken = -often[0].first;
  for (std::size_t i = 1; i < often.size(); ++i) {
    if (2 * (taken - often[i].first) > node.end - node.begin) continue;
    left.push_back(often[i].second);
    taken -= often[i].first;
  }
  std::sort(left.begin(), left.end());
  std::vector<std::int32_t> places, right;
  for (std::int32_t place = node.begin; place < node.end; ++place)
    (std::binary_search(left.begin(), left.end(), code(place, a)) ? places : right).push_back(place);
  const auto middle = node.begin + static_cast<std::int32_t>(places.size());
  places.insert(places.end(), right.begin(), right.end());
  rearrange(node, places);
  return middle;
}

// Sorts the records and cuts between two values, as near to the middle as possible.
std::int32_t BoxTree::divide_in_order(const Node& node, std::size_t a) {
  std::vector<std::pair<std::int32_t, std::int32_t>> sorted;  // code, place
  for (std::int32_t place = node.begin; place < node.end; ++place) sorted.emplace_back(code(place, a), place);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int32_t> places;
  for (const auto& each : sorted) places.push_back(each.second);
  rearrange(node, places);
  const std::int32_t half = node.begin + (node.end - node.begin) / 2;
  std::int32_t lower = half, upper = half;
  while (lower > node.begin && code(lower - 1, a) == code(half, a)) --lower;
  while (upper < node.end && code(upper, a) == code(half, a)) ++upper;
  if (lower == node.begin) return upper;
  if (upper == node.end) return lower;
  return half - lower <= upper - half ? lower : upper;
}

// Puts the records of a node into the order of these places. Their codes move with them, so that those of a
// node are together in memory.
void BoxTree::rearrange(const Node& node, const std::vector<std::int32_t>& places) {
  const std::size_t d = attributes_.size();
  std::vector<std::int32_t> order, moved;
  order.reserve(places.size());
  moved.reserve(places.size() * d);
  for (const std::int32_t place : places) {
    order.push_back(order_[at(place)]);
    moved.insert(moved.end(), codes(place), codes(place) + d);
  }
  std::copy(order.begin(), order.end(), order_.begin() + node.begin);
  std::copy(moved.begin(), moved.end(), codes_.begin() + static_cast<std::ptrdiff_t>(at(node.begin) * d));
}

std::vector<std::int32_t> BoxTree::all_members() const {
  std::vector<std::int32_t> all;
  all.reserve(members_.size());
  for (std::int32_t box = 0; box < rows_; ++box) {
    const auto present = members(box);
    all.insert(all.end(), present.begin(), present.end());
  }
  return all;
}

std::vector<std::int32_t> BoxTree::codes_of_set(std::int32_t box, std::size_t attribute) const {
  const std::size_t d = attributes_.size();
  std::vector<std::int32_t> found;
  if (attributes_[attribute].size <= 64) {
    for (std::int32_t code = 0; code < attributes_[attribute].size; ++code)
      if (boxes_[at(box) * d + attribute].may_have(code)) found.push_back(code);
    return found;
  }
  for (const std::int32_t record : members(box)) found.push_back(codes(record)[attribute]);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

double BoxTree::cost(std::int32_t box) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const auto& attribute = attributes_[a];
    const Cell cell = cells(box)[a];
    sum +=
        attribute.weight * (attribute.kind == Kind::set
                                ? attribute.set_cost(static_cast<std::int64_t>(codes_of_set(box, a).size()))
                                : attribute.interval_cost(cell.low(), cell.high()));
  }
  return sum;
}

void BoxTree::set_members(std::span<const std::int32_t> members) {
  const std::size_t each = members.size() / at(rows_), d = attributes_.size();
  for (std::int32_t box = 0; box < rows_; ++box) {
    const std::int32_t first = members[at(box) * each];
    for (std::size_t a = 0; a < d; ++a)
      boxes_[at(box) * d + a] = Cell(attributes_[a], codes_[at(first) * d + a]);
    counts_[at(box)] = 0;
    for (std::size_t i = 0; i < each; ++i) add_member(box, members[at(box) * each + i]);
  }
  refresh();
}

}  // namespace shoal
