// Classes that become varied enough by uniting them (Tassa, Mazza and Gionis 2012, Algorithm 8).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/variety.hpp"
#include "baselines/closure_tree.hpp"

namespace shoal {

// Unites the class of the least diversity with the one where `weight` times the loss in the mean over all
// records, and 1 - weight times what diversity is lacking then, is least; again and again, until each class
// has the diversity: records per record of its most frequent label, the least over all sensitive columns. Of
// equals, the class with the lowest number. Returns the class of each record, numbered 0, 1, 2, ...
std::vector<std::int32_t> unify(std::span<const std::int32_t> codes, std::span<const std::int32_t> class_of,
                                const ClosureCosts& costs, std::span<const Sensitive> sensitive,
                                double diversity, double weight);

}  // namespace shoal
