// Sets of items: one for each record, and how many items two of them do not share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

// The items 0 .. width - 1 of record r are items[starts[r] .. starts[r + 1]), ascending.
//
// Example: the sets {0, 2}, {} and {1} of three items: starts = 0, 2, 2, 3; items = 0, 2, 1; width = 3.
struct ItemSets {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> items;
  std::int32_t width;

  std::int32_t size() const { return static_cast<std::int32_t>(starts.size()) - 1; }
  std::span<const std::int32_t> of(std::int32_t record) const {
    const auto r = at(record);
    return items.subspan(at(starts[r]), at(starts[r + 1] - starts[r]));
  }
};

// The same, also as bitmaps where these are shorter than the lists. `weights` are the cost of a wrong item
// of each record.
class PackedSets {
 public:
  PackedSets(const ItemSets& sets, std::span<const std::int32_t> weights);

  const ItemSets& sets() const { return sets_; }
  std::int32_t weight(std::int32_t record) const { return weights_[at(record)]; }
  bool packed() const { return words_ > 0; }
  std::span<const std::uint64_t> bits(std::int32_t record) const {
    return {bits_.data() + at(record) * words_, words_};
  }

 private:
  ItemSets sets_;
  std::span<const std::int32_t> weights_;
  std::size_t words_ = 0;  // of a bitmap; 0 if lists are shorter
  std::vector<std::uint64_t> bits_;
};

// Compares one record with many. Each thread needs its own.
class Comparison {
 public:
  explicit Comparison(const PackedSets& packed);

  void take(std::int32_t record);  // the one
  // Its Hamming distance to another: items that only one of the two has.
  std::int32_t distance(std::int32_t other) const;
  // The same, each item weighted by the record that has it.
  std::int32_t weighted(std::int32_t other) const;

 private:
  const PackedSets& packed_;
  std::int32_t record_ = -1;
  std::vector<char> has_;  // per item, whether the one has it; of lists only
};

}  // namespace shoal
