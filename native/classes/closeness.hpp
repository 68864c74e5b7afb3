// Which sensitive values are close to each other, without a table of all pairs.
//
// Example: the values 1, 2, 5 and 6 with epsilon = 1. Sorted, they have the ranks 0 .. 3, and those close
// to each are the ranks 0..1, 0..1, 2..3 and 2..3. With one record of each value, degrees() is 1 for all of
// them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"

namespace shoal {

class Closeness {
 public:
  // The values that are close to a value have adjacent ranks, low to high. One entry for each value.
  struct Ranked {
    std::span<const std::int32_t> rank, low, high;
  };
  // One component of a norm. Values differ by a share from 0 to 1: their difference as a share of the
  // diameter (range; NaN is the missing value), the maximum step between them (tree), or 0 or 1 (set).
  struct Component {
    Kind kind;
    double weight, diameter;
    std::span<const double> numbers;  // one for each value; in a tree, its place
    std::span<const double> steps;    // in a tree, from each place to the next
  };

  // Values that are close by one of several criteria.
  explicit Closeness(std::vector<Ranked> ranked) : size_(ranked[0].rank.size()), ranked_(std::move(ranked)) {}
  // Values whose norm, of this power, is at most the limit; the power may be infinite. If there are not too
  // many, all pairs are listed, a bit each.
  Closeness(const std::vector<Component>& components, double power, double limit);
  // Values with a bit in a matrix; each row has whole bytes, low bits first.
  Closeness(std::span<const std::uint8_t> bits, std::size_t size) : size_(size), bits_(bits) {}
  Closeness(const Closeness&) = delete;
  Closeness& operator=(const Closeness&) = delete;

  std::size_t size() const { return size_; }

  bool operator()(std::int32_t one, std::int32_t other) const {
    const auto a = at(one), b = at(other);
    if (!bits_.empty()) return bits_[a * row_bytes() + b / 8] >> (b % 8) & 1;
    if (ranked_.empty()) return norm(a, b) <= limit_;
    for (const auto& [rank, low, high] : ranked_)
      if (low[a] <= rank[b] && rank[b] <= high[a]) return true;
    return false;
  }

  // The number of other records close to one of each value, given the number of records of each. On all
  // cores.
  std::vector<std::int64_t> degrees(std::span<const std::int64_t> counts) const;

  // For each class, the number of its records close to each of some values, those with the value included;
  // class c has counts[c * values.size() + i] of values[i].
  std::vector<std::int64_t> near(std::span<const std::int32_t> values,
                                 std::span<const std::int64_t> counts) const;

 private:
  struct Part {
    Kind kind;
    double weight, diameter;
    StretchMaximum steps;
  };

  std::size_t row_bytes() const { return (size_ + 7) / 8; }
  double norm(std::size_t a, std::size_t b) const;
  double share(const Part& part, double x, double y) const;

  std::size_t size_;
  std::vector<Ranked> ranked_;
  std::vector<Part> parts_;
  std::vector<double> numbers_;  // value by value
  double power_ = 1.0, limit_ = 0.0;
  std::vector<std::uint8_t> listed_;
  std::span<const std::uint8_t> bits_;
};

}  // namespace shoal
