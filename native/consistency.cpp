#include "consistency.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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

constexpr std::int64_t kShared = 2048;  // smaller tasks are finished by the worker that has them
constexpr std::int64_t kFew = 8;        // so few records are compared one by one

enum class Cover : std::uint8_t { none, some, all };

// How many boxes have each label, while boxes are added one after the other and taken back in reverse.
class Tally {
 public:
  struct Summary {
    std::size_t boxes = 0;  // how many were added
    std::int64_t most = 0, distinct = 0;
    double logs = 0.0;
  };
  using Held = std::vector<std::pair<std::int32_t, std::int64_t>>;  // label, copies

  explicit Tally(std::int32_t labels) : counts_(static_cast<std::size_t>(labels), 0) {}

  void add(std::int32_t label, std::int64_t copies) {
    std::int64_t& count = counts_[static_cast<std::size_t>(label)];
    now_.distinct += count == 0;
    now_.logs -= times_log(count);
    count += copies;
    now_.logs += times_log(count);
    now_.most = std::max(now_.most, count);
    now_.boxes = added_.size() + 1;
    added_.emplace_back(label, copies);
  }

  const Summary& now() const { return now_; }

  void back_to(const Summary& before) {
    for (; added_.size() > before.boxes; added_.pop_back())
      counts_[static_cast<std::size_t>(added_.back().first)] -= added_.back().second;
    now_ = before;
  }

  // What another tally has to add to be like this one.
  Held held() const {
    Held all = added_;
    std::sort(all.begin(), all.end());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (kept > 0 && all[kept - 1].first == all[i].first)
        all[kept - 1].second += all[i].second;
      else
        all[kept++] = all[i];
    }
    all.resize(kept);
    return all;
  }

 private:
  static double times_log(std::int64_t count) {
    const auto c = static_cast<double>(count);
    return count > 1 ? c * std::log(c) : 0.0;
  }

  std::vector<std::int64_t> counts_;
  Held added_;
  Summary now_;
};

struct Task {
  std::int64_t begin, end;          // of Problem::order
  std::int64_t covering;            // copies of boxes already known to contain all these records
  std::vector<std::int32_t> boxes;  // that contain some of them, perhaps
  Tally::Summary before{};          // where the tally of the worker who has it stood
  Tally::Held held{};               // what was in it, for another worker
};

struct Problem {
  std::span<const std::int32_t> records, boxes;
  std::span<const std::int64_t> record_copies, box_copies;
  const std::vector<Values>& attributes;
  Labels labels;
  std::size_t columns;
  std::vector<std::int64_t> order;
  Counts counts;
  std::mutex mutex;

  std::int32_t code(std::int64_t record, std::size_t a) const {
    return records[static_cast<std::size_t>(record) * columns + a];
  }
  std::int32_t value(std::int32_t box, std::size_t a) const {
    return boxes[static_cast<std::size_t>(box) * columns + a];
  }
};

class Worker {
 public:
  Worker(Problem& problem, WorkStack<Task>& stack)
      : p_(problem), stack_(stack), tally_(problem.labels.size), in_box_(problem.box_copies.size(), 0),
        partial_(problem.columns) {
    for (const auto& attribute : p_.attributes) {
      present_.emplace_back(attribute.sets ? static_cast<std::size_t>(attribute.size) : 0, 0);
      const std::size_t values = attribute.sets ? attribute.starts.size() - 1 : 0;
      known_.emplace_back(values, std::pair{std::int64_t{-1}, Cover::none});
    }
    low_.resize(p_.columns);
    high_.resize(p_.columns);
    distinct_.resize(p_.columns);
  }
  Worker(const Worker&) = delete;

  ~Worker() {
    std::lock_guard lock(p_.mutex);
    for (std::size_t b = 0; b < in_box_.size(); ++b) p_.counts.records_of_box[b] += in_box_[b];
  }

