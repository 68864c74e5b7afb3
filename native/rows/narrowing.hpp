// Rows that become narrower for as long as every few columns still hide each record and each row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

// The largest number of columns that an attacker may know.
constexpr std::size_t kMostKnown = 8;

// What the cells of a column are.
enum class CellShape : std::int32_t { kRange, kSet, kTree };

// A column: how many codes it has, and what its cells may be.
struct NarrowColumn {
  CellShape shape;
  std::int32_t size;
  std::int32_t missing;  // of a range: the code of the missing value, or -1
  std::span<const std::int32_t> parent, first, last, leaf;  // of a tree: nodes, and the node of each code
};

// The combinations of codes in a few columns that occur: how many records have each, and how many rows cover
// it.
class Combinations {
 public:
  Combinations(std::vector<std::int32_t> columns, std::span<const NarrowColumn> all,
               std::span<const std::int32_t> codes);

  const std::vector<std::int32_t>& columns() const { return columns_; }

  // Calls work(slot) for each combination within one list of codes per column, until it returns false.
  // `inside` says for each column and code whether it is in the list.
  template <typename Work>
  bool each(std::span<const std::vector<std::int32_t>* const> lists,
            std::span<const std::vector<std::uint8_t>* const> inside, const Work& work) const;

  std::vector<std::int32_t> records, rows;  // by slot

 private:
  std::int64_t slot(std::uint64_t key) const;

  std::vector<std::int32_t> columns_;
  std::vector<std::uint64_t> sizes_;  // by position among the columns
  bool dense_;                        // a key is its slot
  std::vector<std::uint64_t> keys_;   // those that occur, ascending
  std::vector<std::int64_t> table_;   // if not dense: places in `keys_`, by hash
  std::uint64_t mask_ = 0;
};

// Rows of their own, each with a record; a cell becomes narrower if afterwards, in each combination of a
// given number of columns, at least k rows still cover each record, and each row at least k records.
//
// Example: two columns, one known column, k = 2. The records (1, 1), (1, 2), (2, 2) and (2, 1) are in one
// class, so all cells are 1..2. The cells of the first column may all become exact: two rows each show 1
// and 2.
class Narrowing {
 public:
  Narrowing(std::span<const std::int32_t> codes, std::vector<NarrowColumn> columns, std::int32_t knows,
            std::int64_t k);

  // Adds rows with the same cells, in the order of the records: for each column the codes in its cell.
  void add(std::span<const std::int32_t> rows, const std::vector<std::vector<std::int32_t>>& cells);

  // Makes cells narrower, one after the other, each given as row * columns + column. Returns how many are.
  std::int64_t narrow(std::span<const std::int64_t> cells);

  // The codes in a cell, ascending.
  const std::vector<std::int32_t>& cell(std::size_t place) const { return cells_[place]; }

 private:
  using Codes = std::vector<std::int32_t>;

  void load(std::size_t row);
  bool narrow_cell(std::int32_t column);
  bool narrow_range(std::int32_t column);
  bool narrow_set(std::int32_t column);
  bool narrow_tree(std::int32_t column);
  template <typename Keep>
  bool keeps(std::int32_t column, const Keep& keep);
  bool allowed(std::int32_t column);
  template <typename Work>
  bool each(const Combinations& some, std::int32_t column, bool removed, const Work& work) const;

  std::span<const std::int32_t> codes_;
  std::vector<NarrowColumn> columns_;
  std::int64_t k_;
  std::vector<Combinations> combinations_;
  std::vector<std::vector<std::size_t>> of_column_;  // the combinations that have each column
  std::vector<Codes> cells_;                         // of row 0, then of row 1, ...
  // Of the current row: the codes in its cells, and which they are.
  std::size_t row_ = 0;
  std::vector<std::vector<std::uint8_t>> inside_;
  // Of the current try: the codes that stay and those that go.
  Codes kept_, gone_;
  std::vector<std::uint8_t> is_kept_, is_gone_;
};

}  // namespace shoal
