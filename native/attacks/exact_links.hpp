// The exact probability of each link of a record and a box, over all perfect matchings.
//
// Example: the records r, s and the boxes A (around both) and B (around r only). B must have r, so the only
// perfect matching is s - A, r - B: the links s - A and r - B have the probability 1, and r - A has 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// Boxes and the records in them. Records have an order, and those in a box are stretches of it, so that a
// box around many records needs little memory. Each stands for a number of copies.
struct Neighbourhoods {
  std::span<const std::int64_t> record_copies, box_copies;
  std::span<const std::int64_t> starts;        // of the stretches of each box, and their number
  std::span<const std::int32_t> begins, ends;  // of each stretch; ascending in a box, and apart
};

// The boxes of some components: the i-th has boxes[starts[i]] to boxes[starts[i + 1] - 1]. All records in the
// boxes belong to the component, and it has as many copies of records as of boxes.
struct Parts {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> boxes;
};

// For each pair of a record and a box that some perfect matching uses: how many copies of the one have a copy
// of the other, on average over all perfect matchings.
struct Links {
  std::vector<std::int32_t> records, boxes;
  std::vector<double> expected;
};

// Counts the perfect matchings of each component by how many copies of each box are used: the number of
// states is the product of (copies + 1) over its boxes, or over its records if that is less, and there are
// as many steps from each as boxes, or records. On all cores.
Links exact_links(const Neighbourhoods& graph, const Parts& components);

}  // namespace shoal
