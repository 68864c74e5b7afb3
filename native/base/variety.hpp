// How varied the labels in a crowd are, against what is asked.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace shoal {

// What the rows that cover a record must have, in every column of labels; 0 is no demand.
struct Variety {
  double frequency_l;     // no label has a share above 1 / frequency_l
  std::int64_t distinct;  // different labels
  double entropy;         // of the labels, in nats

  // With half of what the audit forgives to rounding.
  Variety eased() const;
};

using Crowd = std::vector<std::pair<std::int32_t, std::int32_t>>;  // label, how often; ascending

constexpr std::int32_t kNobody = -1;
constexpr double kWorthwhile = 1e-9;  // a change that mends less may be rounding

void change(Crowd& crowd, std::int32_t label, std::int32_t by);

// By how much the labels of so many rows miss what is asked, if one label were taken away and one were added;
// the rows are counted after that.
double miss(const Variety& asked, const Crowd& crowd, std::int32_t without, std::int32_t with, double rows);

}  // namespace shoal
