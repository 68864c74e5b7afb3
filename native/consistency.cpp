#include "consistency.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <numeric>
#include <utility>

#include "workers.hpp"

namespace shoal {

bool Values::contains(std::int32_t value, std::int32_t code) const {
  const auto v = static_cast<std::size_t>(value);
  if (!sets) return low[v] <= code && code <= high[v];
  const auto codes = set(v);
  if (codes.size() == static_cast<std::size_t>(size)) return true;
  return std::binary_search(codes.begin(), codes.end(), code);
}

namespace {

constexpr std::size_t kBins = 64;

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// One attribute of all records and boxes, as the trees see it.
struct Column {
  std::vector<Extent> records, boxes, inner;
  Searches by_records, by_boxes;
  bool doubtful = false;  // whether extents that meet need not have a code in common
};

Searches searches_for_intervals(const std::vector<Extent>& intervals, std::int32_t size) {
  Searches searches{std::vector<float>(at(size)), std::vector<float>(at(size)), {}};
  std::vector<std::int64_t> begins(at(size), 0), ends(at(size), 0);
  for (const Extent x : intervals) {
    if (x.low() > x.high()) continue;
    ++begins[at(x.low())];
    ++ends[at(x.high())];
  }
  const auto all = static_cast<float>(std::max<std::size_t>(intervals.size(), 1));
  std::int64_t below = 0, above = 0;
  for (std::size_t low = 0, high = at(size); low < at(size); ++low) {
    searches.below[low] = static_cast<float>(below) / all;
    below += ends[low];
    searches.above[--high] = static_cast<float>(above) / all;
    above += begins[high];
  }
  return searches;
}

Searches searches_for_sets(const std::vector<Extent>& sets) {
  Searches searches{{}, {}, std::vector<float>(kBins, 0.0F)};
  const float one = 1.0F / static_cast<float>(std::max<std::size_t>(sets.size(), 1));
  for (const Extent x : sets)
    for (std::uint64_t bins = x.bins(); bins != 0; bins &= bins - 1)
      searches.with_bin[at(std::countr_zero(bins))] += one;
  return searches;
}

// The bin of each code that occurs, as a bit. Where there are more codes than bins, neighbours share one, and
// each bin has about as many records. Frequent bins have high bits: in the order of their bits, sets differ
// in frequent codes first.
std::vector<std::uint64_t> bins_of_codes(const std::vector<std::int64_t>& often, bool shared) {
  const double all = static_cast<double>(std::accumulate(often.begin(), often.end(), std::int64_t{0}));
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
  std::vector<std::uint64_t> bits(often.size(), 0);
  for (std::size_t code = 0; code < often.size(); ++code)
    if (often[code] > 0) bits[code] = std::uint64_t{1} << rank[bin[code]];
  return bits;
}

Column interval_column(const std::vector<std::int32_t>& codes, const std::vector<std::int32_t>& numbers,
                       const Values& values) {
  Column column;
  for (const std::int32_t code : codes) column.records.push_back(Extent::interval(code, code));
  for (const std::int32_t number : numbers) {
    const std::int32_t low = std::max(values.low[at(number)], 0);
    const std::int32_t high = std::min(values.high[at(number)], values.size - 1);
    // Written like this, an interval of nothing adds nothing to a union.
    column.boxes.push_back(low <= high ? Extent::interval(low, high) : Extent::interval(values.size, -1));
  }
  column.inner = column.boxes;
  column.by_records = searches_for_intervals(column.records, values.size);
  column.by_boxes = searches_for_intervals(column.boxes, values.size);
  return column;
}

Column set_column(const std::vector<std::int32_t>& codes, const std::vector<std::int32_t>& numbers,
                  const Values& values) {
  std::vector<std::int64_t> often(at(values.size), 0);
  for (const std::int32_t code : codes) ++often[at(code)];
  Column column;
  column.doubtful =
      often.size() - static_cast<std::size_t>(std::count(often.begin(), often.end(), 0)) > kBins;
  const auto bits = bins_of_codes(often, column.doubtful);
  std::array<std::int32_t, kBins> codes_in_bin{};
  for (const std::uint64_t bit : bits)
    if (bit != 0) ++codes_in_bin[at(std::countr_zero(bit))];
  const std::size_t sets = values.starts.size() - 1;
  std::vector<Extent> outer(sets), inner(sets);
  for (std::size_t v = 0; v < sets; ++v) {
    std::uint64_t some = 0, whole = 0;
    std::array<std::int32_t, kBins> found{};
    for (const std::int32_t code : values.set(v)) {
      const std::uint64_t bit = bits[at(code)];
      if (bit == 0) continue;  // no record has it
      some |= bit;
      const auto bin = at(std::countr_zero(bit));
      if (++found[bin] == codes_in_bin[bin]) whole |= bit;
    }
    outer[v] = Extent::set(some);
    inner[v] = Extent::set(whole);
  }
  for (const std::int32_t code : codes) column.records.push_back(Extent::set(bits[at(code)]));
  for (const std::int32_t number : numbers) {
    column.boxes.push_back(outer[at(number)]);
    column.inner.push_back(inner[at(number)]);
  }
  column.by_records = searches_for_sets(column.records);
  column.by_boxes = searches_for_sets(column.boxes);
  return column;
}

std::vector<std::int32_t> column_of(std::span<const std::int32_t> matrix, std::size_t rows,
                                    std::size_t columns, std::size_t column) {
  std::vector<std::int32_t> picked(rows);
  for (std::size_t row = 0; row < rows; ++row) picked[row] = matrix[row * columns + column];
  return picked;
}

void put_column(std::vector<Extent>& matrix, std::size_t columns, std::size_t column,
                const std::vector<Extent>& extents) {
  for (std::size_t row = 0; row < extents.size(); ++row) matrix[row * columns + column] = extents[row];
}

// The rows of a matrix, each of `width` numbers, in another order.
template <typename T>
std::vector<T> in_order(std::span<const T> rows, std::size_t width, const std::vector<std::int32_t>& order) {
  std::vector<T> moved(rows.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    std::copy_n(rows.data() + at(order[place]) * width, width, moved.data() + place * width);
  return moved;
}

}  // namespace

ConsistencyGraph::ConsistencyGraph(std::span<const std::int32_t> records,
                                   std::span<const std::int64_t> record_copies,
                                   std::span<const std::int32_t> boxes,
                                   std::span<const std::int64_t> box_copies,
                                   const std::vector<Values>& attributes)
    : codes_(records), values_(boxes), attributes_(attributes) {
  const std::size_t d = attributes.size();
  std::vector<std::size_t> sequence(d);
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  std::stable_partition(sequence.begin(), sequence.end(), [&](std::size_t a) { return !attributes[a].sets; });
  std::vector<Extent> record_extents(records.size()), box_extents(boxes.size()), inner(boxes.size());
  std::vector<Searches> by_records, by_boxes;
  for (std::size_t i = 0; i < d; ++i) {
    const Values& values = attributes[sequence[i]];
    const auto codes = column_of(records, record_copies.size(), d, sequence[i]);
    const auto numbers = column_of(boxes, box_copies.size(), d, sequence[i]);
    Column column =
        values.sets ? set_column(codes, numbers, values) : interval_column(codes, numbers, values);
    if (column.doubtful) doubtful_.push_back(sequence[i]);
    put_column(record_extents, d, i, column.records);
    put_column(box_extents, d, i, column.boxes);
    put_column(inner, d, i, column.inner);
    by_records.push_back(std::move(column.by_records));
    by_boxes.push_back(std::move(column.by_boxes));
  }
  WorkStack<bool> trees(true);
  trees.push(false);
  const auto build = [&](bool of_records) {
    if (of_records)
      records_.emplace(record_extents, record_copies.size(), by_boxes);
    else
      boxes_.emplace(box_extents, box_copies.size(), by_records);
  };
  trees.run([&] { return build; }, 2);
  record_copies_ = in_order(record_copies, 1, records_->order());
  box_copies_ = in_order(box_copies, 1, boxes_->order());
  if (!doubtful_.empty()) inner_ = in_order(std::span<const Extent>(inner), d, boxes_->order());
}

bool ConsistencyGraph::in_doubtful_sets(std::int32_t record, std::int32_t box) const {
  const std::int32_t* codes = codes_.data() + at(records_->order()[at(record)]) * attributes_.size();
  const std::int32_t* values = values_.data() + at(boxes_->order()[at(box)]) * attributes_.size();
  return std::all_of(doubtful_.begin(), doubtful_.end(),
                     [&](std::size_t a) { return attributes_[a].contains(values[a], codes[a]); });
}

// Counts for one thread. What a box adds to a whole stretch of records is noted at its two ends only.
class ConsistencyGraph::Counter {
 public:
  Counter(const ConsistencyGraph& graph, const std::vector<std::int64_t>& copies_before, Counts& counts,
          std::vector<std::int64_t>& changes, std::mutex& mutex)
      : graph_(graph), copies_before_(copies_before), counts_(counts), changes_(changes), mutex_(mutex),
        mine_(changes.size(), 0) {}
  Counter(const Counter&) = delete;

