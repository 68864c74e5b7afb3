#include "matching/diverse_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr double kSearchPrice = 3.0;  // less while searching, to leave dead ends
constexpr double kNothing = 1e-9;     // weights below are due to rounding
constexpr std::uint32_t kUsual = 64;  // the maximum length of most cycles
constexpr int kTries = 64;
constexpr std::uint32_t kScale = 1U << 30U;
constexpr std::int32_t kScanned = 64;  // units that are compared one by one
constexpr std::size_t kCompared = 16;  // rows whose crowds are compared
constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();  // after all crowds

// True with this probability.
bool happens(double probability, RandomWords& random) {
  if (probability >= 1.0) return true;
  return random.below(kScale) < static_cast<std::uint32_t>(probability * kScale);
}

// Decides on a move after which crowds miss so much more. A change due to rounding is none.
bool accepted(double ratio, double price, double more, RandomWords& random) {
  if (std::abs(more) < kNothing) more = 0.0;
  return happens(ratio * std::exp(-price * std::max(more, -50.0)), random);
}

// Where a label is in a list of labels and weights, or would be.
template <typename Counts>
auto find(Counts& counts, std::int32_t label) {
  return std::lower_bound(counts.begin(), counts.end(), label,
                          [](const auto& each, std::int32_t wanted) { return each.first < wanted; });
}

double w_log_w(double weight) {
  return weight > kNothing ? weight * std::log(weight) : 0.0;
}

}  // namespace

DiverseDraw::DiverseDraw(const Shares& shares, std::span<const std::int32_t> unit_of_row,
                         const Incidence& incidence, std::vector<DrawnColumn> columns,
                         std::span<const std::int32_t> record_of)
    : rows_(static_cast<std::int32_t>(unit_of_row.size())), shares_(shares), single_(true),
      unit_of_(unit_of_row), unit_starts_(incidence.starts.size(), 0), unit_rows_(unit_of_row.size()),
      incidence_(incidence), columns_(std::move(columns)), record_of_(record_of.begin(), record_of.end()),
      sizes_(incidence.around.size(), 0.0), misses_(incidence.around.size(), 0.0),
      place_(incidence.around.size(), -1), seen_(unit_of_row.size(), 0) {
  for (auto& column : columns_) column.asked = column.asked.eased();
  for (const std::int32_t unit : unit_of_) ++unit_starts_[at(unit) + 1];
  for (std::size_t unit = 1; unit < unit_starts_.size(); ++unit) unit_starts_[unit] += unit_starts_[unit - 1];
  auto next = unit_starts_;
  for (std::int32_t row = 0; row < rows_; ++row) unit_rows_[at(next[at(unit_of_[at(row)])]++)] = row;
  for (std::size_t type = 0; type + 1 < shares_.starts.size(); ++type) {
    double sum = 0.0;
    for (std::size_t i = at(shares_.starts[type]); i < at(shares_.starts[type + 1]); ++i) {
      const std::size_t unit = at(shares_.units[i]);
      sum += shares_.shares[i] * (unit_starts_[unit + 1] - unit_starts_[unit]);
      edges_.push_back({sum, shares_.shares[i], shares_.units[i]});
      largest_ = std::max(largest_, shares_.shares[i]);
    }
  }
  for (std::int32_t row = 0; row < rows_; ++row) single_ &= unit_of_[at(row)] == row;
  for (std::int32_t row = 0; row < rows_; ++row) {
    carried_.push_back(described(record_of_[at(row)]));
    carried_.back().share = share(carried_.back(), row);
  }
  tallies_.assign(columns_.size(), std::vector<Tally>(incidence.around.size()));
  for (std::size_t column = 0; column < columns_.size(); ++column) count_labels(column);
  renew();
}

