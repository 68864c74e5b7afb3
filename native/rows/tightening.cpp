#include "rows/tightening.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {}  // namespace

Tightening::Tightening(OwnRows& rows, std::int64_t k, bool keep_cores)
    : rows_(rows), k_(k), keep_cores_(keep_cores), core_tree_(rows.tree()), width_(at(rows.count()), 0),
      copies_(at(rows.count()), 0), rows_around_(at(rows.count()), 0) {
  for (std::int32_t record = 0; record < rows.count(); ++record) ++copies_[at(rows.tree().first_of(record))];
  for (std::int32_t row = 0; row < rows.count(); ++row) {
    pause();
    cores_.push_back(rows.members(row));
    core_sizes_.push_back(static_cast<std::ptrdiff_t>(cores_.back().size()));
    core_costs_.push_back(rows.prices().cost(row));
    if (!rows.withheld(row)) put_back(row);
  }
}

std::vector<std::int32_t> Tightening::types_in(std::int32_t row) {
  auto inside = rows_.tree().types_in(row, search_.tree);
  if (!components_.empty()) std::erase_if(inside, [&](std::int32_t r) { return !counts(row, r); });
  return inside;
}

void Tightening::take_away(std::int32_t row) {
  for (const std::int32_t type : types_in(row)) --rows_around_[at(type)];
}

void Tightening::put_back(std::int32_t row) {
  width_[at(row)] = 0;
  for (const std::int32_t type : types_in(row)) {
    ++rows_around_[at(type)];
    width_[at(row)] += copies_[at(type)];
  }
}

void Tightening::reshape(std::int32_t row, std::vector<std::int32_t> members) {
  take_away(row);
  rows_.reshape(row, std::move(members));
  put_back(row);
}

void Tightening::grow(std::int32_t row, std::int32_t record) {
  changes_.push_back({row, rows_.members(row)});
  take_away(row);
  rows_.grow(row, record);
  put_back(row);
}

// Lets the cheapest rows take in a record until enough of them cover it; returns what that cost.
double Tightening::cover(std::int32_t record, std::int64_t widest) {
  double spent = 0.0;
  while (rows_around(record) < k_) {
    const auto near = [&](bool any) {
      return rows_.prices().nearest_boxes(
          record, at(k_ - rows_around(record)),
          [&](std::int32_t row) {
            return (any || width_[at(row)] < widest) && !rows_.withheld(row) && counts(row, record) &&
                   !rows_.covers(row, record);
          },
          search_);
    };
    auto found = near(false);
    if (found.empty()) found = near(true);
    for (const NearBox& each : found) {
      grow(each.box, record);
      spent += each.cost;
    }
  }
  return spent;
}

void Tightening::cover(std::int64_t widest) {
  std::vector<std::pair<double, std::int32_t>> lacking;
  for (std::int32_t record = 0; record < rows_.count(); ++record)
    if (rows_around(record) < k_) lacking.emplace_back(-core_costs_[at(record)], record);
  std::sort(lacking.begin(), lacking.end());
  for (const auto& [cost, record] : lacking) {
    pause();
    cover(record, widest);
  }
  changes_.clear();
}

double Tightening::relieve(std::span<const std::int32_t> order, std::int32_t together, std::int64_t widest) {
  double saved = 0.0;
  std::vector<std::int32_t> some;
  const Turns turns(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    pause_sometimes();
    turns.done(i);
    const std::int32_t first = order[i];
    some.clear();
    for (std::int32_t row = first; row < std::min(first + together, rows_.count()); ++row)
      if (!rows_.withheld(row) && rows_.prices().cost(row) > core_costs_[at(row)] + kWorthwhileAlone)
        some.push_back(row);
    if (some.empty() || (together > 1 && some.size() == 1)) continue;
    saved += leave_to_others(some, widest);
    if (together == 1) saved += shrink(first);
  }
  return saved;
}

