// A regular graph of rows and the sets they cover, and changes that make rows err less.
//
// A row publishes what most of its records have. Its cost is how many items that gets wrong of each of its
// records, times the weight of the record, all summed; what exactly half of them have counts as not
// published, whatever a vote makes of it.
//
// Example: a row covers the sets {a, b}, {a, c} and {a}, all of weight 1. It publishes {a}; `b` and `c` are
// wrong for one record each, and the row costs 2. With {a} in place of {a, c} it would cost 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"
#include "items/item_sets.hpp"

namespace shoal {

class SetGraph {
 public:
  // `weights` say how much it counts if an item of a record is wrong. `members` is row-major, rows x degree;
  // rows and records are equally many, and every record stands in as many rows as a row has records.
  // `neighbours` are records near each record, row-major, equally many for each. `labels` are what rows carry
  // besides: a record never comes to stand in two rows with the same one, unless it does so from the
  // beginning, and the first record of each row stays there. Empty if rows carry none.
  SetGraph(const ItemSets& sets, std::span<const std::int32_t> weights, std::vector<std::int32_t> members,
           std::size_t degree, std::span<const std::int32_t> neighbours,
           std::span<const std::int32_t> labels);

  // Lets every row give away one record and take one of those that other rows gave away and that are near to
  // its own, all at once and at the least cost together; repeated `times` times. At a temperature above zero
  // costs are blurred by as much, and the whole may cost more afterwards. Returns how many rows got
  // another record. Parts of the rows are looked at by themselves, on all cores; the result follows from the
  // random words.
  std::int64_t reassign(std::int32_t times, double temperature, RandomWords& random);

  std::int64_t cost() const;  // of all rows together
  const std::vector<std::int32_t>& members() const { return members_; }

 private:
  class Part;

  ItemSets sets_;
  std::span<const std::int32_t> weights_;
  std::vector<std::int32_t> members_;
  std::size_t degree_;
  std::span<const std::int32_t> neighbours_;
  std::size_t near_;  // neighbours of each record
  std::span<const std::int32_t> labels_;
  std::vector<std::int32_t> rows_of_;  // per record, the rows it stands in; where rows carry labels
};

}  // namespace shoal