// The labels of a unit's rows are counted once, and then added to all crowds that the unit counts in.
void DiverseDraw::count_labels(std::size_t column) {
  std::vector<std::int32_t> labels;
  for (std::size_t unit = 0; unit + 1 < unit_starts_.size(); ++unit) {
    labels.clear();
    for (std::int32_t i = unit_starts_[unit]; i < unit_starts_[unit + 1]; ++i)
      labels.push_back(columns_[column].labels[at(record_of_[at(unit_rows_[at(i)])])]);
    std::sort(labels.begin(), labels.end());
    for (std::size_t i = at(incidence_.starts[unit]); i < at(incidence_.starts[unit + 1]); ++i) {
      const std::int32_t crowd = incidence_.crowds[i];
      if (column == 0) sizes_[at(crowd)] += incidence_.weights[i] * static_cast<double>(labels.size());
      for (std::size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
        while (end < labels.size() && labels[end] == labels[begin]) ++end;
        add(column, crowd, labels[begin], incidence_.weights[i] * static_cast<double>(end - begin));
      }
    }
  }
}

bool DiverseDraw::counts(const DrawnColumn& column, std::int32_t crowd, std::int32_t label) const {
  if (column.own_starts.empty()) return true;
  const auto begin = column.own.begin() + column.own_starts[at(crowd)];
  return std::binary_search(begin, column.own.begin() + column.own_starts[at(crowd) + 1], label);
}

double DiverseDraw::excess(const DrawnColumn& column, std::int32_t crowd, double weight) const {
  if (column.asked.frequency_l <= 0.0) return 0.0;
  return std::max(0.0, weight - sizes_[at(crowd)] / column.asked.frequency_l);
}

// Sums up everything anew, so that rounding does not add up.
void DiverseDraw::renew() {
  for (std::size_t column = 0; column < columns_.size(); ++column)
    for (std::size_t crowd = 0; crowd < misses_.size(); ++crowd) {
      Tally& tally = tallies_[column][crowd];
      tally.excess = tally.logs = 0.0;
      for (const auto& [label, weight] : tally.counts) {
        tally.excess += excess(columns_[column], static_cast<std::int32_t>(crowd), weight);
        tally.logs += w_log_w(weight);
      }
    }
  for (std::size_t crowd = 0; crowd < misses_.size(); ++crowd) {
    misses_[crowd] = miss(static_cast<std::int32_t>(crowd));
    mark(static_cast<std::int32_t>(crowd));
  }
}

double DiverseDraw::miss(std::int32_t crowd) const {
  double sum = 0.0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const Tally& tally = tallies_[column][at(crowd)];
    const Sums sums{tally.excess, tally.logs, static_cast<std::int64_t>(tally.counts.size())};
    sum += miss(columns_[column].asked, crowd, sums);
  }
  return sum > kNothing ? sum : 0.0;
}

// The same if the rows of a part of the cycle carried other records.
double DiverseDraw::miss(std::int32_t crowd, const std::vector<Part>& parts) {
  double sum = 0.0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const Tally& tally = tallies_[column][at(crowd)];
    Sums sums{tally.excess, tally.logs, static_cast<std::int64_t>(tally.counts.size())};
    net_.clear();
    const auto add_net = [&](std::int32_t record, double weight) {
      const std::int32_t label = columns_[column].labels[at(record)];
      const auto place =
          std::find_if(net_.begin(), net_.end(), [&](const auto& each) { return each.first == label; });
      if (place == net_.end())
        net_.emplace_back(label, weight);
      else
        place->second += weight;
    };
    for (const auto& [row, weight] : parts) {
      add_net(moving_[row], -weight);
      add_net(before(row), weight);
    }
    for (const auto& [label, weight] : net_) {
      if (weight == 0.0 || !counts(columns_[column], crowd, label)) continue;
      const auto place = find(tally.counts, label);
      const bool there = place != tally.counts.end() && place->first == label;
      moved(sums, column, crowd, there ? place->second : 0.0, weight);
    }
    sum += miss(columns_[column].asked, crowd, sums);
  }
  return sum > kNothing ? sum : 0.0;
}

