#include "attacks/extents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {

bool Values::contains(std::int32_t value, std::int32_t code) const {
  const auto v = at(value);
  if (!sets) return low[v] <= code && code <= high[v];
  const auto codes = set(v);
  if (codes.size() == at(size)) return true;
  return std::binary_search(codes.begin(), codes.end(), code);
}

namespace {

constexpr std::size_t kBins = 64;

using Bits = std::vector<std::uint64_t>;  // one bit for each code, none for codes that no record has

// A bin for each code, or for neighbouring codes with about as many records in each bin. Frequent bins have
// high bits: in the order of their bits, sets differ in frequent codes first.
Bits bins_of_codes(const std::vector<std::int64_t>& often, bool shared) {
  const auto all = static_cast<double>(std::accumulate(often.begin(), often.end(), std::int64_t{0}));
  std::vector<std::size_t> bin(often.size(), 0);
  std::array<std::int64_t, kBins> filled{};
  std::int64_t before = 0;
  std::size_t next = 0;
  for (std::size_t code = 0; code < often.size(); ++code) {
    if (often[code] == 0) continue;
    bin[code] = shared ? static_cast<std::size_t>(static_cast<double>(before) / all * kBins) : next++;
    before += often[code];
    filled[bin[code]] += often[code];
  }
  std::array<std::size_t, kBins> order{}, rank{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return filled[x] < filled[y]; });
  for (std::size_t i = 0; i < kBins; ++i) rank[order[i]] = i;
  Bits bits(often.size(), 0);
  for (std::size_t code = 0; code < often.size(); ++code)
    if (often[code] > 0) bits[code] = std::uint64_t{1} << rank[bin[code]];
  return bits;
}

// The bits of each code in each column of a set.
std::vector<Bits> columns_of_set(const std::vector<std::int64_t>& often) {
  const auto codes = at(std::count_if(often.begin(), often.end(), [](auto n) { return n > 0; }));
  std::vector<Bits> columns{bins_of_codes(often, codes > kBins)};
  for (std::size_t unit = 1; unit * kBins < codes; unit *= kBins) {
    Bits digits(often.size(), 0);
    std::size_t number = 0;
    for (std::size_t code = 0; code < often.size(); ++code)
      if (often[code] > 0) digits[code] = std::uint64_t{1} << (number++ / unit % kBins);
    columns.push_back(std::move(digits));
  }
  return columns;
}

// The bins of a set that have some of its codes, and those that have no others.
struct Bins {
  Cell some, only;
};

std::vector<Bins> bins_of_sets(const Values& values, const Bits& bits) {
  std::array<std::int32_t, kBins> codes{};
  for (const std::uint64_t bit : bits)
    if (bit != 0) ++codes[at(std::countr_zero(bit))];
  std::vector<Bins> bins(values.starts.size() - 1);
  for (std::size_t v = 0; v < bins.size(); ++v) {
    std::uint64_t some = 0, only = 0;
    std::array<std::int32_t, kBins> found{};
    for (const std::int32_t code : values.set(v)) {
      const std::uint64_t bit = bits[at(code)];
      if (bit == 0) continue;
      const auto bin = at(std::countr_zero(bit));
      some |= bit;
      if (++found[bin] == codes[bin]) only |= bit;
    }
    bins[v] = {Cell::set(some), Cell::set(only)};
  }
  return bins;
}

class Builder {
 public:
  Builder(std::span<const std::int32_t> records, std::size_t record_count,
          std::span<const std::int32_t> boxes, std::size_t box_count, const std::vector<Values>& attributes)
      : codes_(records), numbers_(boxes), records_(record_count), boxes_(box_count), attributes_(attributes) {
  }