  void operator()(Task first) {
    std::vector<Task> mine;
    tally_.back_to({});
    for (const auto& [label, copies] : first.held) tally_.add(label, copies);
    first.before = tally_.now();
    mine.push_back(std::move(first));
    while (!mine.empty()) {
      Task task = std::move(mine.back());
      mine.pop_back();
      tally_.back_to(task.before);
      sift(task);
      if (task.boxes.empty()) {
        for (std::int64_t i = task.begin; i < task.end; ++i) note(record_at(i), task.covering);
      } else if (task.end - task.begin <= kFew) {
        compare(task);
      } else {
        const std::int64_t middle = halve(task);
        Task right{middle, task.end, task.covering, task.boxes, tally_.now()};
        Task left{task.begin, middle, task.covering, std::move(task.boxes), tally_.now()};
        for (Task* child : {&left, &right}) {
          if (child->end - child->begin >= kShared) {
            child->held = tally_.held();
            stack_.push(std::move(*child));
          } else {
            mine.push_back(std::move(*child));
          }
        }
      }
    }
  }

 private:
  std::size_t record_at(std::int64_t i) const {
    return static_cast<std::size_t>(p_.order[static_cast<std::size_t>(i)]);
  }

  void note(std::size_t record, std::int64_t covering) {
    p_.counts.boxes_of_record[record] = covering;
    if (p_.labels.size == 0) return;
    p_.counts.most_of_record[record] = tally_.now().most;
    p_.counts.distinct_of_record[record] = tally_.now().distinct;
    p_.counts.logs_of_record[record] = tally_.now().logs;
  }

  void add_label(std::int32_t box) {
    const auto b = static_cast<std::size_t>(box);
    if (p_.labels.size > 0) tally_.add(p_.labels.of_box[b], p_.box_copies[b]);
  }

  // Counts the boxes that cover all records of the task, drops those that miss all, keeps the rest.
  void sift(Task& task) {
    ++epoch_;
    std::int64_t copies = 0;
    for (std::size_t a = 0; a < p_.columns; ++a) {
      low_[a] = high_[a] = p_.code(p_.order[static_cast<std::size_t>(task.begin)], a);
      partial_[a] = 0;
      distinct_[a].clear();
    }
    for (std::int64_t i = task.begin; i < task.end; ++i) {
      const auto record = record_at(i);
      copies += p_.record_copies[record];
      for (std::size_t a = 0; a < p_.columns; ++a) {
        const std::int32_t code = p_.code(static_cast<std::int64_t>(record), a);
        low_[a] = std::min(low_[a], code);
        high_[a] = std::max(high_[a], code);
        if (p_.attributes[a].sets && present_[a][static_cast<std::size_t>(code)] != epoch_) {
          present_[a][static_cast<std::size_t>(code)] = epoch_;
          distinct_[a].push_back(code);
        }
      }
    }
    std::size_t kept = 0;
    for (const std::int32_t box : task.boxes) {
      Cover whole = Cover::all;
      for (std::size_t a = 0; a < p_.columns && whole != Cover::none; ++a)
        whole = std::min(whole, cover(a, p_.value(box, a)));
      if (whole == Cover::all) {
        task.covering += p_.box_copies[static_cast<std::size_t>(box)];
        in_box_[static_cast<std::size_t>(box)] += copies;
        add_label(box);
      } else if (whole == Cover::some) {
        task.boxes[kept++] = box;
        for (std::size_t a = 0; a < p_.columns; ++a)
          if (low_[a] < high_[a]) partial_[a] += cover(a, p_.value(box, a)) == Cover::some;
      }
    }
    task.boxes.resize(kept);
  }

  Cover cover(std::size_t a, std::int32_t value) {
    const auto& values = p_.attributes[a];
    const auto v = static_cast<std::size_t>(value);
    if (!values.sets) {
      if (values.high[v] < low_[a] || high_[a] < values.low[v]) return Cover::none;
      return values.low[v] <= low_[a] && high_[a] <= values.high[v] ? Cover::all : Cover::some;
    }
    auto& [epoch, answer] = known_[a][v];
    if (epoch != epoch_) {
      epoch = epoch_;
      answer = cover(a, values.set(v));
    }
    return answer;
  }

  // Walks through the members among the codes at hand, or looks up these codes, whichever takes less: a large
  // set is asked about at many small tasks.
  Cover cover(std::size_t a, std::span<const std::int32_t> set) {
    const auto& codes = distinct_[a];
    if (set.size() == static_cast<std::size_t>(p_.attributes[a].size)) return Cover::all;
    const auto begin = std::lower_bound(set.begin(), set.end(), low_[a]);
    const auto end = std::upper_bound(begin, set.end(), high_[a]);
    const auto members = static_cast<std::size_t>(end - begin);
    std::size_t shared = 0, looked_up = codes.size();
    if (codes.size() * static_cast<std::size_t>(std::bit_width(members)) < members) {
      for (looked_up = 0; looked_up < codes.size() && (shared == 0 || shared == looked_up); ++looked_up)
        shared += std::binary_search(begin, end, codes[looked_up]);
    } else {
      for (auto member = begin; member != end; ++member)
        shared += present_[a][static_cast<std::size_t>(*member)] == epoch_;
    }
    return shared == 0 ? Cover::none : shared == looked_up ? Cover::all : Cover::some;
  }

