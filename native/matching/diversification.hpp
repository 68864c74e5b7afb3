// Rows that cover records and carry the labels of others: how varied the labels around each record are, and
// changes that make them more varied.
//
// Example: two rows cover record 20, both with the label `flu`, and two different labels are required. A
// row 31..40 with the label `asthma` grows to 20..40, so that record 20 has both. Or one of the two rows
// swaps its record with that of a row with `asthma`, if each covers the other's record: this costs nothing.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/variety.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// Numbers that are found out once for each label.
class Remembered {
 public:
  void begin() { ++turn_; }
  template <typename Find>
  double of(std::int32_t label, const Find& find) {
    if (at(label) >= known_.size()) known_.resize(at(label) + 1, {0, 0.0});
    auto& [turn, number] = known_[at(label)];
    if (turn != turn_) {
      number = find();
      turn = turn_;
    }
    return number;
  }

 private:
  std::int64_t turn_ = 0;
  std::vector<std::pair<std::int64_t, double>> known_;  // per label: the last turn, and its number
};

// Rows are the boxes of a tree. `record_of` is the record whose labels each row carries; the row covers it.
// Everything is numbered by place in the tree.
class Diversification {
 public:
  // `columns` are the labels of each record, and `asked` is what they should be. `owners`, if not empty, says
  // whose record each is: of the rows that cover a record of an owner, at most a share of 1 / least may carry
  // records of the same owner. No row grows beyond `widest` records, unless nothing else
  // helps: a row that covers all records adds to every crowd, but an attacker gives it little weight.
  Diversification(BoxTree& tree, std::vector<std::vector<std::int32_t>> columns, const Variety& asked,
                  std::vector<std::int32_t> owners, double least, std::vector<std::int32_t> record_of,
                  std::int64_t widest);

  // The number of violated records: the labels around them are less varied than required.
  std::int64_t violated() const;
  // The total shortfall: about the number of rows that should have another label.
  double shortfall() const;

  // Lets pairs of rows that cover both their records swap these where that lowers the shortfall, once for
  // each violated record; returns the number of swaps.
  std::int64_t swap();

  // Lets rows grow until every record that was violated at first is mended, each time by the move with the
  // least cost for what it mends: a row with another label grows around the record, or one of its rows
  // swaps its record with a row that grows for that. Other records may be violated afterwards. Returns the
  // number of rows that grew.
  std::int64_t widen();

  // From now on, rows may cover twice as many records before other moves are preferred.
  void allow_wider() { widest_ *= 2; }

  // Lets a row grow around a record.
  void grow(std::int32_t row, std::int32_t record);

  const std::vector<std::int32_t>& record_of() const { return record_of_; }
  // Which rows grew around which records.
  const std::vector<std::pair<std::int32_t, std::int32_t>>& grown() const { return grown_; }

 private:
  // A row grows around a record; if that is the record of another row, the two swap theirs afterwards.
  struct Move {
    double ratio;  // of the cost to what it mends
    double cost;
    std::int32_t row, record;
    std::int32_t other = -1;  // no swap
    std::int64_t beyond = 0;  // how many records the row would cover, if that is too many
    bool operator<(const Move& move) const {
      return std::pair(beyond, ratio) < std::pair(move.beyond, move.ratio);
    }
  };

  // How far the labels around a record are from the requirement if the label of one record is removed and
  // that of another is added.
  double miss(std::int32_t type, std::int32_t without, std::int32_t with) const;
  void change(std::int32_t type, std::int32_t without, std::int32_t with);
  void renew(std::int32_t type);
  double gain(const std::vector<std::int32_t>& types, std::int32_t without, std::int32_t with) const;
  void weigh(Move& move);
  std::int64_t records(const std::vector<std::int32_t>& types) const;
  std::vector<std::int32_t> types_of(std::vector<std::int32_t> places) const;
  void mark_rows_around(std::int32_t type);
  bool alike(std::int32_t record, std::int32_t other) const;
  std::int32_t label(std::size_t column, std::int32_t type, std::int32_t record) const;

  template <typename Visit>
  void visit_partners(std::int32_t type, const Visit& visit);
  bool swap_for(std::int32_t type);
  std::int64_t widen_for(std::int32_t type);
  bool still_mends(const Move& move, std::int32_t type);
  std::vector<Move> moves_for(std::int32_t type);
  void exchange(std::int32_t row, std::int32_t other);

  BoxTree& tree_;
  std::vector<std::vector<std::int32_t>> columns_;  // the owners last, if there are any
  std::vector<Variety> asked_;                      // per column
  std::vector<std::vector<std::int32_t>> owners_;   // per type, ascending; empty without persons
  std::int64_t widest_;
  std::vector<std::int32_t> record_of_, row_of_;
  std::vector<std::int64_t> width_;  // per row: how many records it covers
  // Equal records are one type, known by its first place in the tree.
  std::vector<std::int32_t> type_of_, place_of_;
  std::vector<std::vector<std::int32_t>> places_of_;
  std::vector<std::vector<Crowd>> crowds_;         // per column and type
  std::vector<std::vector<std::int32_t>> inside_;  // per row: the types that it covers, ascending
  std::vector<std::vector<std::int32_t>> around_;  // per type: the rows that cover it, ascending
  std::vector<double> misses_;                     // per type
  std::vector<std::int32_t> marked_;               // per row: the last turn in which it was marked
  Remembered mended_;
  std::int32_t turn_ = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> grown_;
  BoxTree::Search search_;
};

}  // namespace shoal
