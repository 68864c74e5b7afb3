// A regular graph of rows and the sets they cover, and changes that reduce the errors of rows.
//
// A row publishes the items that most of its records have. Its cost is the number of wrong items of each of
// its records, times the weight of the record, summed; an item that exactly half of them have counts as not
// published, whatever the vote decides.
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
  // `weights` are the cost of a wrong item of each record. `members` is row-major, rows x degree; there are
  // as many rows as records, and every record is in as many rows as a row has records. `neighbours` are
  // records near each record, row-major, equally many for each. `labels` are those that rows carry: a
  // record never gets into two rows with the same label, unless it starts there, and the first record of
  // each row stays. Empty if rows carry none. If `in_places`, records only change places with records at the
  // same place in rows with the same label, the first place as well.
  SetGraph(const ItemSets& sets, std::span<const std::int32_t> weights, std::vector<std::int32_t> members,
           std::size_t degree, std::span<const std::int32_t> neighbours, std::span<const std::int32_t> labels,
           bool in_places);

  // Lets every row give away one record and take one of those that other rows gave away and that are near
  // to its own, all at once and at the least total cost; repeated `times` times. At a temperature above
  // zero, costs get random noise of that size, and the total may rise. Returns the number of rows that got
  // another record. Parts of the rows are processed independently, on all cores; the result depends on the
  // random words alone.
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
  bool in_places_;
  std::vector<std::int32_t> rows_of_;  // per record, the rows it stands in; where labels have to differ
};

}  // namespace shoal
