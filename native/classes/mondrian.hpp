// Mondrian: cutting a table into classes of neighbouring records, each with at least k of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.hpp"

namespace shoal {

struct Sensitive {
  std::span<const std::int32_t> codes;
  std::int32_t size;  // codes are 0 .. size - 1
};

// What every class must have; a demand of 0 is none.
struct Demands {
  std::int64_t k;         // records
  double frequency_l;     // no sensitive value above a share of 1 / l
  std::int64_t distinct;  // different sensitive values
  double entropy;         // of the sensitive values, in nats

  bool diverse() const { return frequency_l > 0 || distinct > 0 || entropy > 0; }
};

// Returns the class of each record, numbered 0, 1, 2, ... `codes` is row-major, rows x attributes.
// Strict cuts keep equal values together; relaxed ones may also divide the records of one value.
std::vector<std::int32_t> mondrian(std::span<const std::int32_t> codes, std::int64_t rows,
                                   const std::vector<Attribute>& attributes,
                                   const std::vector<Sensitive>& sensitive, const Demands& demands,
                                   bool relaxed);

}  // namespace shoal
