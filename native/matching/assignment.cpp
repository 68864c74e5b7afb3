#include "matching/assignment.hpp"

#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "matching/parts.hpp"

namespace shoal {
namespace {

// The boxes of each record that are still to be assigned, and the current assignment.
class Walks {
 public:
  Walks(std::span<const std::int32_t> members, std::int32_t degree)
      : n_(static_cast<std::int32_t>(members.size() / at(degree))), row_(at(degree)), left_(degree),
        boxes_(rows_of(members, at(degree))) {}

  // For each box, the record it gets in the next assignment; its edges are then used up.
  std::vector<std::int32_t> next(RandomWords& random) {
    holder_.assign(at(n_), -1);
    edge_.assign(at(n_), -1);
    for (std::int32_t record = 0; record < n_; ++record) {
      pause_sometimes();
      walk(record, random);
    }
    for (std::int32_t record = 0; record < n_; ++record) {
      std::int32_t* row = boxes_.data() + at(record) * row_;
      std::swap(row[edge_[at(record)]], row[left_ - 1]);
    }
    --left_;
    return holder_;
  }

  std::int64_t steps() const { return steps_; }

 private:
  // From a free record along a random edge to a box, from there to its holder, and so on to a free box.
  // Where the walk returns to a record, it discards the loop. Then every record on it takes the box it went
  // to.
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

}  // namespace shoal
