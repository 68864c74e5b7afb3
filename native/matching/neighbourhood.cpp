#include "matching/neighbourhood.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr std::int32_t kBits = 64;     // codes of a set that is not looked up
constexpr std::int32_t kValues = 128;  // codes of a range of which is known which rows have them
constexpr std::size_t kLarge = 32;     // a larger row gives records only to rows that lack at most one value
constexpr std::size_t kWord = 64;
constexpr std::size_t kNotCounted = ~std::size_t{0};
constexpr std::int32_t kNowhere = -1;  // the row of a place whose record is under way

}  // namespace

Neighbourhood::Neighbourhood(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                             std::span<const std::int32_t> members, std::size_t degree,
                             std::span<const std::int32_t> rows, double foresight,
                             std::span<std::int32_t> numbers, std::span<const std::int32_t> owners)
    : attributes_(attributes), degree_(degree), foresight_(foresight) {
  members_.reserve(rows.size() * degree);
  for (const std::int32_t row : rows)
    members_.insert(members_.end(), members.begin() + static_cast<std::ptrdiff_t>(at(row) * degree),
                    members.begin() + static_cast<std::ptrdiff_t>((at(row) + 1) * degree));
  for (const std::int32_t member : members_)
    if (std::exchange(numbers[at(member)], 0) == kUnknown) records_.push_back(member);
  std::sort(records_.begin(), records_.end());
  for (std::size_t r = 0; r < records_.size(); ++r) numbers[at(records_[r])] = static_cast<std::int32_t>(r);
  for (std::int32_t& member : members_) member = numbers[at(member)];
  for (const std::int32_t record : records_) numbers[at(record)] = kUnknown;
  const std::size_t d = attributes.size();
  codes_.reserve(records_.size() * d);
  for (const std::int32_t record : records_)
    codes_.insert(codes_.end(), codes.begin() + static_cast<std::ptrdiff_t>(at(record) * d),
                  codes.begin() + static_cast<std::ptrdiff_t>((at(record) + 1) * d));
  if (!owners.empty())
    for (const std::int32_t record : records_) owner_of_.push_back(owners[at(record)]);
  costs_.resize(rows.size());
  describe_records();
  starts_.assign(records_.size() + 1, 0);
  for (const std::int32_t member : members_) ++starts_[at(member) + 1];
  for (std::size_t r = 0; r < records_.size(); ++r) starts_[r + 1] += starts_[r];
  places_.resize(members_.size());
  place_at_.resize(members_.size());
  std::vector<std::size_t> filled(starts_.begin(), starts_.end() - 1);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t place = filled[at(members_[i])]++;
    places_[place] = {static_cast<std::int32_t>(i / degree), static_cast<std::int32_t>(i % degree)};
    place_at_[i] = static_cast<std::int32_t>(place);
  }
  spans_.resize(rows.size() * 3 * words_);
  extremes_.resize(rows.size() * intervals_.size(), {{0, 0, 0}, {-1, -1, -1}});
  stretches_.resize(rows.size() * ranges_.size());
  savings_.resize(members_.size());
  for (std::int32_t row = 0; row < this->rows(); ++row) renew(row);
}

