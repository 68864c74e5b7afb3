// What a row publishes of the sets it covers: the items that most of them have, and how they differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "items/item_sets.hpp"

namespace shoal {

// Example: a row with the records {a, b}, {a, c} and {a}: base = {a}, uncertain = {b, c}, distances = 1, 1,
// 0.
struct Voted {
  std::vector<std::int64_t> base_starts, uncertain_starts;  // per row, as in ItemSets
  std::vector<std::int32_t> base;                           // items of at least half of a row's records
  std::vector<std::int32_t> uncertain;                      // items of some of its records and not of others
  std::vector<std::int32_t> distances;                      // from the base to each record of each row
};

// Of the items that exactly half of a row's records have, every other one is in the base: with none or all
// of them, items would be counted too rarely or too often. Whether the first of them is in the base depends
// on whether the sum of the items that more than half have is odd or even: so of two items of which each
// record has one, either can win.
//
// The records of row i are records[row_starts[i] .. row_starts[i + 1]); at least one. On all cores.
Voted vote(const ItemSets& sets, std::span<const std::int64_t> row_starts,
           std::span<const std::int32_t> records);

}  // namespace shoal
