// How many persons a box covers records of, and how many boxes cover records of a person, where persons have
// several records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attacks/consistency.hpp"

namespace shoal {

// Persons of each record or box, one list after the other: those of the i-th are
// persons[starts[i] .. starts[i + 1]).
struct PersonLists {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> persons;
};

struct PersonCounts {
  std::vector<std::int64_t> persons_of_box;   // how many persons have a record in each box
  std::vector<std::int64_t> boxes_of_person;  // how many boxes, by their copies, contain a record of each
};

struct AllPersonCounts {
  PersonCounts covering;               // over all edges
  PersonCounts matching;               // over edges within components; empty if these are not given
  std::vector<std::int64_t> carrying;  // per person of each record: how many boxes around it carry hers
};

// `owners` are the persons of each record, each of them once; persons are 0 .. persons - 1. `of_record` and
// `of_box` are the components, or empty. `carried` are the persons whose records the copies of each box
// carry, or without starts, if that is not known. Records and boxes in the order in which they came in. On
// all cores; memory in proportion to records, boxes and persons.
//
// Example: boxes 18..25 (it carries a) and 15..40 (twice, carrying b and c), records 20 (of a and b) and 30
// (of b and c). The first box has 2 persons, the second 3; a and b have 1 + 2 = 3 boxes, and c has 2. Around
// record 20 one box carries a, and one b.
AllPersonCounts count_persons(const ConsistencyGraph& graph, const PersonLists& owners, std::int32_t persons,
                              std::span<const std::int32_t> of_record, std::span<const std::int32_t> of_box,
                              const PersonLists& carried);

}  // namespace shoal
