#include "matching/neighbourhood.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr std::int32_t kBits = 64;     // codes that fit into one word
constexpr std::int32_t kNowhere = -1;  // the place of a record that is under way

std::uint64_t bit(std::int32_t code) {
  return std::uint64_t{1} << static_cast<std::uint32_t>(code);
}

}  // namespace

Neighbourhood::Neighbourhood(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                             std::span<const std::int32_t> members, std::size_t degree,
                             std::span<const std::int32_t> rows, double foresight,
                             std::span<const std::int32_t> owners)
    : attributes_(attributes), degree_(degree), foresight_(foresight) {
  members_.reserve(rows.size() * degree);
  for (const std::int32_t row : rows)
    members_.insert(members_.end(), members.begin() + static_cast<std::ptrdiff_t>(at(row) * degree),
                    members.begin() + static_cast<std::ptrdiff_t>((at(row) + 1) * degree));
  records_ = members_;
  std::sort(records_.begin(), records_.end());
  records_.erase(std::unique(records_.begin(), records_.end()), records_.end());
  for (std::int32_t& member : members_)
    member = static_cast<std::int32_t>(std::lower_bound(records_.begin(), records_.end(), member) -
                                       records_.begin());
  const std::size_t d = attributes.size();
  for (const Attribute& attribute : attributes)
    units_.push_back(attribute.kind == Kind::set ? attribute.weight * attribute.set_cost(2) : 0.0);
  for (std::size_t a = 0; a < d; ++a) {
    const Attribute& attribute = attributes[a];
    if (attribute.kind == Kind::set && attribute.size <= kBits) small_sets_.push_back(a);
    if (attribute.kind != Kind::range) continue;
    auto& positions = ranges_.emplace_back(a, std::vector<double>()).second;
    double reached = 0.0;  // step by step: a limit must not count
    for (std::int32_t code = 0; code < attribute.size; ++code) {
      if (code > 0) reached = std::min(1.0, reached + attribute.interval_cost(code - 1, code));
      positions.push_back(attribute.weight * reached);
    }
  }
  codes_.reserve(records_.size() * d);
  for (const std::int32_t record : records_)
    codes_.insert(codes_.end(), codes.begin() + static_cast<std::ptrdiff_t>(at(record) * d),
                  codes.begin() + static_cast<std::ptrdiff_t>((at(record) + 1) * d));
  if (!owners.empty())
    for (const std::int32_t record : records_) owner_of_.push_back(owners[at(record)]);
  starts_.assign(records_.size() + 1, 0);
  for (const std::int32_t member : members_) ++starts_[at(member) + 1];
  for (std::size_t r = 0; r < records_.size(); ++r) starts_[r + 1] += starts_[r];
  places_of_.resize(members_.size());
  std::vector<std::size_t> filled(starts_.begin(), starts_.end() - 1);
  for (std::size_t place = 0; place < members_.size(); ++place)
    places_of_[filled[at(members_[place])]++] = static_cast<std::int32_t>(place);
  spans_.resize(rows.size() * d);
  costs_.resize(rows.size());
  savings_.resize(members_.size());
  for (std::int32_t row = 0; row < this->rows(); ++row) renew(row);
}

bool Neighbourhood::has_beside(std::int32_t row, std::size_t slot, std::int32_t record) const {
  if (owner_of_.empty()) {
    const std::size_t present = slot_of(row, record);
    return present < degree_ && present != slot;
  }
  const std::int32_t* first = members_.data() + at(row) * degree_;
  const std::int32_t owner = owner_of_[at(record)];
  for (std::size_t i = 0; i < degree_; ++i)
    if (i != slot && owner_of_[at(first[i])] == owner) return true;
  return false;
}

std::size_t Neighbourhood::slot_of(std::int32_t row, std::int32_t record) const {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  return at(std::find(first, first + degree_, record) - first);
}

std::int64_t Neighbourhood::count(std::int32_t row, std::size_t attribute, std::int32_t code) const {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  return std::count_if(first, first + degree_,
                       [&](std::int32_t record) { return codes(record)[attribute] == code; });
}

