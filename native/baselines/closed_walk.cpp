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
        hops_(rows_of(members, at(degree))), walk_of_(at(n_), 0), taken_(at(n_), 0), child_(at(n_)),
        visited_(at(n_), 0) {}

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
      std::int32_t* hops = hops_.data() + at(record) * width_;
      std::swap(*std::find(hops, hops + left_, row_of_[at(record)]), hops[left_ - 1]);
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
  // not visited, if there is one. What is matched is a loop, and leads nowhere. Hops are looked at in random
  // order, until one will do; those that were taken stand first.
  std::int32_t pick(std::int32_t start, std::int32_t row, RandomWords& random) {
    const std::int32_t record = record_of_[at(row)];
    std::int32_t* hops = hops_.data() + at(record) * width_;
    if (walk_of_[at(record)] != walks_) {
      walk_of_[at(record)] = walks_;
      taken_[at(record)] = 0;
    }
    std::int32_t& taken = taken_[at(record)];
    std::int32_t chosen = -1;  // never stays so (Theorem 4.1)
    for (std::int32_t place = taken; place < left_; ++place) {
      ++steps_;
      std::swap(
          hops[place],
          hops[place + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(left_ - place)))]);
      const std::int32_t to = hops[place];
      if (matched_[at(record)] && to == row_of_[at(record)]) continue;
      const bool unvisited = to == start || (to != row && visited_[at(to)] != walks_);
      if (unvisited || chosen < 0) chosen = place;
      if (unvisited) break;
    }
    std::swap(hops[taken], hops[chosen]);
    return hops[taken++];
  }

  std::int32_t n_;
  std::size_t width_;
  std::int32_t left_;                  // edges that each record has left
  std::vector<std::int32_t> hops_;     // per record: its rows; the first `left_` are not used up
  std::vector<std::int64_t> walk_of_;  // per record: the last walk that came to it
  std::vector<std::int32_t> taken_;  // per record: how many of its hops that walk has taken; they stand first
  std::vector<std::int32_t> child_;  // per row: the row that followed it
  std::vector<std::int64_t> visited_;  // per row: the last walk that left it
  std::vector<std::int32_t> record_of_, row_of_;
  std::vector<char> matched_;  // per record
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
