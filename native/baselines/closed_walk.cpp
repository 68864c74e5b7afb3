#include "baselines/closed_walk.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "matching/parts.hpp"

namespace shoal {
namespace {

// At first each record stands beside the row of its own number (line 1), whether or not that is an edge.
class ClosedWalks {
 public:
  ClosedWalks(std::span<const std::int32_t> members, std::int32_t degree)
      : n_(static_cast<std::int32_t>(members.size() / at(degree))), width_(at(degree)), left_(degree),
        hops_(rows_of(members, at(degree))), gone_(members.size(), 0), child_(at(n_)), visited_(at(n_), 0) {}

  // For each row, the record it gets in the next assignment; its edges are then used up.
  const std::vector<std::int32_t>& next(RandomWords& random) {
    record_of_.resize(at(n_));
    std::iota(record_of_.begin(), record_of_.end(), 0);
    row_of_ = record_of_;
    matched_.assign(at(n_), false);
    std::vector<std::int32_t> starts = record_of_;
    for (std::size_t i = starts.size(); i > 1; --i)
      std::swap(starts[i - 1], starts[random.below(static_cast<std::uint32_t>(i))]);
    for (const std::int32_t start : starts)  // lines 3 and 5: one that is left, at random
      if (!matched_[at(start)]) walk(start, random);
    for (std::int32_t record = 0; record < n_; ++record) {
      std::int32_t* row = hops_.data() + at(record) * width_;
      row = std::find(row, row + left_, row_of_[at(record)]);
      std::copy(row + 1, hops_.data() + at(record) * width_ + left_, row);
    }
    --left_;
    return record_of_;
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t assigned() const { return assigned_; }

 private:
  // Lines 4 to 14.
  void walk(std::int32_t start, RandomWords& random) {
    ++walks_;
    std::int32_t row = start;
    do {
      const std::int32_t to = pick(start, row, random);
      child_[at(row)] = to;
      visited_[at(row)] = walks_;
      row = to;
    } while (row != start);
    // The record beside each row of the cycle takes the next row.
    std::int32_t record = record_of_[at(start)];
    do {
      row = child_[at(row)];
      const std::int32_t next = record_of_[at(row)];
      row_of_[at(record)] = row;
      record_of_[at(row)] = record;
      assigned_ += !matched_[at(record)];
      matched_[at(record)] = true;
      record = next;
    } while (row != start);
  }

  // A random next hop of the record beside a row that this walk has not taken from there: a row that it has
  // not visited, if there is one. What is matched is a loop, and leads nowhere.
  std::int32_t pick(std::int32_t start, std::int32_t row, RandomWords& random) {
    ++steps_;
    const std::int32_t record = record_of_[at(row)];
    const std::size_t first = at(record) * width_;
    unvisited_.clear();
    possible_.clear();
    for (std::size_t hop = first; hop < first + at(left_); ++hop) {
      const std::int32_t to = hops_[hop];
      if (gone_[hop] == walks_ || (matched_[at(record)] && to == row_of_[at(record)])) continue;
      possible_.push_back(hop);
      if (to == start || (to != row && visited_[at(to)] != walks_)) unvisited_.push_back(hop);
    }
    const auto& choices = unvisited_.empty() ? possible_ : unvisited_;  // never both empty (Theorem 4.1)
    const std::size_t hop = choices[random.below(static_cast<std::uint32_t>(choices.size()))];
    gone_[hop] = walks_;
    return hops_[hop];
  }

  std::int32_t n_;
  std::size_t width_;
  std::int32_t left_;                  // edges that each record has left
  std::vector<std::int32_t> hops_;     // per record: its rows, ascending; the first `left_` are not used up
  std::vector<std::int64_t> gone_;     // per edge: the last walk that took it
  std::vector<std::int32_t> child_;    // per row: the row that followed it
  std::vector<std::int64_t> visited_;  // per row: the last walk that left it
  std::vector<std::int32_t> record_of_, row_of_;
  std::vector<char> matched_;  // per record
  std::vector<std::size_t> unvisited_, possible_;
  std::int64_t walks_ = 0, steps_ = 0, assigned_ = 0;
};

}  // namespace

Walked closed_walk_assignment(std::span<const std::int32_t> members, std::int32_t degree, std::int32_t which,
                              RandomWords& random) {
  ClosedWalks walks(members, degree);
  Walked walked;
  for (std::int32_t i = 0; i <= which; ++i) walked.assignment = walks.next(random);
  walked.steps = walks.steps();
  walked.assigned = walks.assigned();
  return walked;
}

}  // namespace shoal