double Neighbourhood::interval_cost(const Attribute& attribute, const Interval& interval) const {
  const auto& [low, high] = interval;
  const double outer = attribute.interval_cost(low[0], high[0]);
  return low[1] < high[1] ? outer + foresight_ * attribute.interval_cost(low[1], high[1]) : outer;
}

Neighbourhood::Interval Neighbourhood::without(Interval interval, std::int32_t leaving) {
  auto& [low, high] = interval;
  if (leaving == low[0])
    low = {low[1], low[2], low[2]};
  else if (leaving == low[1])
    low[1] = low[2];
  if (leaving == high[0])
    high = {high[1], high[2], high[2]};
  else if (leaving == high[1])
    high[1] = high[2];
  return interval;
}

Neighbourhood::Interval Neighbourhood::with(Interval interval, std::int32_t coming) {
  auto& [low, high] = interval;
  low[1] = std::min(low[1], std::max(low[0], coming));
  low[0] = std::min(low[0], coming);
  high[1] = std::max(high[1], std::min(high[0], coming));
  high[0] = std::max(high[0], coming);
  return interval;
}

// A code of one member counts whole, that of two members a share more.
double Neighbourhood::saved(std::int32_t row, const std::int32_t* leaving) const {
  const std::size_t d = attributes_.size();
  const Span* spans = spans_.data() + at(row) * d;
  double sum = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const Attribute& attribute = attributes_[a];
    if (attribute.kind != Kind::set) {
      const Interval& now = spans[a].interval;
      const Interval rest = without(now, leaving[a]);
      sum += attribute.weight * (interval_cost(attribute, now) - interval_cost(attribute, rest));
    } else if (attribute.size <= kBits) {
      const auto& [any, once, twice] = spans[a].bits;
      const std::uint64_t code = bit(leaving[a]);
      sum += once & code ? units_[a] : twice & code ? foresight_ * units_[a] : 0.0;
    } else {
      const std::int64_t members = count(row, a, leaving[a]);
      if (members <= 2) sum += members == 1 ? units_[a] : foresight_ * units_[a];
    }
  }
  return sum;
}

double Neighbourhood::extra(std::int32_t row, std::size_t slot, std::int32_t record, double enough) const {
  if (degree_ == 1) return 0.0;
  const std::size_t d = attributes_.size();
  const Span* spans = spans_.data() + at(row) * d;
  const std::int32_t *leaving = codes(member(row, slot)), *coming = codes(record);
  double sum = 0.0;
  for (std::size_t a = 0; a < d && sum < enough; ++a) {
    const Attribute& attribute = attributes_[a];
    const bool same = leaving[a] == coming[a];
    if (attribute.kind != Kind::set) {
      const Interval& now = spans[a].interval;
      if (now.low[2] <= coming[a] && coming[a] <= now.high[2]) continue;  // whoever leaves
      const Interval rest = without(now, leaving[a]);
      sum += attribute.weight *
             (interval_cost(attribute, with(rest, coming[a])) - interval_cost(attribute, rest));
    } else if (attribute.size <= kBits) {
      const auto& [any, once, twice] = spans[a].bits;
      const std::uint64_t code = bit(coming[a]);
      const bool alone = same ? once & code : !(any & code), second = (same ? twice : once) & code;
      sum += alone ? units_[a] : second ? foresight_ * units_[a] : 0.0;
    } else {
      const std::int64_t others = count(row, a, coming[a]) - (same ? 1 : 0);
      if (others <= 1) sum += others == 0 ? units_[a] : foresight_ * units_[a];
    }
  }
  return sum;
}

double Neighbourhood::fit(std::int32_t row, std::int32_t record) const {
  const Span* spans = spans_.data() + at(row) * attributes_.size();
  const std::int32_t* coming = codes(record);
  double sum = 0.0;
  for (const std::size_t a : small_sets_)
    sum += static_cast<double>(~spans[a].bits.any >> static_cast<std::uint32_t>(coming[a]) & 1U) * units_[a];
  for (const auto& [a, positions] : ranges_) {
    const auto& [low, high] = spans[a].interval;
    const double here = positions[at(coming[a])];
    sum += std::max(0.0, positions[at(low[0])] - here) + std::max(0.0, here - positions[at(high[0])]);
  }
  return degree_ == 1 ? 0.0 : sum;
}

