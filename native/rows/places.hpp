// Places for records in rows, so that no row has to carry any record with a high probability.
//
// If each record has `degree` places in different rows that cover it, and each row has places for `degree`
// records, then probabilities of 1/degree on these pairs add up to 1 for each record and each row. So the
// least chance (attacks/least_chance.hpp) is at most 1/degree.
//
// Example: the rows 20..21, 20..21 and 20..40 for the records 20, 21 and 40, degree = 2. The first two rows
// have places for 20 and 21. The record 40 is in the third row only; the first row grows around it and gives
// its place for 20 to it, and 20 finds another one in the third row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "rows/own_rows.hpp"

namespace shoal {

class Places {
 public:
  // At most as many places as there are records with a row; records and rows that are withheld have none.
  Places(OwnRows& rows, std::int32_t degree);

  // Gives every record its places: as many as possible in rows that cover it already (augmenting paths), and
  // then at the least cost for one row on a path to grow. Rows that cover `widest` records grow only if there
  // is no other.
  void fill(std::int64_t widest);

  // The records that have a place in a row.
  std::span<const std::int32_t> held(std::int32_t row) const { return held_[at(row)]; }

 private:
  // A row that could grow around a record.
  struct Step {
    double cost = kUnlimited;
    std::int32_t row = -1, record = -1;
  };

  bool full(std::int32_t row) const { return std::ssize(held_[at(row)]) >= degree_; }
  bool lacks(std::int32_t record) const { return std::ssize(places_[at(record)]) < degree_; }
  bool holds(std::int32_t row, std::int32_t record) const;
  void hold(std::int32_t row, std::int32_t record);
  void release(std::int32_t row, std::int32_t record);
  void grow(std::int32_t row, std::int32_t record);

  void fill_greedily();
  void fill_without_growing();
  void place(std::int32_t record, std::int64_t widest);
  bool place_by_growing(std::int64_t widest, std::size_t tried);
  void change_places(std::int32_t record);
  void mark_rows_that_lead_on();
  Step cheapest_growth(std::int64_t widest, std::size_t tried);

  // The search of a path begins with a record and ends in a row that is not full, or -1 if there is none or
  // more than `most` records were seen. What was seen before is not visited again.
  void begin(std::int32_t record) { see(record, rows_.count()); }
  void see(std::int32_t record, std::int32_t row);
  std::int32_t search_path(std::size_t most);
  // Lets each row on the path take in a record and pass on another one.
  void pass_on(std::int32_t row);
  void forget(std::size_t rows, std::size_t records);

  OwnRows& rows_;
  std::int32_t degree_;
  std::vector<std::vector<std::int32_t>> covered_, around_;  // the records in a row, and the rows around one
  std::vector<std::vector<std::int32_t>> held_, places_;     // the same of places
  std::vector<std::uint8_t> leads_on_;  // whether a path goes from a row to one that is not full
  // On a path: the record that led to each row, and the row that led to each record, or the number
  // of rows where a path begins; -1 for none.
  std::vector<std::int32_t> from_record_, from_row_;
  std::vector<std::int32_t> rows_seen_, records_seen_;
  std::size_t next_ = 0;  // of the records seen, the first that waits
  Prices::Search search_;
};

}  // namespace shoal