  Extents build() {
    std::vector<std::vector<Bits>> sets(attributes_.size());
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      if (attributes_[a].sets) sets[a] = columns_of_set(frequencies(a));
      extents_.columns += attributes_[a].sets ? sets[a].size() : 1;
      if (sets[a].size() > 1) extents_.doubtful.push_back(a);
    }
    extents_.records.resize(records_ * extents_.columns);
    extents_.boxes.resize(boxes_ * extents_.columns);
    if (!extents_.doubtful.empty()) extents_.inner.resize(extents_.boxes.size());
    for (std::size_t a = 0; a < attributes_.size(); ++a)
      if (!attributes_[a].sets) add_intervals(a);
    for (std::size_t a = 0; a < attributes_.size(); ++a)
      for (std::size_t i = 0; i < sets[a].size(); ++i) add_sets(a, sets[a][i], i > 0);
    return std::move(extents_);
  }

 private:
  std::int32_t code(std::size_t record, std::size_t a) const {
    return codes_[record * attributes_.size() + a];
  }
  std::size_t number(std::size_t box, std::size_t a) const {
    return at(numbers_[box * attributes_.size() + a]);
  }
  Cell& record_extent(std::size_t record) { return extents_.records[record * extents_.columns + column_]; }
  Cell& box_extent(std::size_t box) { return extents_.boxes[box * extents_.columns + column_]; }
  void set_inner(std::size_t box, Cell inner) {
    if (!extents_.inner.empty()) extents_.inner[box * extents_.columns + column_] = inner;
  }

  std::vector<std::int64_t> frequencies(std::size_t a) const {
    std::vector<std::int64_t> often(at(attributes_[a].size), 0);
    for (std::size_t record = 0; record < records_; ++record) ++often[at(code(record, a))];
    return often;
  }

  void add_intervals(std::size_t a) {
    const Values& values = attributes_[a];
    for (std::size_t record = 0; record < records_; ++record)
      record_extent(record) = Cell::interval(code(record, a), code(record, a));
    for (std::size_t box = 0; box < boxes_; ++box) {
      const std::int32_t low = std::max(values.low[number(box, a)], 0);
      const std::int32_t high = std::min(values.high[number(box, a)], values.size - 1);
      // With these numbers, an empty interval adds nothing to a union.
      box_extent(box) = low <= high ? Cell::interval(low, high) : Cell::interval(values.size, -1);
      set_inner(box, box_extent(box));
    }
    extents_.by_records.push_back(profile_of_intervals(extents_.records, values.size));
    extents_.by_boxes.push_back(profile_of_intervals(extents_.boxes, values.size));
    extents_.attribute_of.push_back(a);
    ++column_;
  }

  // Of sets with several columns, only the first can tell that a set has all codes of a bin.
  void add_sets(std::size_t a, const Bits& bits, bool digits) {
    for (std::size_t record = 0; record < records_; ++record)
      record_extent(record) = Cell::set(bits[at(code(record, a))]);
    const auto bins = bins_of_sets(attributes_[a], bits);
    for (std::size_t box = 0; box < boxes_; ++box) {
      box_extent(box) = bins[number(box, a)].some;
      set_inner(box, digits ? Cell::set(~std::uint64_t{0}) : bins[number(box, a)].only);
    }
    extents_.by_records.push_back(profile_of_sets(extents_.records));
    extents_.by_boxes.push_back(profile_of_sets(extents_.boxes));
    extents_.attribute_of.push_back(a);
    ++column_;
  }

  SearchProfile profile_of_intervals(const std::vector<Cell>& extents, std::int32_t size) const {
    std::vector<std::int64_t> begins(at(size), 0), ends(at(size), 0);
    for (std::size_t i = column_; i < extents.size(); i += extents_.columns) {
      if (extents[i].low() > extents[i].high()) continue;
      ++begins[at(extents[i].low())];
      ++ends[at(extents[i].high())];
    }
    SearchProfile profile{std::vector<float>(at(size)), std::vector<float>(at(size)), {}};
    const float one = share_of_one(extents);
    std::int64_t below = 0, above = 0;
    for (std::size_t low = 0, high = at(size); low < at(size); ++low) {
      profile.below[low] = static_cast<float>(below) * one;
      below += ends[low];
      profile.above[--high] = static_cast<float>(above) * one;
      above += begins[high];
    }
    return profile;
  }

  SearchProfile profile_of_sets(const std::vector<Cell>& extents) const {
    std::array<std::int64_t, kBins> often{};
    for (std::size_t i = column_; i < extents.size(); i += extents_.columns)
      for (std::uint64_t bins = extents[i].bits(); bins != 0; bins &= bins - 1)
        ++often[at(std::countr_zero(bins))];
    SearchProfile profile;
    for (const std::int64_t count : often)
      profile.with_bin.push_back(static_cast<float>(count) * share_of_one(extents));
    return profile;
  }

  float share_of_one(const std::vector<Cell>& extents) const {
    return static_cast<float>(extents_.columns) /
           static_cast<float>(std::max<std::size_t>(extents.size(), 1));
  }

  std::span<const std::int32_t> codes_, numbers_;
  std::size_t records_, boxes_;
  const std::vector<Values>& attributes_;
  Extents extents_;
  std::size_t column_ = 0;
};

}  // namespace

Extents extents_of(std::span<const std::int32_t> records, std::size_t record_count,
                   std::span<const std::int32_t> boxes, std::size_t box_count,
                   const std::vector<Values>& attributes) {
  return Builder(records, record_count, boxes, box_count, attributes).build();
}

}  // namespace shoal
