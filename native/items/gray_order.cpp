#include "items/gray_order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {
namespace {

// Where the bitmaps differ first, one has an item that the other lacks. Each item before it reflects the
// order of what follows.
bool before(std::span<const std::int32_t> one, std::span<const std::int32_t> other) {
  const std::size_t both = std::min(one.size(), other.size());
  std::size_t shared = 0;
  while (shared < both && one[shared] == other[shared]) ++shared;
  if (shared == one.size() && shared == other.size()) return false;
  const bool one_has_it = shared == other.size() || (shared < one.size() && one[shared] < other[shared]);
  return one_has_it == (shared % 2 == 1);
}

}  // namespace

std::vector<std::int32_t> gray_order(const ItemSets& sets) {
  std::vector<std::int32_t> order(at(sets.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t one, std::int32_t other) {
    return before(sets.of(one), sets.of(other));
  });
  return order;
}

std::vector<std::int32_t> breakpoints(std::span<const std::int32_t> steps, std::int32_t shortest,
                                      std::int32_t longest) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  const auto records = static_cast<std::int32_t>(steps.size()) + 1;
  std::vector<std::int64_t> least(steps.size() + 2, kNever);  // of the first 0, 1, 2, ... records
  std::vector<std::int32_t> begins(steps.size() + 2, 0);
  least[0] = 0;
  for (std::int32_t end = shortest; end <= records; ++end)
    for (std::int32_t begin = std::max(0, end - longest); begin <= end - shortest; ++begin) {
      const auto from = at(begin), to = at(end);
      if (least[from] == kNever) continue;
      const std::int64_t sum = least[from] + (begin > 0 ? steps[from - 1] : 0);
      if (sum < least[to]) {
        least[to] = sum;
        begins[to] = begin;
      }
    }
  std::vector<std::int32_t> starts;
  if (least.back() == kNever) return starts;
  for (std::int32_t end = records; end > 0; end = begins[at(end)]) starts.push_back(begins[at(end)]);
  std::reverse(starts.begin(), starts.end());
  return starts;
}

}  // namespace shoal
