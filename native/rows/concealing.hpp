// From rows that cover enough records to rows with enough matches, for an attacker who knows all records.
//
// A row that covers a record is a match of it if some assignment of rows to all records pairs the two. This
// holds if both are in the same component of the graph in which each record leads to the records whose rows
// cover it (Tassa, Mazza and Gionis 2012, Section 6.2).
//
// Example: rows 0 and 1 cover the records 0 and 1, and row 2 covers the records 1 and 2. Row 2 covers
// record 1, but is no match of it: no other row could be that of record 2. Once row 0 or row 1 grows around
// record 2, it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/variety.hpp"
#include "rows/bonds.hpp"
#include "rows/label_crowds.hpp"
#include "rows/own_rows.hpp"

namespace shoal {

class Concealing {
 public:
  // With the component of each record, only matches count; otherwise all rows that cover it.
  Concealing(OwnRows& rows, std::span<const std::int32_t> components);

  // The current components; only with components.
  std::int32_t component(std::int32_t record) { return bonds_->component(record); }

  // Rows grow until every record has k matches (Algorithm 5), or until every row is a match of k records.
  // Records and rows have their turns in the given order; returns the number of rows that grew.
  std::int64_t conceal_records(std::span<const std::int32_t> order, std::int64_t k);
  std::int64_t conceal_rows(std::span<const std::int32_t> order, std::int64_t k);

  // The same for records, but the cheapest match is always made first: one may bring others many more.
  std::int64_t conceal_cheapest_first(std::span<const std::int32_t> records, std::int64_t k);

  // Pairs of rows grow around each other's record, or, if all rows count, one of them, until the labels in
  // the crowd of every record are as varied as required (Algorithm 7 and Section 8.2). `columns` are the
  // labels of each record, which its own row carries. Records have turns in this order until nothing changes.
  // Returns the number of pairs.
  std::int64_t vary(std::span<const std::int32_t> order,
                    const std::vector<std::vector<std::int32_t>>& columns, const Variety& asked);

 private:
  // Returns the records that the row covers only now: the first ones of equal ones.
  std::vector<std::int32_t> grow(std::int32_t row, std::int32_t record);
  std::int64_t vary(std::int32_t record, LabelCrowds& crowds);
  // The row around a record that costs the record's own row least to become a match; none if there are k.
  Nearest cheapest_match(std::int32_t record, std::int64_t k);
  template <typename Fits, typename Tie>
  std::int64_t conceal(std::span<const std::int32_t> order, std::int64_t k, const Fits& fits, const Tie& tie);

  OwnRows& rows_;
  std::optional<Bonds> bonds_;
  Prices::Search search_;
};

}  // namespace shoal
