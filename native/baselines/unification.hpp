// Classes are united until they are varied enough (Tassa, Mazza and Gionis 2012, Algorithm 8), for
// baselines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/variety.hpp"
#include "baselines/closure_tree.hpp"

namespace shoal {

// Unites the class with the least diversity with the one where `weight` times the loss, in the mean over
// all records, plus 1 - weight times the missing diversity is smallest. Repeats this until each class has
// the diversity: the number of its records divided by the number with its most frequent label, the minimum
// over all sensitive columns. Among equals, the class with the lowest number. Returns the class of each
// record, numbered 0, 1, 2, ...
std::vector<std::int32_t> unify(std::span<const std::int32_t> codes, std::span<const std::int32_t> class_of,
                                const ClosureCosts& costs, std::span<const Sensitive> sensitive,
                                double diversity, double weight);

}  // namespace shoal