void Neighbourhood::leave(std::int32_t row, std::size_t slot) {
  const std::size_t place = at(row) * degree_ + slot, record = at(members_[place]);
  *std::find(places_of_.data() + starts_[record], places_of_.data() + starts_[record + 1],
             static_cast<std::int32_t>(place)) = kNowhere;
}

void Neighbourhood::put(std::int32_t row, std::size_t slot, std::int32_t record) {
  const std::size_t place = at(row) * degree_ + slot;
  members_[place] = record;
  *std::find(places_of_.data() + starts_[at(record)], places_of_.data() + starts_[at(record) + 1], kNowhere) =
      static_cast<std::int32_t>(place);
}

void Neighbourhood::renew(std::int32_t row) {
  const std::size_t d = attributes_.size();
  const std::int32_t* first = members_.data() + at(row) * degree_;
  double sum = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const auto& attribute = attributes_[a];
    Span& span = spans_[at(row) * d + a];
    if (attribute.kind != Kind::set) {
      constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
      Interval now{{kMost, kMost, kMost}, {-1, -1, -1}};
      for (std::size_t slot = 0; slot < degree_; ++slot) {
        const std::int32_t code = codes(first[slot])[a];
        now.low[2] = std::min(now.low[2], std::max(now.low[1], code));
        now.low[1] = std::min(now.low[1], std::max(now.low[0], code));
        now.low[0] = std::min(now.low[0], code);
        now.high[2] = std::max(now.high[2], std::min(now.high[1], code));
        now.high[1] = std::max(now.high[1], std::min(now.high[0], code));
        now.high[0] = std::max(now.high[0], code);
      }
      span.interval = now;
      sum += attribute.weight * attribute.interval_cost(now.low[0], now.high[0]);
    } else if (attribute.size <= kBits) {
      std::uint64_t any = 0, twice = 0, often = 0;
      for (std::size_t slot = 0; slot < degree_; ++slot) {
        const std::uint64_t code = bit(codes(first[slot])[a]);
        often |= twice & code;
        twice |= any & code;
        any |= code;
      }
      span.bits = {any, any & ~twice, twice & ~often};
      sum += attribute.weight * attribute.set_cost(count_bits(any));
    } else {
      std::int64_t distinct = 0;
      for (std::size_t slot = 0; slot < degree_; ++slot) {
        const std::int32_t code = codes(first[slot])[a];
        distinct += std::none_of(first, first + slot, [&](std::int32_t r) { return codes(r)[a] == code; });
      }
      sum += attribute.weight * attribute.set_cost(distinct);
    }
  }
  costs_[at(row)] = sum;
  for (std::size_t slot = 0; slot < degree_; ++slot)
    savings_[at(row) * degree_ + slot] = degree_ > 1 ? saved(row, codes(first[slot])) : 0.0;
}

// Each step is done for all of them before the next one: then the processor need not wait for memory.
void Neighbourhood::near(std::int32_t row, QuickRandom& random, std::span<std::int32_t> found) const {
  const auto degree = static_cast<std::int32_t>(degree_);
  const auto step = [&](std::span<std::int32_t> from) {
    for (std::int32_t& one : from) one = member(one, random.below(static_cast<std::uint32_t>(degree)));
    for (std::int32_t& one : from) {
      const auto places = places_of(one);
      one = places[random.below(static_cast<std::uint32_t>(places.size()))] / degree;
    }
  };
  const std::size_t quarter = found.size() / 4;
  const auto by_records = found.subspan(quarter), far = found.last(quarter);
  std::fill(by_records.begin(), by_records.end(), row);
  step(by_records);
  step(far);
  // Rows without a record in common: as often one step away in order as up to two, four, eight, ...
  const auto octaves = std::max(1U, static_cast<std::uint32_t>(std::bit_width(at(rows()))) - 1U);
  for (std::int32_t& one : found.first(quarter)) {
    const auto reach = std::uint32_t{1} << random.below(octaves);
    const auto away = static_cast<std::int32_t>(1 + random.below(reach));
    one = std::clamp(row + (random.below(2) ? away : -away), 0, rows() - 1);
  }
}

}  // namespace shoal
