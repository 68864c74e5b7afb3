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

std::vector<std::int32_t> Concealing::crowd_of(std::int32_t record, std::vector<std::int32_t> covering) {
  if (bonds_) std::erase_if(covering, [&](std::int32_t row) { return !bonds_->together(row, record); });
  return covering;
}

void Concealing::grow(std::int32_t row, std::int32_t record) {
  if (rows_.covers(row, record)) return;
  if (!bonds_) return rows_.grow(row, record);
  const auto before = rows_.tree().records_in(row, search_.tree);
  rows_.grow(row, record);
  const auto after = rows_.tree().records_in(row, search_.tree);
  std::vector<std::int32_t> added;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(added));
  bonds_->link(added, row);
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

std::int64_t Concealing::vary(std::span<const std::int32_t> order,
                              const std::vector<std::vector<std::int32_t>>& columns, const Variety& asked) {
  const Variety enough = asked.eased();
  std::int64_t grown = 0;
  std::vector<Crowd> crowds(columns.size());
  // Per type of record: how many rows had grown when its rows were diverse, and one more. Equal records have
  // the same rows.
  std::vector<std::int64_t> diverse(at(rows_.count()), 0);
  const Turns turns(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t record = order[i], type = rows_.tree().first_of(record);
    turns.done(i);
    if (diverse[at(type)] == grown + 1) continue;
    auto covering = rows_.tree().boxes_around(record, search_.tree);
    while (true) {
      pause();
      const auto around = crowd_of(record, covering);
      if (around.empty()) break;  // withheld
      const auto rows = static_cast<double>(around.size());
      double now = 0.0;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        crowds[c].clear();
        for (const std::int32_t row : around) change(crowds[c], columns[c][at(row)], 1);
        now += miss(enough, crowds[c], kNobody, kNobody, rows);
      }
      if (now <= 0.0) {
        diverse[at(type)] = grown + 1;
        break;
      }
      const auto is_in = [&](std::int32_t row) {
        return std::binary_search(around.begin(), around.end(), row) || rows_.withheld(row);
      };
      const auto mends = [&](std::int32_t row) {
        double then = 0.0;
        for (std::size_t c = 0; c < columns.size(); ++c)
          then += miss(enough, crowds[c], kNobody, columns[c][at(row)], rows + 1);
        return now - then > kWorthwhile;
      };
      Nearest partner = rows_.prices().nearest_partner(
          record, bonds_.has_value(), [&](std::int32_t row) { return !is_in(row) && mends(row); }, search_);
      // No single label mends anything: several rows do, in the end all of them.
      if (partner.box < 0)
        partner = rows_.prices().nearest_partner(
            record, bonds_.has_value(), [&](std::int32_t row) { return !is_in(row); }, search_);
      if (partner.box < 0) break;  // nothing more is achievable, up to rounding
      grow(partner.box, record);
      if (bonds_) grow(record, partner.box);
      const auto place = std::lower_bound(covering.begin(), covering.end(), partner.box);
      if (place == covering.end() || *place != partner.box) covering.insert(place, partner.box);
      ++grown;
    }
  }
  return grown;
}

}  // namespace shoal
