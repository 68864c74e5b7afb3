// Rows that cover more than necessary become smaller, or leave records to rows that take them at a lower
// cost.
//
// Example: k = 2. The row 20..40 was made of 20 and 21 and grew around 40. Once two other rows cover 40,
// relieve() makes the first row 20..21 again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "rows/own_rows.hpp"

namespace shoal {

class Tightening {
 public:
  // Every record must be covered by k rows, and every row must cover k records. The records that rows are
  // made of now are their cores; with `keep_cores` they stay around them.
  Tightening(OwnRows& rows, std::int64_t k, bool keep_cores);

  // Records that have to stay in a row from now on: held(row) returns them. Rows may have grown since the
  // beginning.
  void hold(const std::function<std::span<const std::int32_t>(std::int32_t)>& held);

  // From now on only rows of the same component count for a record, and components stay connected: for that
  // some records have to stay in some rows, chosen at the least cost for the cores. Every record has k such
  // rows.
  void hold_together(std::span<const std::int32_t> components);

  // Lets rows grow until k of them cover each record: first for the records whose own rows cost most. Rows
  // that cover more than `widest` records grow only if there is no other.
  void cover(std::int64_t widest);

  // One row after the other, or `together` neighbours at once, give up everything they grew around. Records
  // that then lack a row return to them or go to the row with the least extra cost. If the total cost
  // rises, the change is undone. Returns what was saved.
  double relieve(std::span<const std::int32_t> order, std::int32_t together, std::int64_t widest);

 private:
  struct Change {
    std::int32_t row;
    std::vector<std::int32_t> members;  // as they were
  };
  bool counts(std::int32_t row, std::int32_t record) const {
    return components_.empty() || components_[at(row)] == components_[at(record)];
  }
  // The first ones of equal records in a row that it counts for.
  std::vector<std::int32_t> types_in(std::int32_t row);
  std::int32_t rows_around(std::int32_t record) const {
    return rows_around_[at(rows_.tree().first_of(record))];
  }
  void take_away(std::int32_t row);
  void put_back(std::int32_t row);
  void reshape(std::int32_t row, std::vector<std::int32_t> members);
  void grow(std::int32_t row, std::int32_t record);
  double cover(std::int32_t record, std::int64_t widest);
  double leave_to_others(const std::vector<std::int32_t>& some, std::int64_t widest);
  double shrink(std::int32_t row);
  void count_anew();
  void price_cores();
  template <typename Next, typename Drop>
  void connect(std::int32_t root, std::vector<std::uint8_t>& reached, const Next& next, const Drop& drop);

  OwnRows& rows_;
  std::int64_t k_;
  bool keep_cores_;
  BoxTree core_tree_;
  std::vector<std::vector<std::int32_t>> cores_;  // and after them what else has to stay in a row
  std::vector<std::ptrdiff_t> core_sizes_;
  std::vector<double> core_costs_;
  std::vector<std::int32_t> components_, width_;
  std::vector<std::int32_t> copies_, rows_around_;  // for the first ones of equal records
  std::vector<Change> changes_;
  Prices::Search search_;
};

}  // namespace shoal
