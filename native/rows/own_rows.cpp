#include "rows/own_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kOthers = 4;  // one of this many is drawn instead of the best
constexpr int kTrials = 8;          // how many times another box is drawn if it is the same as before

}  // namespace

OwnRows::OwnRows(std::span<const std::int32_t> codes, std::int32_t count,
                 const std::vector<Attribute>& attributes, std::vector<std::vector<double>> tables,
                 std::int32_t room)
    : attributes_(attributes), tree_(codes, count, attributes, room),
      prices_(tree_, attributes, std::move(tables)), members_(at(count)), withheld_(at(count), 0) {
  for (std::int32_t row = 0; row < count; ++row) members_[at(row)].push_back(row);
}

void OwnRows::withhold(std::int32_t row) {
  withheld_[at(row)] = 1;
  tree_.delete_box(row);
}

void OwnRows::stretch(std::int32_t row, std::int32_t record) {
  tree_.stretch(row, record);
  prices_.renew(row);
  members_[at(row)].push_back(record);
}

void OwnRows::grow(std::int32_t row, std::int32_t record) {
  stretch(row, record);
  tree_.refresh_above(row);
}

void OwnRows::reshape(std::int32_t row, std::vector<std::int32_t> members) {
  set_members(row, std::move(members));
  tree_.refresh_above(row);
}

void OwnRows::set_members(std::int32_t row, std::vector<std::int32_t> members) {
  tree_.reshape(row, members);
  prices_.renew(row);
  members_[at(row)] = std::move(members);
}

// Rows do not see each other grow, so that they may all do so at the same time.
template <typename Expand>
void OwnRows::expand_each(const Expand& expand) {
  share(at(count()), 16, [&] {
    return [&, search = Prices::Search{}](std::size_t i) mutable {
      const auto row = static_cast<std::int32_t>(i);
      if (!withheld(row)) expand(row, search);
    };
  });
  tree_.refresh();
}

void OwnRows::expand(std::int64_t k) {
  expand_each([&](std::int32_t row, Prices::Search& search) { expand(row, k, kUnlimited, search); });
}

// Ends as soon as the row costs as much as the limit.
void OwnRows::expand(std::int32_t row, std::int64_t k, double limit, Prices::Search& search) {
  double spent = limit < kUnlimited ? prices_.cost(row) : 0.0;
  for (std::int64_t taken = 1; taken < k && spent < limit; ++taken) {
    const Outside outside = prices_.nearest_outside(row, k, search);
    const auto [cost, record] = outside.nearest;
    // Records in the box already are taken in at no cost, unless another one lowers the cost.
    if (cost >= 0.0) taken = std::max(taken, outside.covered);
    if (taken >= k || record < 0) break;
    stretch(row, record);
    spent += cost;
  }
}

void OwnRows::expand_from_several(std::int64_t k, std::size_t starts, std::span<const std::uint64_t> keys) {
  using Found = std::pair<double, std::vector<std::int32_t>>;  // cost, members
  expand_each([&](std::int32_t row, Prices::Search& search) {
    const auto near = prices_.nearest_records(row, starts, search);
    std::vector<Found> found;
    double limit = kUnlimited;
    const auto attempt = [&] {
      expand(row, k, limit, search);
      const double cost = prices_.cost(row);
      if (keys.empty()) limit = std::min(limit, cost);
      if (keys.empty() && !found.empty() && cost >= found[0].first - kWorthwhileAlone) return;
      if (keys.empty()) found.clear();
      found.emplace_back(cost, members_[at(row)]);
    };
    attempt();
    for (const NearRecord& first : near) {
      if (limit <= 0.0) break;
      set_members(row, {row, first.record});
      attempt();
    }
    const auto best = std::min_element(found.begin(), found.end());
    std::iter_swap(found.begin(), best);
    set_members(row, found[0].second);
    if (keys.empty()) return;
    RandomWords own(keys.subspan(4 * at(row), 4));
    std::sort(found.begin() + 1, found.end());
    std::vector<std::size_t> others;
    for (std::size_t i = 1; i < found.size() && others.size() < kOthers; ++i)
      if (!same_box(row, found[i].second)) others.push_back(i);
    if (others.empty() || own.below(2) == 0) return;
    set_members(row, found[others[own.below(static_cast<std::uint32_t>(others.size()))]].second);
  });
}

