#include "rows/concealing.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// For each component, the components of the rows that cover its records. Records in the largest component,
// which usually contains nearly all records, are not searched.
std::vector<std::vector<std::int32_t>> edges_between(const OwnRows& rows,
                                                     std::span<const std::int32_t> components) {
  const BoxTree& tree = rows.tree();
  const std::int32_t count = *std::max_element(components.begin(), components.end()) + 1;
  std::vector<std::int64_t> sizes(at(count), 0);
  for (const std::int32_t component : components) ++sizes[at(component)];
  const auto largest =
      static_cast<std::int32_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  const std::size_t d = tree.attributes();
  std::vector<std::vector<std::int32_t>> of_record(components.size());
  std::vector<std::uint8_t> around_largest(components.size(), 0);  // rows
  share(components.size(), 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t i) mutable {
      if (components[i] == largest) return;
      const auto place = static_cast<std::int32_t>(i);
      if (!rows.withheld(place)) {
        const auto inside = tree.records_in(place, search);
        around_largest[i] = std::any_of(inside.begin(), inside.end(), [&](std::int32_t record) {
          return components[at(record)] == largest;
        });
      }
      // Equal records are covered by the same rows, and stand together.
      if (i > 0 && components[i - 1] == components[i] &&
          std::equal(tree.codes(place), tree.codes(place) + d, tree.codes(place - 1)))
        return;
      auto& found = of_record[i];
      for (const std::int32_t row : tree.boxes_around(place, search))
        if (components[at(row)] != components[i]) found.push_back(components[at(row)]);
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      found.shrink_to_fit();
    };
  });
  std::vector<std::vector<std::int32_t>> edges(at(count));
  for (std::size_t i = 0; i < components.size(); ++i) {
    auto& all = edges[at(components[i])];
    all.insert(all.end(), of_record[i].begin(), of_record[i].end());
    of_record[i] = {};
    if (around_largest[i] != 0) edges[at(largest)].push_back(components[i]);
  }
  return edges;
}

}  // namespace

Concealing::Concealing(OwnRows& rows, std::span<const std::int32_t> components) : rows_(rows) {
  if (!components.empty())
    bonds_.emplace(std::vector(components.begin(), components.end()), edges_between(rows, components));
}

std::vector<std::int32_t> Concealing::grow(std::int32_t row, std::int32_t record) {
  if (rows_.covers(row, record)) return {};
  auto added = rows_.tree().types_added(row, record, search_.tree);
  rows_.grow(row, record);
  if (bonds_) bonds_->link(added, row);  // equal records are in the same component
  return added;
}

// fits(one) lists the rows that cover a record, or the records that a row covers; tie(one, other) is a row
// and the record around which it has to grow so that the two are a match.
template <typename Fits, typename Tie>
std::int64_t Concealing::conceal(std::span<const std::int32_t> order, std::int64_t k, const Fits& fits,
                                 const Tie& tie) {
  std::int64_t grown = 0;
  const Turns turns(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    pause();
    turns.done(i);
    const std::int32_t one = order[i];
    auto others = fits(one);
    while (true) {
      const auto apart = std::partition(others.begin(), others.end(),
                                        [&](std::int32_t other) { return bonds_->together(one, other); });
      if (apart - others.begin() >= k || apart == others.end()) break;
      const auto extra = [&](std::int32_t other) {
        const auto [row, record] = tie(one, other);
        return std::pair(rows_.prices().extra(row, record), other);
      };
      const auto cheapest =
          std::min_element(apart, others.end(), [&](auto x, auto y) { return extra(x) < extra(y); });
      const auto [row, record] = tie(one, *cheapest);
      grow(row, record);
      ++grown;
    }
  }
  return grown;
}

std::int64_t Concealing::conceal_records(std::span<const std::int32_t> order, std::int64_t k) {
  return conceal(
      order, k, [&](std::int32_t record) { return rows_.tree().boxes_around(record, search_.tree); },
      [](std::int32_t record, std::int32_t row) { return std::pair(record, row); });
}

std::int64_t Concealing::conceal_rows(std::span<const std::int32_t> order, std::int64_t k) {
  return conceal(
      order, k, [&](std::int32_t row) { return rows_.tree().records_in(row, search_.tree); },
      [](std::int32_t row, std::int32_t record) { return std::pair(record, row); });
}

Nearest Concealing::cheapest_match(std::int32_t record, std::int64_t k) {
  Nearest best;
  std::int64_t matches = 0;
  for (const std::int32_t row : rows_.tree().boxes_around(record, search_.tree)) {
    if (bonds_->together(record, row)) {
      ++matches;
    } else if (const double extra = rows_.prices().extra(record, row); extra < best.cost) {
      best = {row, extra};
    }
  }
  return matches < k ? best : Nearest{};
}

std::int64_t Concealing::conceal_cheapest_first(std::span<const std::int32_t> records, std::int64_t k) {
  using Waiting = std::pair<double, std::int32_t>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  for (const std::int32_t record : records) {
    pause();
    waiting.emplace(cheapest_match(record, k).cost, record);
  }
  std::int64_t grown = 0;
  while (!waiting.empty()) {
    pause();
    const auto [cost, record] = waiting.top();
    waiting.pop();
    const Nearest now = cheapest_match(record, k);
    if (now.box < 0) continue;
    if (now.cost <= cost) {
      grow(record, now.box);
      ++grown;
    }
    waiting.emplace(now.cost, record);
  }
  return grown;
}

// The labels around a record are counted once, and again only where a row grew around it.
std::int64_t Concealing::vary(std::span<const std::int32_t> order,
                              const std::vector<std::vector<std::int32_t>>& columns, const Variety& asked) {
  LabelCrowds crowds(rows_, bonds_ ? &*bonds_ : nullptr, columns, asked.eased());
  std::int64_t grown = 0, before = -1;
  while (grown != before) {  // rows that grow for one record may spoil the crowd of another
    before = grown;
    const Turns turns(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      pause_sometimes();
      turns.done(i);
      grown += vary(order[i], crowds);
    }
  }
  return grown;
}

std::int64_t Concealing::vary(std::int32_t record, LabelCrowds& crowds) {
  const std::int32_t type = rows_.tree().first_of(record);
  std::int64_t grown = 0;
  for (; crowds.miss(type) > 0.0; ++grown) {
    pause();
    const auto fits = [&](std::int32_t row) { return !rows_.withheld(row) && !crowds.counts(type, row); };
    const auto mends = [&](std::int32_t row) { return crowds.mends(type, row) && fits(row); };
    Nearest partner = rows_.prices().nearest_partner(record, bonds_.has_value(), mends, search_);
    // No single label mends anything: several rows do, in the end all of them.
    if (partner.box < 0) partner = rows_.prices().nearest_partner(record, bonds_.has_value(), fits, search_);
    if (partner.box < 0) break;  // nothing more is achievable, up to rounding
    crowds.add(partner.box, grow(partner.box, record));
    if (bonds_) crowds.add(record, grow(record, partner.box));
  }
  return grown;
}

}  // namespace shoal