// Finds out what of a record is looked at again and again: the bits of its codes in small sets, one after the
// other, and its positions in ranges.
void Neighbourhood::describe_records() {
  const std::size_t d = attributes_.size();
  first_bits_.assign(d, 0);
  for (std::size_t a = 0; a < d; ++a) {
    const Attribute& attribute = attributes_[a];
    const bool is_set = attribute.kind == Kind::set;
    units_.push_back(is_set ? attribute.weight * attribute.set_cost(2) : 0.0);
    if (!is_set)
      intervals_.push_back(a);
    else if (attribute.size > kBits)
      large_sets_.push_back(a);
    else {
      small_sets_.push_back(a);
      first_bits_[a] = bit_units_.size();
      bit_units_.resize(bit_units_.size() + at(attribute.size), units_[a]);
    }
    if (attribute.kind != Kind::range) continue;
    ranges_.push_back(a);
    auto& positions = positions_.emplace_back();
    double reached = 0.0;  // step by step: a limit must not count
    for (std::int32_t code = 0; code < attribute.size; ++code) {
      if (code > 0) reached = std::min(1.0, reached + attribute.interval_cost(code - 1, code));
      positions.push_back(attribute.weight * reached);
    }
  }
  words_ = (bit_units_.size() + kWord - 1) / kWord;
  bit_units_.resize(words_ * kWord, 0.0);
  std::size_t values = words_ * kWord;
  for (const std::size_t a : intervals_) {
    const bool counts = attributes_[a].kind == Kind::range && attributes_[a].size <= kValues;
    first_values_.push_back(counts ? values : kNotCounted);
    if (counts) values += at(attributes_[a].size);
  }
  row_words_ = (costs_.size() + kWord - 1) / kWord;
  having_.assign(values * row_words_, 0);
  bits_.assign(records_.size() * words_, 0);
  for (std::size_t r = 0; r < records_.size(); ++r) {
    const std::int32_t* own = codes(static_cast<std::int32_t>(r));
    for (const std::size_t a : small_sets_) {
      const std::size_t bit = first_bits_[a] + at(own[a]);
      bits_[r * words_ + bit / kWord] |= std::uint64_t{1} << bit % kWord;
    }
    for (std::size_t i = 0; i < ranges_.size(); ++i) reached_.push_back(positions_[i][at(own[ranges_[i]])]);
  }
}

bool Neighbourhood::has_beside(std::int32_t row, std::size_t slot, std::int32_t record) const {
  if (owner_of_.empty()) return member(row, slot) != record && has(row, record);
  const std::int32_t* first = members_.data() + at(row) * degree_;
  const std::int32_t owner = owner_of_[at(record)];
  for (std::size_t i = 0; i < degree_; ++i)
    if (i != slot && owner_of_[at(first[i])] == owner) return true;
  return false;
}

bool Neighbourhood::has(std::int32_t row, std::int32_t record) const {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  std::uint32_t found = 0;  // without branches: several at once
  for (std::size_t i = 0; i < degree_; ++i) found |= static_cast<std::uint32_t>(first[i] == record);
  return found != 0;
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
double Neighbourhood::saved(std::int32_t row, std::int32_t leaving) const {
  const std::int32_t* own = codes(leaving);
  const std::uint64_t *once = spans(row) + words_, *twice = once + words_, *bits = this->bits(leaving);
  double sum = 0.0;
  for (std::size_t w = 0; w < words_; ++w) {
    sum += bit_costs(once[w] & bits[w], w);
    if (foresight_ > 0.0) sum += foresight_ * bit_costs(twice[w] & bits[w], w);
  }
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const Interval& now = extremes_[at(row) * intervals_.size() + i];
    const std::int32_t code = own[intervals_[i]];
    if (now.low[1] < code && code < now.high[1]) continue;
    const Attribute& attribute = attributes_[intervals_[i]];
    const Interval rest = without(now, code);
    sum += attribute.weight * (interval_cost(attribute, now) - interval_cost(attribute, rest));
  }
  for (const std::size_t a : large_sets_) {
    const std::int64_t members = count(row, a, own[a]);
    if (members <= 2) sum += members == 1 ? units_[a] : foresight_ * units_[a];
  }
  return sum;
}

