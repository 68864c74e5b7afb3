#include "classes/cut.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

// How many records before each place, at most, belong to different owners.
std::vector<std::int32_t> without_repetition(std::span<const std::int32_t> owners, std::int32_t rows) {
  std::vector<std::int32_t> reach(at(rows) + 1);
  std::iota(reach.begin(), reach.end(), 0);
  if (owners.empty()) return reach;
  std::vector<std::int32_t> last(at(*std::max_element(owners.begin(), owners.end())) + 1, 0);
  for (std::int32_t end = 1; end <= rows; ++end) {
    const std::int32_t before = std::exchange(last[at(owners[at(end) - 1])], end);
    reach[at(end)] = std::min(reach[at(end) - 1] + 1, end - before);
  }
  return reach;
}

}  // namespace

std::vector<std::int32_t> cut(std::span<const std::int32_t> codes, std::int32_t rows,
                              const std::vector<Attribute>& attributes, std::int32_t k,
                              std::span<const std::int32_t> owners) {
  const std::size_t d = attributes.size();
  // Of sets: where the same code stands next.
  std::vector<std::int32_t> again(codes.size(), rows);
  for (std::size_t a = 0; a < d; ++a) {
    if (attributes[a].kind != Kind::set) continue;
    std::vector<std::int32_t> next(at(attributes[a].size), rows);
    for (std::int32_t i = rows; i-- > 0;) {
      std::int32_t& place = next[at(codes[at(i) * d + a])];
      again[at(i) * d + a] = place;
      place = i;
    }
  }
  const std::vector<std::int32_t> reach = without_repetition(owners, rows);
  std::vector<double> least(at(rows) + 1, kUnlimited);  // of all before a place
  std::vector<std::int32_t> begins(at(rows) + 1, 0);    // where the class that ends there begins
  std::vector<double> costs;                            // of the class of the last 1, 2, ... records
  least[0] = 0.0;
  for (std::int32_t end = k; end <= rows; ++end) {
    pause_sometimes();
    const std::int32_t longest = std::min(reach[at(end)], 2 * k - 1);
    costs.assign(at(longest), 0.0);
    for (std::size_t a = 0; a < d; ++a) {
      const Attribute& attribute = attributes[a];
      const auto index = [&](std::int32_t length) { return at(end - length) * d + a; };
      if (attribute.kind == Kind::set) {
        std::int64_t values = 0;
        for (std::int32_t length = 1; length <= longest; ++length) {
          values += again[index(length)] >= end;
          costs[at(length) - 1] += attribute.weight * attribute.set_cost(values);
        }
        continue;
      }
      std::int32_t low = codes[index(1)], high = low;
      for (std::int32_t length = 1; length <= longest; ++length) {
        low = std::min(low, codes[index(length)]);
        high = std::max(high, codes[index(length)]);
        costs[at(length) - 1] += attribute.weight * attribute.interval_cost(low, high);
      }
    }
    for (std::int32_t length = k; length <= longest; ++length) {
      const double cost = least[at(end - length)] + length * costs[at(length) - 1];
      if (cost < least[at(end)]) {
        least[at(end)] = cost;
        begins[at(end)] = end - length;
      }
    }
  }
  std::vector<std::int32_t> starts;
  if (least[at(rows)] == kUnlimited) return starts;
  for (std::int32_t end = rows; end > 0; end = begins[at(end)]) starts.push_back(begins[at(end)]);
  std::reverse(starts.begin(), starts.end());
  return starts;
}

}  // namespace shoal
