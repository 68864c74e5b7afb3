// The forest algorithm (Aggarwal et al. 2005), a baseline: trees of records along lightest edges, cut into
// classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "baselines/closure_tree.hpp"

namespace shoal {

// Links records by the cost of two together: of all edges that leave a tree of fewer than k records, the
// lightest, then the one with the lowest numbers, until there is no such tree. Then cuts each tree of more
// than max(2k - 1, 3k - 5) records into parts of at least k, heavy edges first. A part has no more than
// that, or rarely up to 3k - 3; see Forest::decompose.
//
// `codes` has a row for each distinct record, row-major, and `copies` the number of its copies, which are
// linked. Returns the class of each copy of the first record, then of the second, ...
std::vector<std::int32_t> forest(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                 const ClosureCosts& costs, std::int32_t k);

}  // namespace shoal