double DiverseDraw::miss(const Variety& asked, std::int32_t crowd, const Sums& sums) const {
  double sum = sums.excess + static_cast<double>(std::max<std::int64_t>(0, asked.distinct - sums.distinct));
  if (asked.entropy > 0.0) {
    const double size = sizes_[at(crowd)];
    sum += std::max(0.0, size * (asked.entropy - std::log(size)) + sums.logs);
  }
  return sum;
}

void DiverseDraw::mark(std::int32_t crowd) {
  std::int32_t& place = place_[at(crowd)];
  if ((misses_[at(crowd)] > 0.0) == (place >= 0)) return;
  if (place < 0) {
    place = static_cast<std::int32_t>(violated_.size());
    violated_.push_back(crowd);
  } else {
    violated_[at(place)] = violated_.back();
    place_[at(violated_.back())] = place;
    violated_.pop_back();
    place = -1;
  }
}

double DiverseDraw::shortfall() const {
  double sum = 0.0;
  for (const std::int32_t crowd : violated_) sum += misses_[at(crowd)];
  return sum;
}

void DiverseDraw::add(std::size_t column, std::int32_t crowd, std::int32_t label, double weight) {
  if (!counts(columns_[column], crowd, label)) return;
  Tally& tally = tallies_[column][at(crowd)];
  auto place = find(tally.counts, label);
  if (place == tally.counts.end() || place->first != label) place = tally.counts.insert(place, {label, 0.0});
  Sums sums{tally.excess, tally.logs, 0};
  place->second = moved(sums, column, crowd, place->second, weight);
  tally.excess = sums.excess;
  tally.logs = sums.logs;
  if (place->second == 0.0) tally.counts.erase(place);
}

// Adds a weight to that of a label, which was `before`; returns what the label has then.
double DiverseDraw::moved(Sums& sums, std::size_t column, std::int32_t crowd, double before,
                          double weight) const {
  double after = before + weight;
  if (std::abs(after) < kNothing) after = 0.0;
  sums.excess += excess(columns_[column], crowd, after) - excess(columns_[column], crowd, before);
  if (columns_[column].asked.entropy > 0.0) sums.logs += w_log_w(after) - w_log_w(before);
  sums.distinct += (after != 0.0) - (before != 0.0);
  return after;
}

// A row that counts in a crowd carries another record now; returns by how much the crowd misses more.
double DiverseDraw::change(std::int32_t crowd, double weight, std::int32_t before, std::int32_t after) {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const std::int32_t old_label = columns_[column].labels[at(before)];
    const std::int32_t new_label = columns_[column].labels[at(after)];
    if (old_label == new_label) continue;
    add(column, crowd, old_label, -weight);
    add(column, crowd, new_label, weight);
  }
  const double missed = misses_[at(crowd)];
  misses_[at(crowd)] = miss(crowd);
  mark(crowd);
  return misses_[at(crowd)] - missed;
}

bool DiverseDraw::alike(std::int32_t record, std::int32_t other) const {
  return std::all_of(columns_.begin(), columns_.end(), [&](const DrawnColumn& column) {
    return column.labels[at(record)] == column.labels[at(other)];
  });
}

double DiverseDraw::carry(std::int32_t row, std::int32_t before, std::int32_t after) {
  record_of_[at(row)] = after;
  if (alike(before, after)) return 0.0;
  double more = 0.0;
  const std::size_t unit = at(unit_of_[at(row)]);
  for (std::size_t i = at(incidence_.starts[unit]); i < at(incidence_.starts[unit + 1]); ++i)
    more += change(incidence_.crowds[i], incidence_.weights[i], before, after);
  return more;
}

// Each row of the cycle gets the record of the one before, or its own again; returns the added shortfall.
double DiverseDraw::rotate(bool back) {
  double more = 0.0;
  const std::size_t size = cycle_.size();
  const std::int32_t unit = unit_of_[at(cycle_.front())];
  if (std::all_of(cycle_.begin(), cycle_.end(), [&](auto row) { return unit_of_[at(row)] == unit; })) {
    // The unit carries the same labels as before.
    for (std::size_t i = 0; i < size; ++i)
      record_of_[at(cycle_[i])] = moving_[back ? i : (i + size - 1) % size];
    return 0.0;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t own = moving_[i], other = moving_[(i + size - 1) % size];
    more += carry(cycle_[i], back ? other : own, back ? own : other);
  }
  return more;
}

