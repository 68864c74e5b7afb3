#include "matching/assignment.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "matching/parts.hpp"

namespace shoal {
namespace {

// The boxes of each record that are still to be assigned, and the assignment at hand.
class Walks {
 public:
  Walks(std::span<const std::int32_t> members, std::int32_t degree)
      : n_(static_cast<std::int32_t>(members.size() / at(degree))), row_(at(degree)), left_(degree),
        boxes_(rows_of(members, at(degree))) {}

  // For each box, the record it gets in the next assignment; its edges are then used up.
  std::vector<std::int32_t> next(RandomWords& random) {
    holder_.assign(at(n_), -1);
    edge_.assign(at(n_), -1);
    for (std::int32_t record = 0; record < n_; ++record) walk(record, random);
    for (std::int32_t record = 0; record < n_; ++record) {
      std::int32_t* row = boxes_.data() + at(record) * row_;
      std::swap(row[edge_[at(record)]], row[left_ - 1]);
    }
    --left_;
    return holder_;
  }

  std::int64_t steps() const { return steps_; }

 private:
  // From a free record along a random edge to a box, from there to its holder, and so on to a free box. Where
  // the walk comes back to a record, it forgets the loop; then every record on it takes the box it went to.
  void walk(std::int32_t start, RandomWords& random) {
    path_.clear();
    place_.resize(at(n_), -1);
    std::int32_t record = start;
    while (true) {
      if (place_[at(record)] >= 0) {
        while (path_.size() > at(place_[at(record)])) {
          place_[at(path_.back().first)] = -1;
          path_.pop_back();
        }
      }
      const std::int32_t own = edge_[at(record)];
      auto edge = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(left_ - (own >= 0))));
      if (own >= 0 && edge >= own) ++edge;  // any edge but the one to the box it holds
      place_[at(record)] = static_cast<std::int32_t>(path_.size());
      path_.emplace_back(record, edge);
      ++steps_;
      const std::int32_t box = boxes_[at(record) * row_ + at(edge)];
      if (holder_[at(box)] < 0) break;
      record = holder_[at(box)];
    }
    for (const auto& [walker, edge] : path_) {
      edge_[at(walker)] = edge;
      holder_[at(boxes_[at(walker) * row_ + at(edge)])] = walker;
      place_[at(walker)] = -1;
    }
  }

  std::int32_t n_;
  std::size_t row_;
  std::int32_t left_;                 // edges that each record has left
  std::vector<std::int32_t> boxes_;   // per record, its boxes; the first `left_` are still to be assigned
  std::vector<std::int32_t> holder_;  // per box
  std::vector<std::int32_t> edge_;    // per record: which of its edges it holds, -1 for none
  std::vector<std::int32_t> place_;   // per record: its place on the path, -1 for none
  std::vector<std::pair<std::int32_t, std::int32_t>> path_;
  std::int64_t steps_ = 0;
};

// Walks as in the text on backtracking: at first each record stands beside the box of its own number, whether
// that is an edge or not; a walk leads from box to box by way of the records beside them, until it comes to
// the box it began beside. Then every record on it takes the box it went to.
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

Walked random_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                         RandomWords& random) {
  Walks walks(members, degree);
  Walked walked;
  for (std::int32_t i = 0; i <= which; ++i) {
    walked.assignment = walks.next(random);
    walked.assigned += static_cast<std::int64_t>(walked.assignment.size());
  }
  walked.steps = walks.steps();
  return walked;
}

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
