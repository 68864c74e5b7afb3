#include "attacks/consistency.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {

namespace {

// Number of records and boxes from which on each of the two trees has a thread: below, starting one takes
// longer.
constexpr std::size_t kShared = 4096;

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
  Extents extents = extents_of(records, record_copies.size(), boxes, box_copies.size(), attributes);
  const auto build = [&](bool of_records) {
    if (of_records)
      records_.emplace(extents.records, record_copies.size(), extents.by_boxes);
    else
      boxes_.emplace(extents.boxes, box_copies.size(), extents.by_records);
  };
  WorkStack<bool> trees(true);
  trees.push(false);
  trees.run([&] { return build; }, record_copies.size() + box_copies.size() < kShared ? 1 : 2);
  record_copies_ = in_order(record_copies, 1, records_->order());
  box_copies_ = in_order(box_copies, 1, boxes_->order());
  columns_ = extents.columns;
  doubtful_ = std::move(extents.doubtful);
  attribute_of_ = std::move(extents.attribute_of);
  if (!doubtful_.empty()) inner_ = in_order(std::span<const Cell>(extents.inner), columns_, boxes_->order());
}

bool ConsistencyGraph::in_doubtful_sets(std::int32_t record, std::int32_t box,
                                        std::optional<std::size_t> unknown) const {
  const std::int32_t* codes = codes_.data() + at(records_->order()[at(record)]) * attributes_.size();
  const std::int32_t* values = values_.data() + at(boxes_->order()[at(box)]) * attributes_.size();
  return std::all_of(doubtful_.begin(), doubtful_.end(), [&](std::size_t a) {
    return a == unknown || attributes_[a].contains(values[a], codes[a]);
  });
}

std::vector<std::int32_t> ConsistencyGraph::boxes_around(std::int32_t record,
                                                         std::vector<std::int32_t>& waiting) const {
  std::vector<std::int32_t> found;
  const std::int32_t point = records_->place_of(record);
  const Cell* wanted = records_->extents(point);
  boxes_->search_stretches(
      wanted, wanted, waiting, [](std::int32_t) { return true; },
      [&](std::int32_t begin, std::int32_t end) {
        for (std::int32_t box = begin; box < end; ++box)
          if (has_edge(point, box)) found.push_back(boxes_->order()[at(box)]);
      });
  return found;
}

// The counts of one thread. What a box adds to a whole stretch of records is noted only at its two ends.
class ConsistencyGraph::Counter {
 public:
  Counter(const ConsistencyGraph& graph, const std::vector<std::int64_t>& copies_before, Counts& counts,
          std::vector<std::int64_t>& changes, std::mutex& mutex, std::optional<std::size_t> unknown)
      : graph_(graph), copies_before_(copies_before), counts_(counts), changes_(changes), mutex_(mutex),
        unknown_(unknown), mine_(changes.size(), 0) {}
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
        without_unknown(graph_.boxes_->extents(box), wanted_),
        without_unknown(graph_.inner_extents(box), inner_), waiting_,
        [&](std::int32_t record) {
          return graph_.doubtful_.empty() || graph_.in_doubtful_sets(record, box, unknown_);
        },
        [&](std::int32_t begin, std::int32_t end) {
          inside += copies_before_[at(end)] - copies_before_[at(begin)];
          mine_[at(begin)] += copies;
          mine_[at(end)] -= copies;
        });
    counts_.records_of_box[at(graph_.boxes_->order()[number])] = inside;
  }

 private:
  // The extents of a box, changed in a copy so that they contain every code of the unknown attribute.
  const Cell* without_unknown(const Cell* extents, std::vector<Cell>& copy) const {
    if (!unknown_) return extents;
    copy.assign(extents, extents + graph_.columns_);
    const Values& values = graph_.attributes_[*unknown_];
    const Cell all = values.sets ? Cell::set(~std::uint64_t{0}) : Cell::interval(0, values.size - 1);
    for (std::size_t column = 0; column < copy.size(); ++column)
      if (graph_.attribute_of_[column] == *unknown_) copy[column] = all;
    return copy.data();
  }

  const ConsistencyGraph& graph_;
  const std::vector<std::int64_t>& copies_before_;
  Counts& counts_;
  std::vector<std::int64_t>& changes_;
  std::mutex& mutex_;
  std::optional<std::size_t> unknown_;
  std::vector<Cell> wanted_, inner_;
  std::vector<std::int64_t> mine_;
  std::vector<std::int32_t> waiting_;
};

Counts ConsistencyGraph::count(std::optional<std::size_t> unknown) const {
  const std::size_t records = record_copies_.size(), boxes = box_copies_.size();
  std::vector<std::int64_t> copies_before(records + 1, 0), changes(records + 1, 0);
  std::partial_sum(record_copies_.begin(), record_copies_.end(), copies_before.begin() + 1);
  Counts counts{std::vector<std::int64_t>(records), std::vector<std::int64_t>(boxes)};
  std::mutex mutex;
  share(boxes, 64, [&] { return Counter(*this, copies_before, counts, changes, mutex, unknown); });
  std::int64_t around = 0;
  for (std::size_t place = 0; place < records; ++place) {
    around += changes[place];
    counts.boxes_of_record[at(records_->order()[place])] = around;
  }
  return counts;
}

Stretches ConsistencyGraph::stretches() const {
  using Stretch = std::pair<std::int32_t, std::int32_t>;
  std::vector<std::vector<Stretch>> of_box(box_copies_.size());
  share(of_box.size(), 64, [&] {
    return [&, waiting = std::vector<std::int32_t>()](std::size_t number) mutable {
      const auto box = static_cast<std::int32_t>(number);
      auto& found = of_box[at(boxes_->order()[number])];
      records_->search_stretches(
          boxes_->extents(box), inner_extents(box), waiting,
          [&](std::int32_t record) { return in_sets(record, box); },
          [&](std::int32_t begin, std::int32_t end) {
            // The search goes from left to right.
            if (!found.empty() && found.back().second == begin)
              found.back().second = end;
            else
              found.emplace_back(begin, end);
          });
    };
  });
  Stretches all{{0}, {}, {}};
  for (const auto& found : of_box) {
    for (const auto& [begin, end] : found) {
      all.begins.push_back(begin);
      all.ends.push_back(end);
    }
    all.starts.push_back(static_cast<std::int64_t>(all.begins.size()));
  }
  return all;
}

}  // namespace shoal
