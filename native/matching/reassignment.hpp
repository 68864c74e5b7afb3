// All rows of a neighbourhood give away a piece of theirs at once, and all pieces are assigned anew.
//
// Example: three rows cover the ages {20, 61}, {60, 41} and {40, 21} and give away 61, 41 and 21. At the
// least total cost, they get 21, 61 and 41: no two of them would have gained by an exchange.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quick_random.hpp"
#include "matching/neighbourhood.hpp"
#include "matching/pieces.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {

class Reassignment {
 public:
  Reassignment(Neighbourhood& here, QuickRandom& random);

  // Lets every row give away `size` similar records, fewer than it has, and take those of a near row or its
  // own, at the least total cost. At a temperature above zero, costs get random noise of that size. Returns
  // the number of rows that got other records.
  std::int64_t run(std::size_t size, double temperature);

 private:
  void choose(std::int32_t row, std::size_t size);
  std::size_t choose_first(std::int32_t row, std::size_t size);
  bool collides(std::int32_t row, std::int32_t other) const;
  void offer(std::int32_t row);
  std::int64_t take(const std::vector<std::int32_t>& from);

  Neighbourhood& here_;
  QuickRandom& random_;
  Pieces given_, rest_;
  std::vector<std::size_t> slots_;  // of each row: all, those of the piece it gives away first
  std::vector<std::int32_t> near_;
  std::vector<std::int32_t> seen_;  // per row: the last that looked at it
  std::vector<std::int64_t> starts_;
  std::vector<Edge> edges_;
  SparseAssignment solver_;
};

}  // namespace shoal
