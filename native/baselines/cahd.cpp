#include "baselines/cahd.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

// The records that are free, linked in their order.
class Line {
 public:
  explicit Line(std::size_t size) : before_(size + 2), behind_(size + 2) {
    for (std::size_t place = 0; place < size + 2; ++place) {
      before_[place] = place == 0 ? 0 : place - 1;
      behind_[place] = std::min(place + 1, size + 1);
    }
  }
  // Places count from 1; 0 and size + 1 are the ends.
  std::size_t before(std::size_t place) const { return before_[place]; }
  std::size_t behind(std::size_t place) const { return behind_[place]; }
  void leave(std::size_t place) {
    behind_[before_[place]] = behind_[place];
    before_[behind_[place]] = before_[place];
  }

 private:
  std::vector<std::size_t> before_, behind_;
};

}  // namespace

std::vector<std::int32_t> cahd(const PackedSets& sets, std::span<const std::int32_t> order,
                               std::span<const std::int32_t> labels, std::int32_t different, std::size_t size,
                               std::size_t reach) {
  const std::size_t n = order.size();
  Line line(n);
  Comparison compare(sets);
  std::vector<std::size_t> often(at(different), 0);
  for (const std::int32_t label : labels) ++often[at(label)];
  // The number of labels that are left this often: so the most frequent one is known at once.
  std::vector<std::size_t> labels_so_often(n + 1, 0);
  for (const std::size_t times : often) ++labels_so_often[times];
  std::size_t most = *std::max_element(often.begin(), often.end()), left = n;
  const auto change = [&](std::int32_t label, bool leaves) {
    --labels_so_often[often[at(label)]];
    leaves ? --often[at(label)] : ++often[at(label)];
    ++labels_so_often[often[at(label)]];
    if (labels_so_often[most] == 0) --most;
    most = std::max(most, often[at(label)]);
  };
  std::vector<std::int32_t> group_of(n, -1);
  std::int32_t groups = 0;
  std::vector<std::pair<std::int32_t, std::size_t>> near;  // items not shared, place
  std::vector<std::size_t> group;
  const auto label_at = [&](std::size_t place) { return labels[at(order[place - 1])]; };
  const auto differs = [&](std::size_t place) {
    return std::none_of(group.begin(), group.end(),
                        [&](std::size_t other) { return label_at(other) == label_at(place); });
  };
  for (std::size_t start = 1; start <= n; ++start) {
    if (group_of[at(order[start - 1])] >= 0) continue;
    compare.take(order[start - 1]);
    group.assign(1, start);
    near.clear();
    for (const bool behind : {false, true}) {
      std::size_t found = 0;
      for (std::size_t place = start; found < reach;) {
        place = behind ? line.behind(place) : line.before(place);
        if (place == 0 || place > n) break;
        if (!differs(place)) continue;
        near.emplace_back(compare.distance(order[place - 1]), place);
        ++found;
      }
    }
    std::sort(near.begin(), near.end());
    for (const auto& [_, place] : near)
      if (group.size() < size && differs(place)) group.push_back(place);
    if (group.size() < size) continue;
    for (const std::size_t place : group) change(label_at(place), true);
    if (most * size > left - size) {
      for (const std::size_t place : group) change(label_at(place), false);
      continue;
    }
    left -= size;
    for (const std::size_t place : group) {
      group_of[at(order[place - 1])] = groups;
      line.leave(place);
    }
    ++groups;
  }
  for (std::int32_t& number : group_of)
    if (number < 0) number = groups;
  return group_of;
}

}  // namespace shoal
