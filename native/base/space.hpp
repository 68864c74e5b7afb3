// The space of records: what it costs to cover several values of an attribute by one generalized value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

// The same numbers as in kernels/geometry.py.
enum class Kind : std::uint8_t { range = 0, set = 1, tree = 2 };

// What a code beyond a limit costs, in rows that show nothing at all.
constexpr double kBeyond = 1024.0;

// The largest number in any stretch of an array, in constant time after O(n log n).
class StretchMaximum {
 public:
  StretchMaximum() = default;
  explicit StretchMaximum(std::span<const double> numbers) {
    if (numbers.empty()) return;
    levels_.emplace_back(numbers.begin(), numbers.end());
    for (std::size_t width = 2; width <= numbers.size(); width *= 2) {
      const auto& below = levels_.back();
      std::vector<double> level(numbers.size() - width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::max(below[i], below[i + width / 2]);
      levels_.push_back(std::move(level));
    }
  }

  double operator()(std::size_t begin, std::size_t end) const {  // begin < end
    const auto level = at(std::bit_width(end - begin) - 1);
    return std::max(levels_[level][begin], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<double>> levels_;
};

// One attribute; its codes are 0 .. size - 1. The meaning of `table` depends on the kind:
// - range: the position of each code; low..high costs position[high] - position[low], at most 1;
// - tree: the cost of the lowest common ancestor of codes i and i + 1; low..high costs the maximum of these
// in between, because the ancestor of all of them is the ancestor of two neighbours;
// - set: the number of possible values; m values cost (m - 1) / (possible - 1).
//
// The table may have a limit beyond which a generalized value must not grow:
// - range: after the positions, the last code that an interval may have that begins at each code. They
// ascend;
// - set: after the number of possible values, the largest number of members.
// Every code or member beyond the limit costs as much as many rows that show nothing. Such costs add up, so
// that what it costs to reach a box from a part of the way is still a lower bound. Trees need no limit:
// leaves below different nodes of the highest level that is allowed are never in one table.
//
// Example: the ages 20, 30 and 60 in a domain of 0..100 are the codes 0, 1, 2 with the positions 0.2, 0.3,
// 0.6; interval_cost(0, 1) is 0.1. A set of 5 possible values: set_cost(3) is (3 - 1) / (5 - 1) = 0.5. A tree
// of the leaves a, b (below X, which costs 0.3) and c (below the root, which costs 1): the table is 0.3, 1.0.
class Attribute {
 public:
  Attribute(Kind kind, double weight, std::int32_t size, std::span<const double> table)
      : kind(kind), weight(weight), size(size), table_(table) {
    if (kind == Kind::tree) ancestor_ = StretchMaximum(table);
    if (kind == Kind::range && size > 0 && table[at(size - 1)] > 1.0) missing_ = size - 1;
    limited_ = table.size() > (kind == Kind::range ? at(size) : 1) && kind != Kind::tree;
    beyond_ = kBeyond / weight;
  }

  // Whether a code of a range is that of the missing value, which is apart from all numbers.
  bool is_missing(std::int32_t code) const { return code == missing_; }

  double interval_cost(std::int32_t low, std::int32_t high) const {
    const auto a = at(low), b = at(high);
    if (a == b) return 0.0;
    if (kind == Kind::tree) return ancestor_(a, b);
    const double cost = std::min(1.0, table_[b] - table_[a]);
    return limited_ ? cost + beyond_ * std::max(0.0, high - table_[at(size) + a]) : cost;
  }

  // The codes, from first to last, that the smallest generalized value around low..high covers.
  std::pair<std::int32_t, std::int32_t> covered(std::int32_t low, std::int32_t high) const {
    if (low == high) return {low, high};
    if (kind == Kind::range) return is_missing(high) ? std::pair{0, high} : std::pair{low, high};
    const double cost = interval_cost(low, high);
    for (std::int32_t step = std::bit_floor(static_cast<std::uint32_t>(size)); step > 0; step /= 2) {
      if (low >= step && interval_cost(low - step, high) <= cost) low -= step;
      if (high + step < size && interval_cost(low, high + step) <= cost) high += step;
    }
    return {low, high};
  }

  // Whether the smallest generalized value around low..high also covers a code: in a tree, a node covers
  // every leaf that does not make it more expensive.
  bool spans(std::int32_t low, std::int32_t high, std::int32_t code) const {
    if (low <= code && code <= high) return true;
    return kind == Kind::tree &&
           interval_cost(std::min(low, code), std::max(high, code)) <= interval_cost(low, high);
  }

  double set_cost(std::int64_t members) const {
    const auto count = static_cast<double>(members);
    const double cost = (count - 1) / std::max(1.0, table_[0] - 1.0);
    return limited_ ? cost + beyond_ * std::max(0.0, count - table_[1]) : cost;
  }

  Kind kind;
  double weight;
  std::int32_t size;

 private:
  std::span<const double> table_;
  StretchMaximum ancestor_;
  std::int32_t missing_ = -1;
  bool limited_ = false;
  double beyond_;
};

}  // namespace shoal
