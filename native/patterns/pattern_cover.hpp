// The greedy heuristic of pattern-guided k-anonymity (Bredereck, Nichterlein and Niedermeier 2013).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patterns/projection.hpp"

namespace shoal {

struct Cover {
  std::vector<std::int32_t> pattern_of;  // for each row; -1 for those that are left over
  std::int64_t counted = 0;              // rows that were counted, over all patterns
};

// Takes one pattern after the other, in the order given: whichever rows look the same as at least k - 1
// others, among those that no pattern has taken yet, are its own. `kept` are the columns that each pattern
// keeps. The same on any number of cores. If rows are `shared`, those that are taken still count for
// others: each row then has the first pattern that could take it at all.
Cover cover(std::span<const std::int32_t> codes, std::size_t rows, std::span<const Columns> kept,
            std::int64_t k, bool shared);

}  // namespace shoal
