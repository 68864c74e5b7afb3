// Which records lie in which boxes: counted in both directions, and by label, without listing the pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
    return members.subspan(static_cast<std::size_t>(starts[value]),
                           static_cast<std::size_t>(starts[value + 1] - starts[value]));
  }
};

// One label for each box, from 0 .. size - 1.
struct Labels {
  std::span<const std::int32_t> of_box;
  std::int32_t size = 0;  // none: labels are not counted
};

struct Counts {
  std::vector<std::int64_t> boxes_of_record;  // how many boxes, by their copies, contain each record
  std::vector<std::int64_t> records_of_box;   // how many records, by their copies, lie in each box
  // If there are labels, of the boxes that contain each record, by their copies:
  std::vector<std::int64_t> most_of_record;      // how many have the most frequent label
  std::vector<std::int64_t> distinct_of_record;  // how many different labels they have
  std::vector<double> logs_of_record;            // the sum of c log c over labels, c of them each
};

// records: row-major codes; boxes: row-major numbers of values, one for each attribute.
// Cuts the records in two until a box either covers or misses all that are left of them.
Counts count_consistent(std::span<const std::int32_t> records, std::span<const std::int64_t> record_copies,
                        std::span<const std::int32_t> boxes, std::span<const std::int64_t> box_copies,
                        const std::vector<Values>& attributes, Labels labels = {});

}  // namespace shoal