  void compare(const Task& task) {
    const Tally::Summary before = tally_.now();
    for (std::int64_t i = task.begin; i < task.end; ++i) {
      const auto record = record_at(i);
      std::int64_t count = task.covering;
      for (const std::int32_t box : task.boxes) {
        bool inside = true;
        for (std::size_t a = 0; a < p_.columns && inside; ++a)
          inside = p_.attributes[a].contains(p_.value(box, a), p_.code(static_cast<std::int64_t>(record), a));
        if (!inside) continue;
        count += p_.box_copies[static_cast<std::size_t>(box)];
        in_box_[static_cast<std::size_t>(box)] += p_.record_copies[record];
        add_label(box);
      }
      note(record, count);
      tally_.back_to(before);
    }
  }

  // Cuts at the median of the attribute in which most boxes cover only a part of the records.
  std::int64_t halve(const Task& task) {
    std::size_t a = 0;
    for (std::size_t other = 1; other < p_.columns; ++other)
      if (partial_[other] > partial_[a]) a = other;
    const auto begin = p_.order.begin() + task.begin, end = p_.order.begin() + task.end;
    const auto median = begin + (end - begin) / 2;
    const auto by_code = [&](std::int64_t x, std::int64_t y) { return p_.code(x, a) < p_.code(y, a); };
    std::nth_element(begin, median, end, by_code);
    const std::int32_t pivot = p_.code(*median, a);
    auto middle = std::partition(begin, end, [&](std::int64_t r) { return p_.code(r, a) < pivot; });
    if (middle == begin)
      middle = std::partition(begin, end, [&](std::int64_t r) { return p_.code(r, a) <= pivot; });
    return middle - p_.order.begin();
  }

  Problem& p_;
  WorkStack<Task>& stack_;
  Tally tally_;  // of the boxes that cover all records of the task at hand
  std::int64_t epoch_ = 0;
  std::vector<std::int64_t> in_box_;
  std::vector<std::int64_t> partial_;
  std::vector<std::int32_t> low_, high_;
  std::vector<std::vector<std::int32_t>> distinct_;  // per set attribute: the codes of the task at hand
  std::vector<std::vector<std::int64_t>> present_;   // per set attribute and code: epoch in which it was seen
  std::vector<std::vector<std::pair<std::int64_t, Cover>>> known_;  // per set attribute and value
};

}  // namespace

Counts count_consistent(std::span<const std::int32_t> records, std::span<const std::int64_t> record_copies,
                        std::span<const std::int32_t> boxes, std::span<const std::int64_t> box_copies,
                        const std::vector<Values>& attributes, Labels labels) {
  Problem problem{records, boxes, record_copies, box_copies, attributes, labels, attributes.size(), {},
                  {},      {}};
  problem.order.resize(record_copies.size());
  std::iota(problem.order.begin(), problem.order.end(), std::int64_t{0});
  problem.counts.boxes_of_record.assign(record_copies.size(), 0);
  problem.counts.records_of_box.assign(box_copies.size(), 0);
  if (labels.size > 0) {
    problem.counts.most_of_record.assign(record_copies.size(), 0);
    problem.counts.distinct_of_record.assign(record_copies.size(), 0);
    problem.counts.logs_of_record.assign(record_copies.size(), 0.0);
  }
  if (record_copies.empty()) return std::move(problem.counts);
  Task all{0, static_cast<std::int64_t>(record_copies.size()), 0, {}};
  all.boxes.resize(box_copies.size());
  std::iota(all.boxes.begin(), all.boxes.end(), 0);
  WorkStack<Task> stack(std::move(all));
  stack.run([&] { return Worker(problem, stack); },
            static_cast<std::int64_t>(record_copies.size()) / kShared + 1);
  return std::move(problem.counts);
}

}  // namespace shoal
