#include "base/grouping.hpp"

#include <algorithm>
#include <bit>

#include "base/numbers.hpp"

namespace shoal {
namespace {

std::uint64_t hash_row(const std::int32_t* row, std::int64_t columns) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (std::int64_t c = 0; c < columns; ++c) {
    hash ^= static_cast<std::uint32_t>(row[c]);
    hash *= 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

std::vector<std::int64_t> group_rows(const std::int32_t* codes, std::int64_t rows, std::int64_t columns,
                                     std::int32_t* group) {
  const std::size_t slots = std::bit_ceil(at(rows) * 2 + 1);
  std::vector<std::int32_t> table(slots, -1);  // open addressing: slot -> group
  std::vector<std::int64_t> first;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int32_t* row = codes + i * columns;
    std::size_t slot = hash_row(row, columns) & (slots - 1);
    while (table[slot] >= 0) {
      const std::int32_t* other = codes + first[at(table[slot])] * columns;
      if (std::equal(row, row + columns, other)) break;
      slot = (slot + 1) & (slots - 1);
    }
    if (table[slot] < 0) {
      table[slot] = static_cast<std::int32_t>(first.size());
      first.push_back(i);
    }
    group[i] = table[slot];
  }
  return first;
}

}  // namespace shoal