double Neighbourhood::extra(std::int32_t row, std::size_t slot, std::int32_t record, double enough) const {
  if (degree_ == 1) return 0.0;
  const std::int32_t left = member(row, slot);
  const std::uint64_t *any = spans(row), *once = any + words_, *twice = once + words_;
  const std::uint64_t *leaving_bits = bits(left), *coming_bits = bits(record);
  double sum = 0.0;
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint64_t same = coming_bits[w] & leaving_bits[w], other = coming_bits[w] & ~leaving_bits[w];
    sum += bit_costs((same & once[w]) | (other & ~any[w]), w);
    if (foresight_ > 0.0) sum += foresight_ * bit_costs((same & twice[w]) | (other & once[w]), w);
  }
  const std::int32_t *leaving = codes(left), *coming = codes(record);
  for (std::size_t i = 0; i < intervals_.size() && sum < enough; ++i) {
    const std::size_t a = intervals_[i];
    const Interval& now = extremes_[at(row) * intervals_.size() + i];
    if (now.low[2] <= coming[a] && coming[a] <= now.high[2]) continue;  // whichever record leaves
    const Attribute& attribute = attributes_[a];
    const Interval rest = without(now, leaving[a]);
    sum +=
        attribute.weight * (interval_cost(attribute, with(rest, coming[a])) - interval_cost(attribute, rest));
  }
  for (const std::size_t a : large_sets_) {
    if (sum >= enough) break;
    const std::int64_t others = count(row, a, coming[a]) - (leaving[a] == coming[a] ? 1 : 0);
    if (others <= 1) sum += others == 0 ? units_[a] : foresight_ * units_[a];
  }
  return sum;
}

double Neighbourhood::fit(std::int32_t row, std::int32_t record) const {
  const std::uint64_t *any = spans(row), *coming = bits(record);
  double sum = 0.0;
  for (std::size_t w = 0; w < words_; ++w) sum += bit_costs(coming[w] & ~any[w], w);
  const std::size_t ranges = ranges_.size();
  for (std::size_t i = 0; i < ranges; ++i) {
    const auto& [low, high] = stretches_[at(row) * ranges + i];
    const double here = reached_[at(record) * ranges + i];
    sum += std::max(0.0, low - here) + std::max(0.0, here - high);
  }
  return degree_ == 1 ? 0.0 : sum;
}

void Neighbourhood::find_homes(std::int32_t record, std::vector<std::uint64_t>& homes) const {
  homes.assign(3 * row_words_, 0);  // rows that lack three values, two or more, and one or more
  std::uint64_t *three = homes.data(), *two = three + row_words_, *one = two + row_words_;
  const auto ask = [&](std::size_t value) {
    const std::uint64_t* having = having_.data() + value * row_words_;
    for (std::size_t i = 0; i < row_words_; ++i) {
      const std::uint64_t lacking = ~having[i];
      three[i] |= two[i] & lacking;
      two[i] |= one[i] & lacking;
      one[i] |= lacking;
    }
  };
  const std::int32_t* own = codes(record);
  for (const std::size_t a : small_sets_) ask(first_bits_[a] + at(own[a]));
  for (std::size_t i = 0; i < intervals_.size(); ++i)
    if (first_values_[i] != kNotCounted) ask(first_values_[i] + at(own[intervals_[i]]));
  const std::uint64_t* many = degree_ > kLarge ? two : three;
  for (std::size_t i = 0; i < row_words_; ++i) homes[i] = ~many[i];
}

void Neighbourhood::renew_homes(std::int32_t row, std::size_t value, bool is_there) {
  std::uint64_t& having = having_[value * row_words_ + at(row) / kWord];
  const std::uint64_t one = std::uint64_t{1} << at(row) % kWord;
  having = is_there ? having | one : having & ~one;
}

void Neighbourhood::leave(std::int32_t row, std::size_t slot) {
  places_[at(place_at_[at(row) * degree_ + slot])].row = kNowhere;
}

void Neighbourhood::put(std::int32_t row, std::size_t slot, std::int32_t record) {
  std::size_t place = starts_[at(record)];
  while (places_[place].row != kNowhere) ++place;
  places_[place] = {row, static_cast<std::int32_t>(slot)};
  members_[at(row) * degree_ + slot] = record;
  place_at_[at(row) * degree_ + slot] = static_cast<std::int32_t>(place);
}

