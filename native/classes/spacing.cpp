#include "classes/spacing.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

using Waiting = std::pair<std::int32_t, std::int32_t>;  // what it waits for, or its place; the owner
using Earliest = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;

}  // namespace

std::vector<std::int32_t> spaced(std::span<const std::int32_t> owners, std::int32_t gap) {
  const auto n = static_cast<std::int32_t>(owners.size());
  const std::int32_t size = n == 0 ? 0 : *std::max_element(owners.begin(), owners.end()) + 1;
  std::vector<std::int32_t> free_from(at(size), 0);  // the first place where an owner may stand again
  std::vector<std::deque<std::int32_t>> waiting(at(size));
  Earliest later;  // owners whose records wait, by the place where they may stand
  Earliest ready;  // owners whose records may stand now, by the first of these records
  std::vector<std::int32_t> order;
  const auto put = [&](std::int32_t record) {
    const std::int32_t owner = owners[at(record)];
    order.push_back(record);
    free_from[at(owner)] = static_cast<std::int32_t>(order.size()) - 1 + gap;
    if (!waiting[at(owner)].empty()) later.emplace(free_from[at(owner)], owner);
  };
  for (std::int32_t next = 0;;) {
    const auto place = static_cast<std::int32_t>(order.size());
    while (!later.empty() && later.top().first <= place) {
      const std::int32_t owner = later.top().second;
      later.pop();
      ready.emplace(waiting[at(owner)].front(), owner);
    }
    if (!ready.empty()) {
      const std::int32_t owner = ready.top().second, record = ready.top().first;
      ready.pop();
      waiting[at(owner)].pop_front();
      put(record);
      continue;
    }
    if (next == n) return order;
    const std::int32_t owner = owners[at(next)];
    if (free_from[at(owner)] <= place) {
      put(next);
    } else {
      if (waiting[at(owner)].empty()) later.emplace(free_from[at(owner)], owner);
      waiting[at(owner)].push_back(next);
    }
    ++next;
  }
}

}  // namespace shoal
