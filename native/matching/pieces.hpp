// Pieces of rows: equally many records of each row, and what they span together.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/neighbourhood.hpp"

namespace shoal {

// One piece for each row of a neighbourhood, filled record by record.
//
// Example: the piece of row 0 has the ages 20 and 25 of 0..100, that of row 1 the ages 30 and 60. Then
// added(0, 1, of the same, kUnlimited) is 0.35: 20..60 costs 0.4 instead of 0.05.
class Pieces {
 public:
  explicit Pieces(const Neighbourhood& here);

  void clear(std::size_t size);  // empty pieces, with room for this many records
  void add(std::int32_t row, std::int32_t record);
  const std::int32_t* records(std::int32_t row) const { return records_.data() + at(row) * size_; }
  std::size_t size() const { return size_; }
  // What it costs the piece of a row to span a record, or the piece of another row, as well. Once it is
  // `enough` or more, it need not be exact.
  double added(std::int32_t row, std::int32_t record) const;
  double added(std::int32_t row, const Pieces& others, std::int32_t other, double enough) const;

 private:
  struct Ends {
    std::int32_t low, high;
  };
  double added_bits(std::int32_t row, const std::uint64_t* coming) const;
  double added_ends(std::int32_t row, std::size_t interval, const Ends& coming) const;
  double added_codes(std::int32_t row, const std::int32_t* coming, std::size_t count) const;

  const Neighbourhood& here_;
  std::size_t size_ = 0;
  std::vector<std::size_t> filled_;  // per row: records so far
  std::vector<std::int32_t> records_;
  std::vector<std::uint64_t> bits_;  // per row: codes in small sets
  std::vector<Ends> ends_;           // per row and interval
};

}  // namespace shoal
