// Some rows of a regular graph and the records they cover: what a change would cost, in constant time.
#pragma once

#include <array>
#include <bit>
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
  // can lose a value that several members have. `numbers` has kUnknown for each record outside, and
  // afterwards again: memory that may be used for another one. `owners`, if not empty, says whose record each
  // is; a row has no two records of one owner.
  Neighbourhood(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                std::span<const std::int32_t> members, std::size_t degree, std::span<const std::int32_t> rows,
                double foresight, std::span<std::int32_t> numbers, std::span<const std::int32_t> owners = {});
  static constexpr std::int32_t kUnknown = -1;

  std::int32_t rows() const { return static_cast<std::int32_t>(costs_.size()); }
  std::size_t degree() const { return degree_; }
  double cost(std::int32_t row) const { return costs_[at(row)]; }
  std::int32_t member(std::int32_t row, std::size_t slot) const { return members_[at(row) * degree_ + slot]; }
  // The number of a record outside.
  std::int32_t outer_member(std::int32_t row, std::size_t slot) const {
    return records_[at(member(row, slot))];
  }
  // A record stands at several places, one for each of these rows that have it. Its places have consecutive
  // numbers, from places_of(record).first up to, not including, .second.
  std::pair<std::size_t, std::size_t> places_of(std::int32_t record) const {
    return {starts_[at(record)], starts_[at(record) + 1]};
  }
  std::int32_t row_of(std::size_t place) const { return places_[place].row; }
  std::size_t slot_at(std::size_t place) const { return at(places_[place].slot); }
  // Whether the row has the record, or another one of its owner, in another slot than this.
  bool has_beside(std::int32_t row, std::size_t slot, std::int32_t record) const;
  std::size_t slot_of(std::int32_t row, std::int32_t record) const;

  bool has(std::int32_t row, std::int32_t record) const;

  // What the row would save without that member, with foresight.
  double saving(std::int32_t row, std::size_t slot) const {
    return savings_[at(place_at_[at(row) * degree_ + slot])];
  }
  double saving(std::size_t place) const { return savings_[place]; }
  // What it would cost the row, without that member and with foresight, to take in the record; to have it in
  // place of the member costs that minus the saving. Once it is `enough` or more, it need not be exact.
  double extra(std::int32_t row, std::size_t slot, std::int32_t record, double enough) const;
  // About the least that this costs, whichever member is left out: ranges and small sets only.
  double fit(std::int32_t row, std::int32_t record) const;

  // Which rows have all values of a record but one, or all: a bit for each row. Ranges count by their bounds.
  // Values of trees and of large domains are not asked for.
  void find_homes(std::int32_t record, std::vector<std::uint64_t>& homes) const;

  // Records change places: each leaves its place before another is put there. Afterwards `renew` updates
  // the figures of a row.
  void leave(std::int32_t row, std::size_t slot);
  void put(std::int32_t row, std::size_t slot, std::int32_t record);
  void renew(std::int32_t row);

  // What a record is: its codes, the bits of those in small sets one after the other, and its owner, which is
  // itself if owners have one record each.
  const std::int32_t* codes(std::int32_t record) const {
    return codes_.data() + at(record) * attributes_.size();
  }
  const std::uint64_t* bits(std::int32_t record) const { return bits_.data() + at(record) * words_; }
  std::int32_t owner(std::int32_t record) const { return owner_of_.empty() ? record : owner_of_[at(record)]; }
  // Which attributes are ranges or trees, which are sets of more codes than bits are kept for, and what one
  // more value costs: of such a set, and those of some bits.
  const Attribute& attribute(std::size_t number) const { return attributes_[number]; }
  const std::vector<std::size_t>& intervals() const { return intervals_; }
  const std::vector<std::size_t>& large_sets() const { return large_sets_; }
  std::size_t words() const { return words_; }
  double unit(std::size_t set) const { return units_[set]; }
  double bit_costs(std::uint64_t bits, std::size_t word) const {
    double sum = 0.0;
    for (; bits != 0; bits &= bits - 1) sum += bit_units_[word * 64 + at(std::countr_zero(bits))];
    return sum;
  }

  // Finds rows near this one, at random: three quarters share a record with this one, or with a row that
  // does; the others, which come first, stand near in order.
  void near(std::int32_t row, QuickRandom& random, std::span<std::int32_t> found) const;

 private:
  // What the members of a row span in a range or tree, and what they would span without one or two of them:
  // the three lowest and the three highest codes. Of sets of at most 64 codes, all together, bits tell which
  // codes any, one and two members have. Larger sets are looked up.
  struct Interval {
    std::array<std::int32_t, 3> low, high;
  };
  struct Place {
    std::int32_t row, slot;
  };
  struct Stretch {
    double low, high;
  };

  // The codes that any member has, then those that one has, then those that two have.
  const std::uint64_t* spans(std::int32_t row) const { return spans_.data() + at(row) * 3 * words_; }
  std::int64_t count(std::int32_t row, std::size_t attribute, std::int32_t code) const;
  double interval_cost(const Attribute& attribute, const Interval& interval) const;
  static Interval without(Interval interval, std::int32_t leaving);
  static Interval with(Interval interval, std::int32_t coming);
  double saved(std::int32_t row, std::int32_t leaving) const;
  void describe_records();
  double renew_sets(std::int32_t row);
  double renew_intervals(std::int32_t row);
  void renew_homes(std::int32_t row, std::size_t bit, bool is_there);

  const std::vector<Attribute>& attributes_;
  std::size_t degree_;
  double foresight_;
  std::size_t words_ = 0;
  std::vector<std::size_t> intervals_, small_sets_, large_sets_;  // attributes
  std::vector<std::size_t> first_bits_;                           // of each attribute
  std::vector<double> units_;                   // per attribute: what one more value of a set costs
  std::vector<double> bit_units_;               // the same per bit
  std::vector<std::size_t> ranges_;             // attributes
  std::vector<std::vector<double>> positions_;  // of each range: what reaches each code
  std::vector<std::int32_t> records_;           // their outer numbers
  std::vector<std::int32_t> codes_, members_, owner_of_;
  std::vector<std::uint64_t> bits_, spans_;  // of each record, and of each row
  std::vector<Interval> extremes_;           // of each row and interval
  std::vector<double> reached_;              // of each record and range: its position
  std::vector<Stretch> stretches_;           // of each row and range
  std::vector<std::size_t> starts_;
  std::vector<Place> places_;           // of each record
  std::vector<std::int32_t> place_at_;  // the place that each slot of each row is
  std::vector<double> costs_, savings_;
  std::size_t row_words_ = 0;
  std::vector<std::size_t> first_values_;  // of each range that counts, or none
  std::vector<std::uint64_t> having_;  // for each bit, then for each code of such a range: which rows have it
};

}  // namespace shoal