DiverseDraw::Carried DiverseDraw::described(std::int32_t record) const {
  const std::size_t type = at(shares_.type_of[at(record)]);
  const std::int64_t begin = shares_.starts[type], end = shares_.starts[type + 1];
  return {record, static_cast<std::int32_t>(end - begin), begin, edges_[at(end - 1)].reached};
}

// x of what is carried and a row.
double DiverseDraw::share(const Carried& carried, std::int32_t row) const {
  const std::int32_t* units = shares_.units.data() + carried.begin;
  const std::int32_t unit = single_ ? row : unit_of_[at(row)];
  std::int32_t before = 0;
  if (carried.count <= kScanned)
    for (std::int32_t i = 0; i < carried.count; ++i) before += units[i] < unit;  // several at once
  else
    before = static_cast<std::int32_t>(std::lower_bound(units, units + carried.count, unit) - units);
  if (before == carried.count || units[before] != unit) return 0.0;
  return edges_[at(carried.begin + before)].share;
}

// A row that can have what is carried, each with probability x. Where all x are equal, the first place that
// is looked at is the right one.
DiverseDraw::Place DiverseDraw::any_row(const Carried& carried, RandomWords& random) const {
  const Edge *begin = edges_.data() + carried.begin, *last = begin + carried.count - 1;
  const double part = (random.below(kScale) + 0.5) / kScale;
  const double wanted = carried.sum * part;
  const Edge* place = begin + static_cast<std::int32_t>(carried.count * part);
  while (place > begin && (place - 1)->reached >= wanted) --place;
  while (place < last && place->reached < wanted) ++place;
  if (single_) return {place->unit, place->share};
  const std::size_t unit = at(place->unit);
  const auto size = static_cast<std::uint32_t>(unit_starts_[unit + 1] - unit_starts_[unit]);
  return {unit_rows_[at(unit_starts_[unit]) + (size > 1 ? random.below(size) : 0)], place->share};
}

std::uint32_t DiverseDraw::length(RandomWords& random) const {
  const std::uint32_t kind = random.below(256);
  const auto most = static_cast<std::uint32_t>(rows_);
  if (kind < 128 || most <= 2) return 2;
  if (kind < 192) return 3;
  if (kind == 255) return 2 + random.below(most - 1);
  return 2 + random.below(std::min(most, kind < 240 ? 8U : kUsual) - 1);
}

// Walks to other rows, each time to one that can carry the record of the row before; true if the first row
// can carry the last record, which closes the cycle.
bool DiverseDraw::propose(std::int32_t row, std::uint32_t length, RandomWords& random) {
  if (turn_ == std::numeric_limits<std::int32_t>::max()) {
    std::fill(seen_.begin(), seen_.end(), 0);
    turn_ = 0;
  }
  ++turn_;
  cycle_.assign(1, row);
  going_.clear();
  seen_[at(row)] = turn_;
  while (cycle_.size() < length) {
    const std::int32_t last = cycle_.back();
    const Carried& carried = carried_[at(last)];
    Place next{last, 0.0};
    for (int tries = 0; next.row == last && tries < kTries; ++tries) next = any_row(carried, random);
    if (seen_[at(next.row)] == turn_) return false;
    seen_[at(next.row)] = turn_;
    cycle_.push_back(next.row);
    going_.push_back(next.share);
  }
  going_.push_back(share(carried_[at(cycle_.back())], row));
  return happens(going_.back() / largest_, random);
}

// Which rows of the cycle would have other labels.
void DiverseDraw::find_changes() {
  changes_.clear();
  for (std::size_t i = 0; i < cycle_.size(); ++i)
    if (!alike(moving_[i], before(i))) changes_.push_back(i);
}

