// Refinement of a regular graph: two rows exchange a record each wherever both together lose less then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "random_words.hpp"
#include "space.hpp"

namespace shoal {

class Refinement {
 public:
  // `codes` is row-major, records x attributes; `members` is row-major, rows x degree, and every record
  // stands in as many rows as a row has records.
  Refinement(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
             std::vector<std::int32_t> members, std::int32_t degree);

  // Goes once through all rows and their members, and exchanges each for the candidate that saves most, if
  // any does. Candidates are records that lie in a row together with a record of this row. Returns how many
  // exchanges were made; each lowers the cost, and the graph stays regular and simple.
  std::int64_t sweep(RandomWords& random);

  double cost() const;  // of all rows together
  const std::vector<std::int32_t>& members() const { return members_; }

 private:
  struct Exchange {
    double change;
    std::int32_t other_row;
    std::size_t other_slot;
  };

  std::int32_t* row(std::int32_t r) { return members_.data() + static_cast<std::size_t>(r) * degree_; }
  const std::int32_t* row(std::int32_t r) const {
    return members_.data() + static_cast<std::size_t>(r) * degree_;
  }
  bool has(std::int32_t r, std::int32_t record) const;
  double cost_with(std::int32_t r, std::size_t slot, std::int32_t record) const;
  double cost_without(std::int32_t r, std::size_t slot) const;
  double cost_of(const std::int32_t* records, std::size_t count) const;
  Exchange best_exchange(std::int32_t r, std::size_t slot, RandomWords& random);
  void exchange(std::int32_t r, std::size_t slot, std::int32_t other, std::size_t other_slot);
  void renew(std::int32_t r);

  std::span<const std::int32_t> codes_;
  const std::vector<Attribute>& attributes_;
  std::vector<std::int32_t> members_;
  std::size_t degree_;
  std::vector<std::int32_t> rows_of_;  // per record, the rows it stands in
  std::vector<double> costs_;          // per row
  std::vector<double> savings_;        // per row and slot: what the row would save without that member
  std::vector<std::int32_t> seen_;     // per record: the last search that looked at it
  std::int32_t searches_ = 0;
  mutable std::vector<std::int32_t> scratch_, distinct_;
};

}  // namespace shoal