// Lets some rows give up everything they grew around; records that then lack a row go to the row with the
// least extra cost.
double Tightening::leave_to_others(const std::vector<std::int32_t>& some, std::int64_t widest) {
  double cost = 0.0, spent = 0.0;
  std::vector<std::int32_t> needed;
  changes_.clear();
  for (const std::int32_t row : some) {
    cost += rows_.prices().cost(row);
    spent += core_costs_[at(row)];
    const auto inside = types_in(row);
    needed.insert(needed.end(), inside.begin(), inside.end());
    changes_.push_back({row, rows_.members(row)});
    reshape(row, cores_[at(row)]);
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  std::vector<std::pair<double, std::int32_t>> lacking;
  for (const std::int32_t record : needed)
    if (rows_around(record) < k_) {
      double least = kUnlimited;
      for (const std::int32_t row : some) least = std::min(least, rows_.prices().extra(row, record));
      lacking.emplace_back(-least, record);
    }
  std::sort(lacking.begin(), lacking.end());
  for (const auto& [extra, record] : lacking) {
    if (spent >= cost - kWorthwhileAlone) break;
    spent += cover(record, widest);
  }
  if (spent < cost - kWorthwhileAlone) return cost - spent;
  for (; !changes_.empty(); changes_.pop_back())
    reshape(changes_.back().row, std::move(changes_.back().members));
  return 0.0;
}

// Makes a row anew around its own record and those that need it, if that is smaller.
double Tightening::shrink(std::int32_t row) {
  auto members = rows_.members(row);
  const double cost = rows_.prices().cost(row);
  const auto inside = types_in(row);
  const auto& core = cores_[at(row)];
  std::vector<std::int32_t> kept(core.begin(), core.begin() + (keep_cores_ ? core_sizes_[at(row)] : 1));
  kept.insert(kept.end(), core.begin() + core_sizes_[at(row)], core.end());
  for (const std::int32_t record : inside)
    if (rows_around(record) <= k_) kept.push_back(record);
  take_away(row);
  rows_.expand_anew(row, kept, k_);
  const double saved = cost - rows_.prices().cost(row);
  if (saved <= kWorthwhileAlone) rows_.reshape(row, std::move(members));
  put_back(row);
  return saved <= kWorthwhileAlone ? 0.0 : saved;
}

void Tightening::count_anew() {
  std::fill(rows_around_.begin(), rows_around_.end(), 0);
  for (std::int32_t row = 0; row < rows_.count(); ++row) {
    pause();
    if (!rows_.withheld(row)) put_back(row);
  }
}

void Tightening::price_cores() {
  for (std::int32_t row = 0; row < rows_.count(); ++row) {
    pause();
    if (rows_.withheld(row)) continue;
    const auto now = rows_.members(row);
    rows_.reshape(row, cores_[at(row)]);
    core_costs_[at(row)] = rows_.prices().cost(row);
    rows_.reshape(row, now);
  }
}

void Tightening::hold(const std::function<std::span<const std::int32_t>(std::int32_t)>& held) {
  count_anew();
  for (std::int32_t row = 0; row < rows_.count(); ++row)
    for (const std::int32_t record : held(row)) {
      const bool inside = core_tree_.covers(row, core_tree_.codes(record));
      if (!inside) core_tree_.stretch(row, record);
      if (record != row && (!inside || !keep_cores_)) cores_[at(row)].push_back(record);
    }
  price_cores();
}

void Tightening::hold_together(std::span<const std::int32_t> components) {
  components_.assign(components.begin(), components.end());
  count_anew();  // rows have grown since
  // From one record of each component, edges lead to all the others, and back again.
  std::vector<std::uint8_t> onward(at(rows_.count()), 0), backward(onward);
  // What is reached is deleted from these, and not found again: of equal records, each has the same rows.
  BoxTree rows_left(rows_.tree()), records_left(rows_.tree());
  for (std::int32_t root = 0; root < rows_.count(); ++root) {
    connect(
        root, onward,
        [&](std::int32_t record, const auto& visit) {
          for (const std::int32_t row : rows_left.boxes_around(record, search_.tree)) visit(row, row, record);
        },
        [&](std::int32_t row) { rows_left.delete_box(row); });
    connect(
        root, backward,
        [&](std::int32_t row, const auto& visit) {
          for (const std::int32_t record : records_left.records_in(row, search_.tree))
            visit(record, row, record);
        },
        [&](std::int32_t record) { records_left.delete_record(record); });
  }
  price_cores();
}

// Reaches all records in the component of the root along edges, the cheapest first, and keeps the edges
// used: next(one, visit) calls visit(other, row, record) for each further edge, in the order of the others,
// where `record` is in `row`; drop(one) says that it is reached. Edges at no cost are followed at once. Equal
// records reach each other at no cost, so of edges to several of them the cheapest is enough.
template <typename Next, typename Drop>
void Tightening::connect(std::int32_t root, std::vector<std::uint8_t>& reached, const Next& next,
                         const Drop& drop) {
  using Edge = std::tuple<double, std::int32_t, std::int32_t, std::int32_t>;  // cost, leads to, row, record
  if (reached[at(root)] != 0) return;
  const std::size_t d = core_tree_.attributes();
  const auto equal = [&](std::int32_t x, std::int32_t y) {
    return !rows_.withheld(x) && !rows_.withheld(y) &&
           std::equal(core_tree_.codes(x), core_tree_.codes(x) + d, core_tree_.codes(y));
  };
  std::priority_queue<Edge, std::vector<Edge>, std::greater<>> waiting;
  std::vector<std::int32_t> arrived;
  std::vector<Edge> onward;
  const auto arrive = [&](std::int32_t other, std::int32_t row, std::int32_t record) {
    const bool inside = core_tree_.covers(row, core_tree_.codes(record));
    if (!inside) core_tree_.stretch(row, record);
    // Records in the core stay with it, if the core stays.
    if (!inside || !keep_cores_) cores_[at(row)].push_back(record);
    reached[at(other)] = 1;
    drop(other);
    arrived.push_back(other);
  };
  reached[at(root)] = 1;
  drop(root);
  arrived.push_back(root);
  while (true) {
    while (!arrived.empty()) {
      pause();
      const std::int32_t one = arrived.back();
      arrived.pop_back();
      onward.clear();
      next(one, [&](std::int32_t other, std::int32_t row, std::int32_t record) {
        if (reached[at(other)] != 0 || !counts(row, record)) return;
        const double cost = core_tree_.extra_cost(row, core_tree_.codes(record));
        if (cost <= 0.0) return arrive(other, row, record);
        const Edge edge{cost, other, row, record};
        if (onward.empty() || !equal(std::get<1>(onward.back()), other))
          onward.push_back(edge);
        else
          onward.back() = std::min(onward.back(), edge);
      });
      for (const Edge& edge : onward) waiting.push(edge);
    }
    if (waiting.empty()) return;
    const auto [cost, other, row, record] = waiting.top();
    waiting.pop();
    if (reached[at(other)] == 0) arrive(other, row, record);
  }
}

}  // namespace shoal