// Calls visit(crowd) for crowds in which the cycle may change something, with the rows that count there as
// parts_, until it returns false. Nothing changes in a crowd that counts all these rows with the same weight.
template <typename Visit>
void DiverseDraw::visit_crowds(const Visit& visit) {
  const auto& [starts, crowds, weights, around] = incidence_;
  heads_.clear();
  for (const std::size_t row : changes_) {
    const std::size_t unit = at(unit_of_[at(cycle_[row])]);
    heads_.emplace_back(at(starts[unit]), at(starts[unit + 1]));
  }
  while (true) {
    std::int32_t crowd = kLast;
    for (const auto& [next, end] : heads_)
      if (next < end) crowd = std::min(crowd, crowds[next]);
    if (crowd == kLast) return;
    parts_.clear();
    bool even = true;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      auto& [next, end] = heads_[i];
      if (next == end || crowds[next] != crowd) continue;
      parts_.push_back({changes_[i], weights[next++]});
      even &= parts_.back().weight == parts_.front().weight;
    }
    if (even && parts_.size() == heads_.size()) continue;
    if (!visit(crowd)) return;
  }
}

// Decides on a cycle in which few rows get other labels: looks before it changes anything.
bool DiverseDraw::rotates(double ratio, double price, RandomWords& random) {
  // With no violated crowd, each one can only miss more. Beyond this, the probability is less than the
  // random number can tell from 0.
  const double most = violated_.empty() ? (std::log(ratio) + std::log(kScale)) / price : kUnlimited;
  double more = 0.0;
  visit_crowds([&](std::int32_t crowd) {
    more += miss(crowd, parts_) - misses_[at(crowd)];
    return more <= most;
  });
  if (!accepted(ratio, price, more, random)) return false;
  visit_crowds([&](std::int32_t crowd) {
    for (const auto& [row, weight] : parts_) change(crowd, weight, moving_[row], before(row));
    return true;
  });
  for (std::size_t i = 0; i < cycle_.size(); ++i) record_of_[at(cycle_[i])] = before(i);
  return true;
}

// Each row of the cycle carries the record of the row before from now on.
void DiverseDraw::settle() {
  Carried coming = carried_[at(cycle_.back())];
  double share = going_.back();
  for (std::size_t i = 0; i < cycle_.size(); ++i) {
    coming.share = share;
    share = going_[i];
    std::swap(coming, carried_[at(cycle_[i])]);
  }
}

bool DiverseDraw::step(std::int32_t row, double price, RandomWords& random) {
  if (!propose(row, length(random), random)) return false;
  const std::size_t size = cycle_.size();
  moving_.clear();
  for (const std::int32_t each : cycle_) moving_.push_back(carried_[at(each)].record);
  // A walk never stays where it is: that is more often the way there than the way back, or less.
  double ratio = 1.0;
  for (std::size_t i = 0; i < size; ++i) ratio *= (1.0 - carried_[at(cycle_[i])].share) / (1.0 - going_[i]);
  find_changes();
  bool done;
  if (changes_.size() <= kCompared) {
    done = rotates(ratio, price, random);
  } else {
    done = accepted(ratio, price, rotate(false), random);
    if (!done) rotate(true);
  }
  if (done) settle();
  return done;
}

std::int64_t DiverseDraw::search(std::int64_t steps, RandomWords& random) {
  const Turns turns(at(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    pause_sometimes();
    turns.done(at(i));
    if (violated_.empty()) renew();
    if (violated_.empty()) break;
    const std::int32_t crowd = violated_[random.below(static_cast<std::uint32_t>(violated_.size()))];
    step(any_row(described(incidence_.around[at(crowd)]), random).row, kSearchPrice, random);
  }
  return violated();
}

void DiverseDraw::mix(std::int64_t steps, double price, RandomWords& random) {
  const Turns turns(at(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    pause_sometimes();
    turns.done(at(i));
    const auto row = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(rows_)));
    step(row, price, random);
  }
  renew();
}

}  // namespace shoal
