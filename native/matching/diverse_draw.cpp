#include "matching/diverse_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr double kSearchPrice = 3.0;  // less while searching, to leave dead ends
constexpr double kNothing = 1e-9;     // weights below are due to rounding
constexpr std::uint32_t kUsual = 64;  // the maximum length of most cycles
constexpr int kTries = 64;
constexpr std::uint32_t kScale = 1U << 30U;

// True with this probability.
bool happens(double probability, RandomWords& random) {
  if (probability >= 1.0) return true;
  return random.below(kScale) < static_cast<std::uint32_t>(probability * kScale);
}

double w_log_w(double weight) {
  return weight > kNothing ? weight * std::log(weight) : 0.0;
}

}  // namespace

DiverseDraw::DiverseDraw(const Shares& shares, std::span<const std::int32_t> unit_of_row,
                         const Incidence& incidence, std::vector<DrawnColumn> columns,
                         std::span<const std::int32_t> record_of)
    : rows_(static_cast<std::int32_t>(unit_of_row.size())), shares_(shares), reached_(shares.units.size()),
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
      reached_[i] = sum;
      largest_ = std::max(largest_, shares_.shares[i]);
    }
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
    const Variety& asked = columns_[column].asked;
    const double size = sizes_[at(crowd)];
    const auto distinct = static_cast<std::int64_t>(tally.counts.size());
    sum += tally.excess + static_cast<double>(std::max<std::int64_t>(0, asked.distinct - distinct));
    if (asked.entropy > 0.0) sum += std::max(0.0, size * (asked.entropy - std::log(size)) + tally.logs);
  }
  return sum > kNothing ? sum : 0.0;
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
  auto place = std::lower_bound(tally.counts.begin(), tally.counts.end(), std::pair(label, -kUnlimited));
  if (place == tally.counts.end() || place->first != label) place = tally.counts.insert(place, {label, 0.0});
  const double before = place->second;
  double after = before + weight;
  if (std::abs(after) < kNothing) after = 0.0;
  tally.excess += excess(columns_[column], crowd, after) - excess(columns_[column], crowd, before);
  if (columns_[column].asked.entropy > 0.0) tally.logs += w_log_w(after) - w_log_w(before);
  place->second = after;
  if (after == 0.0) tally.counts.erase(place);
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

double DiverseDraw::carry(std::int32_t row, std::int32_t before, std::int32_t after) {
  record_of_[at(row)] = after;
  if (std::all_of(columns_.begin(), columns_.end(), [&](const DrawnColumn& column) {
        return column.labels[at(before)] == column.labels[at(after)];
      }))
    return 0.0;
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

// x(record, row).
double DiverseDraw::share(std::int32_t record, std::int32_t row) const {
  const std::size_t type = at(shares_.type_of[at(record)]);
  const auto end = shares_.units.begin() + shares_.starts[type + 1];
  const auto place = std::lower_bound(shares_.units.begin() + shares_.starts[type], end, unit_of_[at(row)]);
  if (place == end || *place != unit_of_[at(row)]) return 0.0;
  return shares_.shares[at(place - shares_.units.begin())];
}

// A row that can carry the record, each with probability x.
std::int32_t DiverseDraw::any_row(std::int32_t record, RandomWords& random) const {
  const std::size_t type = at(shares_.type_of[at(record)]);
  const auto begin = reached_.begin() + shares_.starts[type],
             end = reached_.begin() + shares_.starts[type + 1];
  const double wanted = *(end - 1) * ((random.below(kScale) + 0.5) / kScale);
  const auto place = std::min(std::lower_bound(begin, end, wanted), end - 1);
  const std::size_t unit = at(shares_.units[at(place - reached_.begin())]);
  const auto size = static_cast<std::uint32_t>(unit_starts_[unit + 1] - unit_starts_[unit]);
  return unit_rows_[at(unit_starts_[unit]) + (size > 1 ? random.below(size) : 0)];
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
  seen_[at(row)] = turn_;
  while (cycle_.size() < length) {
    const std::int32_t last = cycle_.back();
    std::int32_t next = last;
    for (int tries = 0; next == last && tries < kTries; ++tries) next = any_row(record_of_[at(last)], random);
    if (seen_[at(next)] == turn_) return false;
    seen_[at(next)] = turn_;
    cycle_.push_back(next);
  }
  return happens(share(record_of_[at(cycle_.back())], row) / largest_, random);
}

bool DiverseDraw::step(std::int32_t row, double price, RandomWords& random) {
  if (!propose(row, length(random), random)) return false;
  const std::size_t size = cycle_.size();
  moving_.clear();
  for (const std::int32_t each : cycle_) moving_.push_back(record_of_[at(each)]);
  // A walk never stays where it is: that is more often the way there than the way back, or less.
  double ratio = 1.0;
  for (std::size_t i = 0; i < size; ++i)
    ratio *= (1.0 - share(moving_[i], cycle_[i])) / (1.0 - share(moving_[i], cycle_[(i + 1) % size]));
  const double more = rotate(false);
  if (happens(ratio * std::exp(-price * std::max(more, -50.0)), random)) return true;
  rotate(true);
  return false;
}

std::int64_t DiverseDraw::search(std::int64_t steps, RandomWords& random) {
  for (std::int64_t i = 0; i < steps; ++i) {
    if (violated_.empty()) renew();
    if (violated_.empty()) break;
    const std::int32_t crowd = violated_[random.below(static_cast<std::uint32_t>(violated_.size()))];
    step(any_row(incidence_.around[at(crowd)], random), kSearchPrice, random);
  }
  return violated();
}

void DiverseDraw::mix(std::int64_t steps, double price, RandomWords& random) {
  for (std::int64_t i = 0; i < steps; ++i)
    step(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(rows_))), price, random);
  renew();
}

}  // namespace shoal
