// What records and boxes span in each attribute, in the form that trees compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "trees/live_tree.hpp"

namespace shoal {

// The generalized values of one attribute: intervals of codes, or sets of codes.
struct Values {
  bool sets;
  std::int32_t size;                        // codes are 0 .. size - 1
  std::span<const std::int32_t> low, high;  // intervals, both ends included
  std::span<const std::int64_t> starts;     // set v is members[starts[v] .. starts[v + 1]), strictly rising
  std::span<const std::int32_t> members;

  bool contains(std::int32_t value, std::int32_t code) const;
  std::span<const std::int32_t> set(std::size_t value) const {
    return members.subspan(at(starts[value]), at(starts[value + 1] - starts[value]));
  }
};

// Matrices with a row for each record or box, and a column for each attribute, intervals first. A set has
// one bit for each code or, if there are too many codes, several columns: one with a bit for each bin of
// codes, the others with one for each digit of a code's number. Boxes that meet in all of them may still
// have no code in common. `inner` is what boxes contain completely: records within it surely lie in the
// box.
//
// Example: a set of 200 codes. One column has 64 bins of about three codes each. The sets {0} and {1} meet
// there if 0 and 1 share a bin, but differ in a digit.
struct Extents {
  std::size_t columns = 0;
  std::vector<Cell> records, boxes, inner;
  std::vector<SearchProfile> by_records, by_boxes;
  std::vector<std::size_t> attribute_of;  // whose column each is
  std::vector<std::size_t> doubtful;      // attributes with sets that may meet without a code in common
};

// records: row-major codes; boxes: row-major numbers of values, one for each attribute.
Extents extents_of(std::span<const std::int32_t> records, std::size_t record_count,
                   std::span<const std::int32_t> boxes, std::size_t box_count,
                   const std::vector<Values>& attributes);

}  // namespace shoal
