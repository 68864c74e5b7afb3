// Rows of which only some columns are kept: their hashes, and which of them look the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

using Columns = std::uint64_t;  // a set of columns: bit c stands for column c

// Example: the rows (1, 5, 7), (1, 6, 7) and (2, 5, 7) look the same on the columns {2}; on {0, 2}, which is
// 0b101, only the first two do.
class Projections {
 public:
  // Takes some rows of a matrix, row-major, of at most 64 columns. They are numbered anew from 0.
  Projections(std::span<const std::int32_t> codes, std::size_t columns, std::span<const std::int32_t> rows);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  bool same(std::size_t one, std::size_t other, Columns kept) const {
    const std::int32_t* a = codes_.data() + one * columns_;
    const std::int32_t* b = codes_.data() + other * columns_;
    for (; kept != 0; kept &= kept - 1) {
      const auto column = at(std::countr_zero(kept));
      if (a[column] != b[column]) return false;
    }
    return true;
  }

  // Rows that look the same have the same hash.
  std::uint32_t hash(std::size_t row, Columns kept) const {
    std::uint32_t sum = 0;
    for (; kept != 0; kept &= kept - 1) sum += cells_[at(std::countr_zero(kept)) * rows_ + row];
    return mixed(sum);
  }

  // Of all rows.
  void hash(Columns kept, std::vector<std::uint32_t>& hashes) const;

 private:
  // A sum of hashes of cells says little in its low bits before it is mixed.
  static std::uint32_t mixed(std::uint32_t sum) {
    sum ^= sum >> 15;
    sum *= 0x2c1b3c6dU;
    return sum ^ (sum >> 12);
  }

  std::size_t rows_, columns_;
  std::vector<std::int32_t> codes_;   // row by row
  std::vector<std::uint32_t> cells_;  // the hash of each, column by column
};

// Finds rows that look the same as enough others; every thread has its own.
class Counter {
 public:
  // Returns the rows, of all or of some, which ascend, that may look the same as k - 1 others of these: all
  // that do, and some whose hashes collide.
  std::vector<std::int32_t> frequent(const Projections& projections, Columns kept, std::int64_t k);
  std::vector<std::int32_t> frequent(const Projections& projections, Columns kept, std::int64_t k,
                                     std::span<const std::int32_t> among);

  // As before, but leaves out rows that look like none of those of which wanted(row) is true.
  template <typename Wanted>
  std::vector<std::int32_t> frequent(const Projections& projections, Columns kept, std::int64_t k,
                                     std::span<const std::int32_t> among, const Wanted& wanted) {
    std::vector<std::int32_t> found;
    if (std::none_of(among.begin(), among.end(), wanted)) return found;
    hash(projections, kept, among);
    count();
    for (std::size_t i = 0; i < among.size(); ++i)
      if (wanted(among[i])) counts_[hashes_[i] & last_] |= mark;
    for (std::size_t i = 0; i < among.size(); ++i)
      if (counts_[hashes_[i] & last_] >= (mark | k)) found.push_back(among[i]);
    return found;
  }

 private:
  static constexpr std::uint32_t mark = std::uint32_t{1} << 31;

  void hash(const Projections& projections, Columns kept, std::span<const std::int32_t> among);
  void count();
  bool enough(std::size_t i, std::int64_t k) const { return counts_[hashes_[i] & last_] >= k; }

  std::vector<std::uint32_t> hashes_, counts_;
  std::uint32_t last_ = 0;  // of the counts; they are as many as a power of two
};

// Numbers groups of rows that look the same in the order in which they first appear; group[i] is that of the
// i-th of `rows`. Returns how many rows each group has.
std::vector<std::int64_t> group(const Projections& projections, Columns kept,
                                std::span<const std::int32_t> rows, std::vector<std::int32_t>& group);

}  // namespace shoal
