// The greedy heuristic of pattern-guided k-anonymity (Bredereck, Nichterlein and Niedermeier 2013).
//
// Example: k = 2, the rows (1, 5), (1, 5), (1, 6) and (1, 7), and the patterns {0, 1}, {0} of kept columns.
// The first takes the first two rows, which look the same on both columns; the second takes the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patterns/projection.hpp"
#include "patterns/varied_rows.hpp"

namespace shoal {

struct Cover {
  std::vector<std::int32_t> pattern_of;  // for each row; -1 for those that are left over
  std::int64_t counted = 0;              // rows that were counted, over all patterns
};

// Takes one pattern after the other, in the order given: rows that look the same as at least k - 1 others,
// among those that no pattern has taken yet, get this pattern. `kept` are the columns that each pattern
// keeps. The result does not depend on the number of cores. If rows are `shared`, rows that are taken still
// count for others: each row then has the first pattern that could take it. If sensitive values must be
// varied, a pattern takes of rows that look the same only a part that is varied enough.
Cover cover(std::span<const std::int32_t> codes, std::size_t rows, std::span<const Columns> kept,
            std::int64_t k, bool shared, const VariedRows& varied = {});

}  // namespace shoal
