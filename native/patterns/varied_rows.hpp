// Rows that may be one class because their sensitive values are varied enough.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/variety.hpp"

namespace shoal {

// What is asked of the sensitive values of every class. Without columns, any rows will do.
//
// Example: the labels a, a, a, b, c with frequency_l = 2. All five rows are not varied enough, as `a` has a
// share of 3/5. Without the last `a`, they are: part() returns the other four.
class VariedRows {
 public:
  VariedRows() = default;
  explicit VariedRows(std::vector<Sensitive> columns);

  bool any() const { return !columns_.empty(); }

  bool holds(std::span<const std::int32_t> rows) const;

  // The rows that are left after as few as possible with the most frequent labels are removed, the last
  // first; none if fewer than k would be left. Ascending if the rows are.
  std::vector<std::int32_t> part(std::span<const std::int32_t> rows, std::int64_t k) const;

 private:
  std::vector<Sensitive> columns_;  // what is asked is eased by half of the rounding that the audit accepts
};

}  // namespace shoal
