// Mondrian: cuts a table into classes of neighbouring records, each with at least k of them.
//
// Example: the ages 20, 21, 40 and 41 and k = 2 are cut between 21 and 40. Neither side can be cut again,
// so the classes are 0, 0, 1, 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"
#include "base/variety.hpp"

namespace shoal {

// Returns the class of each record, numbered 0, 1, 2, ... Each class has at least k records, and the
// sensitive values in it are as varied as asked of their column. `codes` is row-major, rows x attributes.
// Strict cuts keep equal values together; relaxed ones may also divide the records of one value.
std::vector<std::int32_t> mondrian(std::span<const std::int32_t> codes, std::int64_t rows,
                                   const std::vector<Attribute>& attributes, std::vector<Sensitive> sensitive,
                                   std::int64_t k, bool relaxed);

}  // namespace shoal
