// Which rows may be frequent on some columns, judged by subsets of these columns.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/projection.hpp"

namespace shoal {

// A group on more columns is never larger. So a row that looks the same as fewer than k - 1 others on some
// columns is rare on all sets that contain these columns. All subsets of any two blocks of three columns
// are counted; a set of columns keeps the rows that are frequent on its part of each pair of blocks.
//
// Example: k = 2, and only one row has the code 5 in column 0. Then that row is rare on {0}, and so on {0,
// 1}, {0, 1, 2} and all others with column 0; rows({0, 1}) can leave it out without counting.
class Sieve {
 public:
  // If fewer `questions` are asked than make it worthwhile, it is not built and lets all rows through.
  Sieve(const Projections& projections, std::int64_t k, std::size_t questions);

  // All rows that look the same as k - 1 others on these columns, and some that do not, ascending.
  std::vector<std::int32_t> rows(Columns kept) const;

 private:
  struct Pair {  // of blocks
    Columns columns;
    std::size_t first;  // of its sets
  };

  std::size_t rows_, words_;
  std::vector<Pair> pairs_;
  std::vector<std::uint64_t> passed_;  // a bit for each row, set by set
};

}  // namespace shoal
