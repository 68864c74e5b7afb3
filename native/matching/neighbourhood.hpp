// Some rows of a regular graph and the records they cover: what a change would cost, in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/quick_random.hpp"
#include "base/space.hpp"

namespace shoal {

// Rows and records are numbered anew, from 0, and their data is contiguous.
//
// Example: a row with the ages 20, 25 and 60 of 0..100 costs 0.4. Its three lowest and three highest codes
// are known, so saving(row, slot of 60) is 0.35 without another look at the members, and extra(row, slot of
// 60, record of 30) is 0.05.
class Neighbourhood {
 public:
  // `rows` are the numbers of its rows in `members`, which is row-major, rows x degree. With foresight, the
  // cost of a row without its outermost members counts by that share: changes then lead rows to where they
  // can lose a value that several members have. `owners`, if not empty, says whose record each is; a
  // row has no two records of one owner.
  Neighbourhood(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                std::span<const std::int32_t> members, std::size_t degree, std::span<const std::int32_t> rows,
                double foresight, std::span<const std::int32_t> owners = {});

  std::int32_t rows() const { return static_cast<std::int32_t>(costs_.size()); }
  std::size_t degree() const { return degree_; }
  double cost(std::int32_t row) const { return costs_[at(row)]; }
  std::int32_t member(std::int32_t row, std::size_t slot) const { return members_[at(row) * degree_ + slot]; }
  // The number of a record outside.
  std::int32_t outer_member(std::int32_t row, std::size_t slot) const {
    return records_[at(member(row, slot))];
  }
  // The places of a record, among these rows: place p is slot p % degree of row p / degree.
  std::span<const std::int32_t> places_of(std::int32_t record) const {
    const auto r = at(record);
    return {places_of_.data() + starts_[r], starts_[r + 1] - starts_[r]};
  }
  // Whether the row has the record, or another one of its owner, in another slot than this.
  bool has_beside(std::int32_t row, std::size_t slot, std::int32_t record) const;
  std::size_t slot_of(std::int32_t row, std::int32_t record) const;

  // What the row would save without that member, with foresight.
  double saving(std::int32_t row, std::size_t slot) const { return savings_[at(row) * degree_ + slot]; }
  double saving(std::int32_t place) const { return savings_[at(place)]; }
  // What it would cost the row, without that member and with foresight, to take in the record; to have it in
  // place of the member costs that minus the saving. Once it is `enough` or more, it need not be exact.
  double extra(std::int32_t row, std::size_t slot, std::int32_t record, double enough) const;
  // About the least that this costs, whichever member is left out: ranges and small sets only.
  double fit(std::int32_t row, std::int32_t record) const;

  // Records change places: each leaves its place before another is put there. Afterwards `renew` updates
  // the figures of a row.
  void leave(std::int32_t row, std::size_t slot);
  void put(std::int32_t row, std::size_t slot, std::int32_t record);
  void renew(std::int32_t row);

  // Finds rows near this one, at random: three quarters share a record with this one, or with a row that
  // does; the others, which come first, stand near in order.
  void near(std::int32_t row, QuickRandom& random, std::span<std::int32_t> found) const;

 private:
  // What the members of a row span in one attribute, and what they would span without one or two of them:
  // - range, tree: the three lowest and the three highest codes;
  // - set of at most 64 codes: the codes, those that one member has and those that two have. Larger sets are
  //   looked up.
  struct Interval {
    std::array<std::int32_t, 3> low, high;
  };
  struct Bits {
    std::uint64_t any, once, twice;
  };
  union Span {
    Interval interval;
    Bits bits;
  };

  const std::int32_t* codes(std::int32_t record) const {
    return codes_.data() + at(record) * attributes_.size();
  }
  std::int64_t count(std::int32_t row, std::size_t attribute, std::int32_t code) const;
  double interval_cost(const Attribute& attribute, const Interval& interval) const;
  static Interval without(Interval interval, std::int32_t leaving);
  static Interval with(Interval interval, std::int32_t coming);
  double saved(std::int32_t row, const std::int32_t* leaving) const;

  const std::vector<Attribute>& attributes_;
  std::size_t degree_;
  double foresight_;
  std::vector<double> units_;            // per attribute: what one more value of a set costs
  std::vector<std::size_t> small_sets_;  // attributes
  std::vector<std::pair<std::size_t, std::vector<double>>> ranges_;  // attributes, and what reaches each code
  std::vector<std::int32_t> records_;                                // their outer numbers
  std::vector<std::int32_t> codes_, members_, places_of_, owner_of_;
  std::vector<std::size_t> starts_;
  std::vector<Span> spans_;
  std::vector<double> costs_, savings_;
};

}  // namespace shoal
