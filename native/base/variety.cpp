#include "base/variety.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace shoal {

Variety Variety::eased() const {
  return {frequency_l * (1.0 - kRounding / 2.0), distinct, entropy - (entropy > 0.0 ? kRounding / 2.0 : 0.0)};
}

void change(Crowd& crowd, std::int32_t label, std::int32_t by) {
  const auto place = std::lower_bound(crowd.begin(), crowd.end(), std::pair(label, 0));
  if (place == crowd.end() || place->first != label)
    crowd.insert(place, {label, by});
  else if ((place->second += by) == 0)
    crowd.erase(place);
}

double miss(const Variety& asked, const Crowd& crowd, std::int32_t without, std::int32_t with, double rows) {
  double excess = 0.0, logs = 0.0;
  std::int64_t distinct = 0;
  const auto count = [&](std::int32_t often) {
    if (often == 0) return;
    ++distinct;
    excess += std::max(0.0, asked.frequency_l * often - rows);
    if (asked.entropy > 0.0) logs += c_log_c(often);
  };
  bool there = with == kNobody;
  for (const auto& [label, often] : crowd) {
    there |= label == with;
    count(often - (label == without) + (label == with));
  }
  if (!there) count(1);
  double sum = excess + static_cast<double>(std::max<std::int64_t>(0, asked.distinct - distinct));
  if (asked.entropy > 0.0) sum += std::max(0.0, rows * asked.entropy - c_log_c(rows) + logs);
  return sum;
}

}  // namespace shoal