void OwnRows::expand_anew(std::int32_t row, std::vector<std::int32_t> members, std::int64_t k) {
  set_members(row, std::move(members));
  expand(row, k, kUnlimited, search_);
  tree_.refresh_above(row);
}

void OwnRows::expand_at_random(std::int64_t k, std::span<const std::uint64_t> keys) {
  const auto wanted = at(k - 1);
  expand_each([&](std::int32_t row, Prices::Search& search) {
    RandomWords own(keys.subspan(4 * at(row), 4));
    const auto near = prices_.nearest_records(row, 2 * wanted, search);
    expand(row, k, kUnlimited, search);
    std::vector<std::int32_t> other;
    for (int trial = 0; trial < kTrials; ++trial) {
      other = drawn(row, near, wanted, own);
      if (!same_box(row, other)) break;
      other.clear();
    }
    if (own.below(2) == 0) return;
    if (!other.empty()) {
      set_members(row, std::move(other));
    } else if (members_[at(row)].size() > 1) {
      // Nothing else is near: the box is made larger. One that shows a record as it is hides it among copies.
      const auto outside = prices_.nearest_outside(row, count(), search);
      if (outside.nearest.record >= 0) stretch(row, outside.nearest.record);
    }
  });
}

// The record of the row and some of those near it.
std::vector<std::int32_t> OwnRows::drawn(std::int32_t row, const std::vector<NearRecord>& near,
                                         std::size_t count, RandomWords& random) const {
  std::vector<std::int32_t> records{row};
  for (const NearRecord& other : near) records.push_back(other.record);
  for (std::size_t i = 1; i <= std::min(count, near.size()); ++i)
    std::swap(records[i], records[i + random.below(static_cast<std::uint32_t>(records.size() - i))]);
  records.resize(std::min(count, near.size()) + 1);
  return records;
}

// Whether the smallest box around these records is that of the row: neither covers anything more.
bool OwnRows::same_box(std::int32_t row, std::span<const std::int32_t> members) {
  const auto covered = [&](std::span<const std::int32_t> records) {
    return std::all_of(records.begin(), records.end(), [&](std::int32_t r) { return covers(row, r); });
  };
  if (!covered(members)) return false;
  const auto before = members_[at(row)];
  tree_.reshape(row, members);
  const bool same = covered(before);
  tree_.reshape(row, before);
  return same;
}

std::int64_t OwnRows::cover(std::span<const std::int32_t> order, std::int64_t k) {
  std::vector<std::uint8_t> lacks(order.size());
  share(order.size(), 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t i) mutable {
      lacks[i] = !tree_.is_covered(order[i], k, search);  // rows only grow: a covered record stays so
    };
  });
  std::int64_t grown = 0, before = -1;
  while (grown != before) {  // records that need no row may come to lie in one
    before = grown;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (lacks[i] == 0) continue;
      pause();
      const std::int32_t record = order[i];
      const std::int64_t rows = static_cast<std::int64_t>(tree_.boxes_around(record, search_.tree).size());
      if (rows == 0 && withheld(record)) continue;
      lacks[i] = 0;
      if (rows >= k) continue;
      const auto near = prices_.nearest_boxes(
          record, at(k - rows), [&](std::int32_t row) { return !withheld(row) && !covers(row, record); },
          search_);
      for (const NearBox& each : near) grow(each.box, record);
      grown += static_cast<std::int64_t>(near.size());
    }
  }
  return grown;
}

}  // namespace shoal
