// How varied the labels of a class or a crowd are, compared with the requirement.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

// A requirement on the labels of every column; 0 requires nothing. The labels are the sensitive values of a
// class, or those on the rows that cover a record.
//
// Example: the labels a, a, b, c satisfy frequency_l = 2 (the share of `a` is 1/2), distinct = 3 and
// entropy = 1.03 (their entropy is 1.04 nats).
struct Variety {
  double frequency_l;     // no label has a share above 1 / frequency_l
  std::int64_t distinct;  // different labels
  double entropy;         // of the labels, in nats

  bool any() const { return frequency_l > 0 || distinct > 0 || entropy > 0; }
  // The same, relaxed by half of the rounding that the audit accepts.
  Variety eased() const;
};

// The labels of all records in one sensitive column, and what is asked of those of each class.
struct Sensitive {
  std::span<const std::int32_t> codes;
  std::int32_t size;           // codes are 0 .. size - 1
  Variety asked{0.0, 0, 0.0};  // nothing
};

using Crowd = std::vector<std::pair<std::int32_t, std::int32_t>>;  // label, how often; ascending

constexpr std::int32_t kNobody = -1;

void change(Crowd& crowd, std::int32_t label, std::int32_t by);

// How far the labels of some rows are from the requirement if one label is removed and one is added; `rows`
// is the number of rows after that.
double miss(const Variety& asked, const Crowd& crowd, std::int32_t without, std::int32_t with, double rows);

}  // namespace shoal
