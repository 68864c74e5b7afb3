// One round of SortGreedy: records and boxes matched one to one, cheapest pair first.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "matching/pairing.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// Matches each of some records with one of as many boxes that does not have it yet, as if all pairs were
// taken in the order of their extra cost (Doka et al. 2015, Algorithm 2). Since records and boxes agree on
// that order, the result is the stable matching that deferred acceptance reaches: every free record asks
// the box with the least extra cost among those without a better offer, all at the same time on all cores,
// and a box keeps the cheapest. A record that no box accepts takes over another record's box. `settled` are
// pairs at no cost that are taken beforehand.
Matching match_cheapest_first(BoxTree& tree, std::vector<std::int32_t> records,
                              std::vector<std::int32_t> boxes,
                              std::span<const std::pair<std::int32_t, std::int32_t>> settled);

}  // namespace shoal
