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

// Numbers for keys below a limit: one slot for each key if that takes little memory, otherwise by hashing.
class Slots {
 public:
  Slots(std::uint64_t keys, std::size_t records) : direct_(keys <= 8 * std::uint64_t{records} + 1024) {
    count_ = direct_ ? static_cast<std::size_t>(keys) : std::bit_ceil(records * 2 + 1);
    if (!direct_) keys_.assign(count_, kFree);
  }

  std::size_t count() const { return count_; }

  std::size_t of(std::uint64_t key) {
    if (direct_) return key;
    std::uint64_t hash = (key ^ (key >> 32)) * 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 32;
    std::size_t slot = hash & (count_ - 1);
    while (keys_[slot] != kFree && keys_[slot] != key) slot = (slot + 1) & (count_ - 1);
    keys_[slot] = key;
    return slot;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  bool direct_;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> keys_;
};

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

Refined refine(std::span<const std::int32_t> records, std::span<const std::int32_t> group,
               std::int64_t groups, std::span<const std::int32_t> codes, std::int32_t size) {
  const auto key = [&](std::size_t i) {
    return static_cast<std::uint64_t>(group[i]) * static_cast<std::uint64_t>(size) +
           static_cast<std::uint64_t>(codes[at(records[i])]);
  };
  Slots slots(static_cast<std::uint64_t>(groups) * static_cast<std::uint64_t>(size), records.size());
  std::vector<std::int32_t> number(slots.count(), 0);  // first the size of a group, then its number
  for (std::size_t i = 0; i < records.size(); ++i) ++number[slots.of(key(i))];
  Refined refined;
  std::int32_t smallest = 0;
  for (std::int32_t& count : number) {
    if (count == 0) continue;
    ++refined.groups;
    smallest = smallest == 0 ? count : std::min(smallest, count);
    count = count == 1 ? -1 : static_cast<std::int32_t>(refined.shared++);
  }
  refined.smallest = smallest;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::int32_t of = number[slots.of(key(i))];
    if (of < 0) continue;
    refined.records.push_back(records[i]);
    refined.group.push_back(of);
  }
  return refined;
}

}  // namespace shoal
