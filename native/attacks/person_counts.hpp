// How many persons a box covers records of, and how many boxes cover records of a person, where persons have
// several records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attacks/consistency.hpp"

namespace shoal {

struct PersonCounts {
  std::vector<std::int64_t> persons_of_box;   // how many persons have a record in each box
  std::vector<std::int64_t> boxes_of_person;  // how many boxes, by their copies, contain a record of each
};

// `owners` are the persons of each record, one list after the other: those of record i are
// owners[starts[i] .. starts[i + 1]), each of them once; persons are 0 .. persons - 1. Records and boxes in
// the order in which they came in. On all cores; memory in proportion to records, boxes and persons.
//
// Example: boxes 18..25 and 15..40 (twice), records 20 (of a and b) and 30 (of b). The first box has 2
// persons, the second 2; a has 1 + 2 = 3 boxes, and b the same 3.
PersonCounts count_persons(const ConsistencyGraph& graph, std::span<const std::int64_t> starts,
                           std::span<const std::int32_t> owners, std::int32_t persons);

}  // namespace shoal
