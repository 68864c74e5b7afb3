// Rows that generalize one record each: they grow until every record is covered by enough of them.
//
// Example: the ages 20, 21 and 40 and k = 2. expand(2) makes the rows 20..21, 20..21 and 21..40: each
// covers two records. 40 is covered by one row only, so cover({0, 1, 2}, 2) lets the cheapest row grow:
// 20..40.
//
// The steps of Tassa, Mazza and Gionis (2012): every row covers k records (Algorithms 2 and 6), and every
// record is covered by k rows (Algorithm 3). Everything is numbered by place in a box tree; row i is made
// for the record there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/random_words.hpp"
#include "base/space.hpp"
#include "rows/prices.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

class OwnRows {
 public:
  // `room` is the number of records that rows are made of at first. Rows that are withheld cover no record;
  // their records can still be taken in by other rows. For `tables` see Entropy.
  OwnRows(std::span<const std::int32_t> codes, std::int32_t count, const std::vector<Attribute>& attributes,
          std::vector<std::vector<double>> tables, std::int32_t room);

  const BoxTree& tree() const { return tree_; }
  const Prices& prices() const { return prices_; }
  std::int32_t count() const { return tree_.rows(); }
  bool withheld(std::int32_t row) const { return withheld_[at(row)] != 0; }
  bool covers(std::int32_t row, std::int32_t record) const { return tree_.covers(row, tree_.codes(record)); }
  // The records around which a row is the smallest box, its own first.
  const std::vector<std::int32_t>& members(std::int32_t row) const { return members_[at(row)]; }

  void withhold(std::int32_t row);
  void grow(std::int32_t row, std::int32_t record);
  void reshape(std::int32_t row, std::vector<std::int32_t> members);

  // Each row takes in one record after the other, each time the one that costs it least, until it covers k
  // (Algorithm 2). On all cores.
  void expand(std::int64_t k);

  // The same several times, each time with another first record. Each row takes the cheapest result or, if
  // there are four random words for each row and a coin says so, one of the few next best.
  void expand_from_several(std::int64_t k, std::size_t starts, std::span<const std::uint64_t> keys);

  // Makes a row anew around some records, its own first, and lets it take in others until it covers k.
  void expand_anew(std::int32_t row, std::vector<std::int32_t> members, std::int64_t k);

  // Like `expand`, but a coin decides for each row whether it is made of k - 1 of its 2 (k - 1) nearest
  // records instead (Algorithm 6). `keys` has four random words for each row. On all cores.
  void expand_at_random(std::int64_t k, std::span<const std::uint64_t> keys);

  // The cheapest rows take in one record after the other until k rows cover it (Algorithm 3). Records whose
  // own row is withheld may also be covered by none. Returns the number of rows that grew.
  std::int64_t cover(std::span<const std::int32_t> order, std::int64_t k);

 private:
  template <typename Expand>
  void expand_each(const Expand& expand);
  void expand(std::int32_t row, std::int64_t k, double limit, Prices::Search& search);
  void set_members(std::int32_t row, std::vector<std::int32_t> members);
  std::vector<std::int32_t> drawn(std::int32_t row, const std::vector<NearRecord>& near, std::size_t count,
                                  RandomWords& random) const;
  bool same_box(std::int32_t row, std::span<const std::int32_t> members);
  void stretch(std::int32_t row, std::int32_t record);

  const std::vector<Attribute>& attributes_;
  BoxTree tree_;
  Prices prices_;
  std::vector<std::vector<std::int32_t>> members_;
  std::vector<std::uint8_t> withheld_;
  Prices::Search search_;
};

}  // namespace shoal
