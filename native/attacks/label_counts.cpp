// Labels of the boxes around each record: a walk down the tree of records. Boxes around all records of a
// node are counted once, those around none of them are dropped, and the counts are restored when the node
// is done.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attacks/consistency.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {

namespace label_counting {

constexpr std::int32_t kShared =
    kDivideAlways ? 8 : 2048;  // smaller nodes are finished by the thread that has them

// How many boxes have each label, while boxes are added one after the other and taken back in reverse.
class Tally {
 public:
  struct Summary {
    std::size_t added = 0;
    std::int64_t boxes = 0, most = 0, distinct = 0;
    double logs = 0.0;
  };
  using Held = std::vector<std::pair<std::int32_t, std::int64_t>>;  // label, copies

  explicit Tally(std::int32_t labels) : counts_(at(labels), 0) {}

  void add(std::int32_t label, std::int64_t copies) {
    std::int64_t& count = counts_[at(label)];
    now_.boxes += copies;
    now_.distinct += count == 0;
    now_.logs -= c_log_c(count);
    count += copies;
    now_.logs += c_log_c(count);
    now_.most = std::max(now_.most, count);
    ++now_.added;
    added_.emplace_back(label, copies);
  }

  const Summary& now() const { return now_; }

  void back_to(const Summary& before) {
    for (; added_.size() > before.added; added_.pop_back())
      counts_[at(added_.back().first)] -= added_.back().second;
    now_ = before;
  }

  // What another tally has to add to be like this one.
  Held held() const {
    Held all = added_;
    std::sort(all.begin(), all.end());
    std::size_t kept = 0;
    for (const auto& [label, copies] : all) {
      if (kept > 0 && all[kept - 1].first == label)
        all[kept - 1].second += copies;
      else
        all[kept++] = {label, copies};
    }
    all.resize(kept);
    return all;
  }

 private:
  std::vector<std::int64_t> counts_;
  Held added_;
  Summary now_;
};

struct Task {
  std::int32_t node;
  std::vector<std::int32_t> boxes;  // that contain some of its records, perhaps
  Tally::Summary before{};          // the state of the tally of its thread
  Tally::Held held{};               // what was in it, for another worker
};

}  // namespace label_counting

using label_counting::Tally;
using label_counting::Task;

// Counts for one thread.
class ConsistencyGraph::LabelCounter {
 public:
  LabelCounter(const ConsistencyGraph& graph, std::span<const std::int32_t> labels, std::int32_t size,
               WorkStack<Task>& stack, LabelCounts& counts)
      : graph_(graph), labels_(labels), stack_(stack), counts_(counts), tally_(size) {}

  void operator()(Task first) {
    tally_.back_to({});
    for (const auto& [label, copies] : first.held) tally_.add(label, copies);
    first.before = tally_.now();
    std::vector<Task> mine;
    mine.push_back(std::move(first));
    while (!mine.empty()) {
      Task task = std::move(mine.back());
      mine.pop_back();
      tally_.back_to(task.before);
      sift(task);
      const LiveTree::Node& node = graph_.records_->node(task.node);
      if (node.left < 0 || task.boxes.empty()) {
        compare(node, task.boxes);
        continue;
      }
      Task left{node.left, task.boxes, tally_.now()};
      Task right{node.left + 1, std::move(task.boxes), tally_.now()};
      for (Task* child : {&left, &right}) {
        const LiveTree::Node& below = graph_.records_->node(child->node);
        if (below.end - below.begin >= label_counting::kShared) {
          child->held = tally_.held();
          stack_.push(std::move(*child));
        } else {
          mine.push_back(std::move(*child));
        }
      }
    }
  }

 private:
  void add(std::int32_t box) {
    tally_.add(labels_[at(graph_.boxes_->order()[at(box)])], graph_.box_copies_[at(box)]);
  }

  // Tallies the boxes around all records of the task, drops those that miss all, keeps the rest.
  void sift(Task& task) {
    const LiveTree& records = *graph_.records_;
    const Cell* whole = records.whole(task.node);
    std::size_t kept = 0;
    for (const std::int32_t box : task.boxes) {
      if (!records.meet(whole, graph_.boxes_->extents(box))) continue;
      if (records.within(whole, graph_.inner_extents(box)))
        add(box);
      else
        task.boxes[kept++] = box;
    }
    task.boxes.resize(kept);
  }

  // Looks at each record of a node, and notes what is found.
  void compare(const LiveTree::Node& node, const std::vector<std::int32_t>& boxes) {
    const Tally::Summary before = tally_.now();
    for (std::int32_t record = node.begin; record < node.end; ++record) {
      for (const std::int32_t box : boxes)
        if (graph_.has_edge(record, box)) add(box);
      const std::size_t number = at(graph_.records_->order()[at(record)]);
      counts_.boxes[number] = tally_.now().boxes;
      counts_.most[number] = tally_.now().most;
      counts_.distinct[number] = tally_.now().distinct;
      counts_.logs[number] = tally_.now().logs;
      tally_.back_to(before);
    }
  }

  const ConsistencyGraph& graph_;
  std::span<const std::int32_t> labels_;
  WorkStack<Task>& stack_;
  LabelCounts& counts_;
  Tally tally_;  // of the boxes around all records of the task at hand
};

LabelCounts ConsistencyGraph::count_labels(std::span<const std::int32_t> labels, std::int32_t size) const {
  const std::size_t records = record_copies_.size();
  LabelCounts counts{std::vector<std::int64_t>(records), std::vector<std::int64_t>(records),
                     std::vector<std::int64_t>(records), std::vector<double>(records)};
  if (records == 0) return counts;
  Task all{0, std::vector<std::int32_t>(box_copies_.size())};
  std::iota(all.boxes.begin(), all.boxes.end(), 0);
  WorkStack<Task> stack(std::move(all));
  stack.run([&] { return LabelCounter(*this, labels, size, stack, counts); },
            static_cast<std::int64_t>(records) / label_counting::kShared + 1);
  return counts;
}

}  // namespace shoal
