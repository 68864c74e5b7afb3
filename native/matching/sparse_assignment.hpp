// The cheapest assignment of rows to columns, where each row can take only a few of the columns.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

struct Edge {
  std::int32_t column;
  double cost;
};

// A solver that keeps its memory between problems.
//
// By shortest augmenting paths (Jonker and Volgenant 1987): prices on columns and first choices of the rows
// settle most of them, and each remaining row gets its column by Dijkstra's algorithm. Exact.
//
// Example: row 0 can take column 0 at 1 or column 1 at 2; row 1 can take only column 0, at 5:
//   solve({0, 2, 3}, {{0, 1.0}, {1, 2.0}, {0, 5.0}}, 2);  // 1, 0: together 7
class SparseAssignment {
 public:
  // The edges of row r are edges[starts[r] .. starts[r + 1]); a row and a column share at most one. Returns
  // the column of each row: if all rows can have one, with the least sum of costs; otherwise for as many
  // rows as possible, and -1 for the others. With slack, the sum may be that much above the least for each
  // row, and fewer rows have to search for their column (Bertsekas 1988).
  const std::vector<std::int32_t>& solve(std::span<const std::int64_t> starts, std::span<const Edge> edges,
                                         std::int32_t columns, double slack = 0.0);

  std::int64_t looked_at() const { return looked_at_; }  // edges, in all problems so far

 private:
  std::span<const Edge> edges_of(std::int32_t row) const {
    const auto r = at(row);
    return edges_.subspan(at(starts_[r]), at(starts_[r + 1] - starts_[r]));
  }
  void bid();
  void augment(std::int32_t row);
  bool relax(std::int32_t row, double base);

  std::span<const std::int64_t> starts_;
  std::span<const Edge> edges_;
  double slack_ = 0.0;
  std::vector<double> price_;  // per column: a row prefers the least cost minus price
  std::vector<std::int32_t> column_of_, row_of_;
  std::vector<double> paid_;        // per row: the cost of its column
  std::vector<std::int32_t> free_;  // rows without a column

  // Of one search.
  std::vector<double> distance_;    // per column
  std::vector<std::int32_t> from_;  // per column: the row that reached it
  std::vector<char> done_;          // per column
  std::vector<char> dead_;          // per column: an earlier search found no free column from there
  std::vector<std::int32_t> reached_, finished_, ready_;
  std::vector<std::pair<double, std::int32_t>> heap_;
  double nearest_ = 0.0;   // all columns up to this distance are done or ready
  std::int32_t end_ = -1;  // a free column at that distance
  std::int64_t looked_at_ = 0;
};

}  // namespace shoal