void Neighbourhood::renew(std::int32_t row) {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  double sum = renew_sets(row) + renew_intervals(row);
  for (const std::size_t a : large_sets_) {
    std::int64_t distinct = 0;
    for (std::size_t slot = 0; slot < degree_; ++slot) {
      const std::int32_t code = codes(first[slot])[a];
      distinct += std::none_of(first, first + slot, [&](std::int32_t r) { return codes(r)[a] == code; });
    }
    sum += attributes_[a].weight * attributes_[a].set_cost(distinct);
  }
  costs_[at(row)] = sum;
  for (std::size_t slot = 0; slot < degree_; ++slot)
    savings_[at(place_at_[at(row) * degree_ + slot])] = degree_ > 1 ? saved(row, first[slot]) : 0.0;
}

double Neighbourhood::renew_sets(std::int32_t row) {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  std::uint64_t* span = spans_.data() + at(row) * 3 * words_;
  for (std::size_t w = 0; w < words_; ++w) {
    std::uint64_t any = 0, twice = 0, often = 0;
    for (std::size_t slot = 0; slot < degree_; ++slot) {
      const std::uint64_t codes = bits(first[slot])[w];
      often |= twice & codes;
      twice |= any & codes;
      any |= codes;
    }
    for (std::uint64_t changed = span[w] ^ any; changed != 0; changed &= changed - 1) {
      const auto bit = at(std::countr_zero(changed));
      renew_homes(row, w * kWord + bit, any >> bit & 1U);
    }
    span[w] = any;
    span[words_ + w] = any & ~twice;
    span[2 * words_ + w] = twice & ~often;
  }
  double sum = 0.0;
  for (const std::size_t a : small_sets_) {
    const std::size_t begin = first_bits_[a], size = at(attributes_[a].size), word = begin / kWord,
                      shift = begin % kWord;
    std::uint64_t codes = span[word] >> shift;
    if (shift + size > kWord) codes |= span[word + 1] << (kWord - shift);
    if (size < kWord) codes &= (std::uint64_t{1} << size) - 1;
    sum += attributes_[a].weight * attributes_[a].set_cost(count_bits(codes));
  }
  return sum;
}

double Neighbourhood::renew_intervals(std::int32_t row) {
  const std::int32_t* first = members_.data() + at(row) * degree_;
  double sum = 0.0;
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const std::size_t a = intervals_[i];
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
    Interval& known = extremes_[at(row) * intervals_.size() + i];
    if (first_values_[i] != kNotCounted) {
      for (std::int32_t code = known.low[0]; code <= known.high[0]; ++code)
        if (code < now.low[0] || code > now.high[0]) renew_homes(row, first_values_[i] + at(code), false);
      for (std::int32_t code = now.low[0]; code <= now.high[0]; ++code)
        if (code < known.low[0] || code > known.high[0]) renew_homes(row, first_values_[i] + at(code), true);
    }
    known = now;
    sum += attributes_[a].weight * attributes_[a].interval_cost(now.low[0], now.high[0]);
  }
  for (std::size_t i = 0, j = 0; i < ranges_.size(); ++i, ++j) {
    while (intervals_[j] != ranges_[i]) ++j;
    const Interval& now = extremes_[at(row) * intervals_.size() + j];
    stretches_[at(row) * ranges_.size() + i] = {positions_[i][at(now.low[0])],
                                                positions_[i][at(now.high[0])]};
  }
  return sum;
}

// Each step is done for all of them before the next one: then the processor need not wait for memory.
void Neighbourhood::near(std::int32_t row, QuickRandom& random, std::span<std::int32_t> found) const {
  const auto degree = static_cast<std::uint32_t>(degree_);
  const auto step = [&](std::span<std::int32_t> from) {
    for (std::int32_t& one : from) one = member(one, random.below(degree));
    for (std::int32_t& one : from) {
      const auto [first, end] = places_of(one);
      one = places_[first + random.below(static_cast<std::uint32_t>(end - first))].row;
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
