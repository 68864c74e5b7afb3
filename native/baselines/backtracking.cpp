#include "baselines/backtracking.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "matching/parts.hpp"

namespace shoal {
namespace {

// At first each record stands beside the box of its own number, whether or not that is an edge. A walk leads
// from box to box through the records beside them, until it reaches the box it began beside. Then every
// record on the walk takes the box it went to.
class BacktrackingWalks {
 public:
  BacktrackingWalks(std::span<const std::int32_t> members, std::int32_t degree, double seconds)
      : n_(static_cast<std::int32_t>(members.size() / at(degree))), row_(at(degree)), left_(degree),
        boxes_(rows_of(members, at(degree))), visited_(at(n_), 0), tried_(at(n_), 0), seconds_(seconds) {}

  // For each box, the record it gets in the next assignment; its edges are then used up. Empty if time is up.
  std::vector<std::int32_t> next(RandomWords& random) {
    beside_.resize(at(n_));
    std::iota(beside_.begin(), beside_.end(), 0);
    box_ = beside_;
    settled_.assign(at(n_), false);
    std::vector<std::int32_t> starts = beside_;
    for (std::size_t i = starts.size(); i > 1; --i)
      std::swap(starts[i - 1], starts[random.below(static_cast<std::uint32_t>(i))]);
    for (const std::int32_t start : starts)
      if (!settled_[at(start)] && !walk(start, random)) return {};
    for (std::int32_t record = 0; record < n_; ++record) {
      std::int32_t* row = boxes_.data() + at(record) * row_;
      std::swap(*std::find(row, row + left_, box_[at(record)]), row[left_ - 1]);
    }
    --left_;
    return beside_;
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t assigned() const { return assigned_; }

 private:
  bool walk(std::int32_t start, RandomWords& random) {
    const std::int32_t goal = box_[at(start)];
    ++walks_;
    path_.clear();
    enter(start);
    while (true) {
      if (++steps_ % 4096 == 0 && time_is_up()) return false;
      const std::int32_t box = try_another(path_.back(), random);
      if (box == goal) break;
      if (box < 0) {
        path_.pop_back();  // never the start: as many edges lead to each box as leave each record
      } else if (visited_[at(beside_[at(box)])] != walks_) {
        enter(beside_[at(box)]);
      }
    }
    for (const std::int32_t record : path_) {
      box_[at(record)] = boxes_[at(record) * row_ + at(tried_[at(record)]) - 1];
      beside_[at(box_[at(record)])] = record;
      assigned_ += !settled_[at(record)];
      settled_[at(record)] = true;
    }
    return true;
  }

  void enter(std::int32_t record) {
    visited_[at(record)] = walks_;
    tried_[at(record)] = 0;
    path_.push_back(record);
  }

  // A random box of the record that this walk has not tried from here, or -1.
  std::int32_t try_another(std::int32_t record, RandomWords& random) {
    std::int32_t& tried = tried_[at(record)];
    if (tried == left_) return -1;
    std::int32_t* row = boxes_.data() + at(record) * row_;
    std::swap(
        row[tried],
        row[tried + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(left_ - tried)))]);
    return row[tried++];
  }

  bool time_is_up() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    return seconds_ > 0.0 && passed.count() > seconds_;
  }

  std::int32_t n_;
  std::size_t row_;
  std::int32_t left_;                  // edges that each record has left
  std::vector<std::int32_t> boxes_;    // per record, its boxes; the first `left_` are still to be assigned
  std::vector<std::int32_t> beside_;   // per box: the record beside it
  std::vector<std::int32_t> box_;      // per record: the box it stands beside
  std::vector<char> settled_;          // per record: whether that box is its own in this assignment
  std::vector<std::int64_t> visited_;  // per record: the last walk that came to it
  std::vector<std::int32_t> tried_;    // per record: how many of its edges that walk has tried
  std::vector<std::int32_t> path_;
  std::int64_t walks_ = 0, steps_ = 0, assigned_ = 0;
  double seconds_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

Walked backtracking_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                               RandomWords& random, double seconds) {
  BacktrackingWalks walks(members, degree, seconds);
  Walked walked;
  for (std::int32_t i = 0; i <= which; ++i) {
    walked.assignment = walks.next(random);
    if (walked.assignment.empty()) break;
  }
  walked.steps = walks.steps();
  walked.assigned = walks.assigned();
  return walked;
}

}  // namespace shoal
