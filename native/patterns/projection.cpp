#include "patterns/projection.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace shoal {
namespace {

std::uint32_t hash_cell(std::size_t column, std::int32_t code) {
  std::uint64_t word = (static_cast<std::uint64_t>(column + 1) << 32) + static_cast<std::uint32_t>(code);
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>((word ^ (word >> 31)) >> 16);
}

}  // namespace

Projections::Projections(std::span<const std::int32_t> codes, std::size_t columns,
                         std::span<const std::int32_t> rows)
    : rows_(rows.size()), columns_(columns), codes_(rows_ * columns), cells_(rows_ * columns) {
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::int32_t code = codes[at(rows[i]) * columns + c];
      codes_[i * columns + c] = code;
      cells_[c * rows_ + i] = hash_cell(c, code);
    }
}

void Projections::hash(Columns kept, std::vector<std::uint32_t>& hashes) const {
  hashes.assign(rows_, 0);
  std::uint32_t* sums = hashes.data();
  for (; kept != 0; kept &= kept - 1) {
    const std::uint32_t* cells = cells_.data() + at(std::countr_zero(kept)) * rows_;
    for (std::size_t i = 0; i < rows_; ++i) sums[i] += cells[i];
  }
  for (std::size_t i = 0; i < rows_; ++i) sums[i] = mixed(sums[i]);
}

void Counter::hash(const Projections& projections, Columns kept, std::span<const std::int32_t> among) {
  if (among.size() > projections.rows() / 4) {  // all at once is faster than one by one
    projections.hash(kept, hashes_);
    // Ascending, so that none is overwritten before it is read.
    for (std::size_t i = 0; i < among.size(); ++i) hashes_[i] = hashes_[at(among[i])];
    hashes_.resize(among.size());
    return;
  }
  hashes_.resize(among.size());
  for (std::size_t i = 0; i < among.size(); ++i) hashes_[i] = projections.hash(at(among[i]), kept);
}

void Counter::count() {
  counts_.assign(std::bit_ceil(2 * hashes_.size() + 1), 0);
  last_ = static_cast<std::uint32_t>(counts_.size() - 1);
  for (const std::uint32_t hash : hashes_) ++counts_[hash & last_];
}

std::vector<std::int32_t> Counter::frequent(const Projections& projections, Columns kept, std::int64_t k) {
  projections.hash(kept, hashes_);
  count();
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < hashes_.size(); ++i)
    if (enough(i, k)) found.push_back(static_cast<std::int32_t>(i));
  return found;
}

std::vector<std::int32_t> Counter::frequent(const Projections& projections, Columns kept, std::int64_t k,
                                            std::span<const std::int32_t> among) {
  hash(projections, kept, among);
  count();
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < among.size(); ++i)
    if (enough(i, k)) found.push_back(among[i]);
  return found;
}

std::vector<std::int64_t> group(const Projections& projections, Columns kept,
                                std::span<const std::int32_t> rows, std::vector<std::int32_t>& group) {
  const std::size_t slots = std::bit_ceil(2 * rows.size() + 1);
  std::vector<std::int32_t> table(slots, -1);  // open addressing: slot -> group
  std::vector<std::size_t> first;
  std::vector<std::int64_t> sizes;
  group.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = at(rows[i]);
    std::size_t slot = projections.hash(row, kept) & (slots - 1);
    while (table[slot] >= 0 && !projections.same(row, first[at(table[slot])], kept))
      slot = (slot + 1) & (slots - 1);
    if (table[slot] < 0) {
      table[slot] = static_cast<std::int32_t>(first.size());
      first.push_back(row);
      sizes.push_back(0);
    }
    group[i] = table[slot];
    ++sizes[at(group[i])];
  }
  return sizes;
}

}  // namespace shoal