  ~Counter() {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < mine_.size(); ++i) changes_[i] += mine_[i];
  }

  void operator()(std::size_t number) {
    const auto box = static_cast<std::int32_t>(number);
    const std::int64_t copies = graph_.box_copies_[number];
    std::int64_t inside = 0;
    graph_.records_->search_stretches(
        graph_.boxes_->extents(box), graph_.inner_extents(box), waiting_,
        [&](std::int32_t record) { return graph_.in_sets(record, box); },
        [&](std::int32_t begin, std::int32_t end) {
          inside += copies_before_[at(end)] - copies_before_[at(begin)];
          mine_[at(begin)] += copies;
          mine_[at(end)] -= copies;
        });
    counts_.records_of_box[at(graph_.boxes_->order()[number])] = inside;
  }

 private:
  const ConsistencyGraph& graph_;
  const std::vector<std::int64_t>& copies_before_;
  Counts& counts_;
  std::vector<std::int64_t>& changes_;
  std::mutex& mutex_;
  std::vector<std::int64_t> mine_;
  std::vector<std::int32_t> waiting_;
};

Counts ConsistencyGraph::count() const {
  const std::size_t records = record_copies_.size(), boxes = box_copies_.size();
  std::vector<std::int64_t> copies_before(records + 1, 0), changes(records + 1, 0);
  std::partial_sum(record_copies_.begin(), record_copies_.end(), copies_before.begin() + 1);
  Counts counts{std::vector<std::int64_t>(records), std::vector<std::int64_t>(boxes)};
  std::mutex mutex;
  share(boxes, 64, [&] { return Counter(*this, copies_before, counts, changes, mutex); });
  std::int64_t around = 0;
  for (std::size_t place = 0; place < records; ++place) {
    around += changes[place];
    counts.boxes_of_record[at(records_->order()[place])] = around;
  }
  return counts;
}

}  // namespace shoal
