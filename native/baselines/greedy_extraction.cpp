#include "baselines/greedy_extraction.hpp"

#include <algorithm>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {
namespace {

// Everything is numbered by rank in the order. A record is matched with rows, of which there is one for each
// record.
class Extraction {
 public:
  Extraction(const PackedSets& sets, std::span<const std::int32_t> order,
             std::span<const std::int32_t> labels, std::int64_t most)
      : n_(static_cast<std::int32_t>(order.size())), order_(order), labels_(labels), compare_(sets),
        matched_(order.size()), picked_(order.size()), walk_of_picks_(order.size(), 0),
        walk_of_row_(order.size(), 0), child_(order.size()), rank_(order.size()), left_(most) {
    for (std::int32_t rank = 0; rank < n_; ++rank) rank_[at(order[at(rank)])] = rank;
  }

  bool extract(std::span<const std::int32_t> starts) {
    record_of_.resize(at(n_));
    std::iota(record_of_.begin(), record_of_.end(), 0);
    std::vector<char> done(at(n_), 0);
    for (const std::int32_t start : starts)
      if (!done[at(rank_[at(start)])] && !walk(rank_[at(start)], done)) return false;
    for (std::int32_t row = 0; row < n_; ++row) matched_[at(record_of_[at(row)])].push_back(row);
    return true;
  }

  std::vector<std::int32_t> rows(std::size_t rounds) const {
    std::vector<std::int32_t> members(at(n_) * rounds);
    for (std::int32_t record = 0; record < n_; ++record)
      for (std::size_t round = 0; round < rounds; ++round)
        members[at(order_[at(matched_[at(record)][round])]) * rounds + round] = order_[at(record)];
    return members;
  }

 private:
  bool walk(std::int32_t start, std::vector<char>& done) {
    ++walks_;
    const std::int32_t first = pick(start);
    for (std::int32_t row = first; row != start;) {
      if (row < 0 || --left_ < 0) return false;
      const std::int32_t next = pick(record_of_[at(row)]);
      child_[at(row)] = next;  // discards a loop that was walked before
      row = next;
    }
    std::int32_t record = start, row = first;
    while (true) {
      const std::int32_t before = record_of_[at(row)];
      record_of_[at(row)] = record;
      done[at(record)] = 1;
      if (row == start) return true;
      record = before;
      row = child_[at(row)];
    }
  }

  // Algorithm 2: the nearest admissible row by rank, on either side; one that this walk has already visited
  // only if there is no other.
  std::int32_t pick(std::int32_t record) {
    compare_.take(order_[at(record)]);
    if (walk_of_picks_[at(record)] != walks_) {
      walk_of_picks_[at(record)] = walks_;
      picked_[at(record)].clear();
    }
    std::int32_t resort = -1, chosen = -1;
    for (std::int32_t away = 0; away <= n_ / 2 + 1 && chosen < 0; ++away) {
      const std::int32_t above = (record + away) % n_, below = ((record - away) % n_ + n_) % n_;
      const bool one = may(record, above), other = may(record, below);
      if (!one && !other) continue;
      std::int32_t row = one ? above : below;
      if (one && other && distance(below) < distance(above)) row = below;
      if (walk_of_row_[at(row)] != walks_)
        chosen = row;
      else if (resort < 0)
        resort = row;
    }
    if (chosen < 0) chosen = resort;
    if (chosen < 0) return -1;
    walk_of_row_[at(chosen)] = walks_;
    picked_[at(record)].push_back(chosen);
    return chosen;
  }

  std::int32_t distance(std::int32_t row) const { return compare_.distance(order_[at(row)]); }

  bool may(std::int32_t record, std::int32_t row) const {
    const auto& picked = picked_[at(record)];
    if (std::find(picked.begin(), picked.end(), row) != picked.end()) return false;
    return std::none_of(matched_[at(record)].begin(), matched_[at(record)].end(), [&](std::int32_t before) {
      return before == row || labels_[at(order_[at(before)])] == labels_[at(order_[at(row)])];
    });
  }

  std::int32_t n_;
  std::span<const std::int32_t> order_, labels_;
  Comparison compare_;
  std::vector<std::vector<std::int32_t>> matched_;  // per record: its rows in the rounds before
  std::vector<std::vector<std::int32_t>> picked_;   // per record: what it picked in the last walk to it
  std::vector<std::int64_t> walk_of_picks_;         // per record: which walk that was
  std::vector<std::int64_t> walk_of_row_;           // per row: the last walk that came to it
  std::vector<std::int32_t> child_;                 // per row: the row picked after it
  std::vector<std::int32_t> record_of_;             // per row, in this round
  std::vector<std::int32_t> rank_;                  // per record, by its number
  std::int64_t walks_ = 0, left_;
};

}  // namespace

std::vector<std::int32_t> greedy_extraction(const PackedSets& sets, std::span<const std::int32_t> order,
                                            std::span<const std::int32_t> labels,
                                            std::span<const std::int32_t> starts, std::int64_t most) {
  const std::size_t rounds = starts.size() / order.size();
  Extraction extraction(sets, order, labels, most);
  for (std::size_t round = 0; round < rounds; ++round)
    if (!extraction.extract(starts.subspan(round * order.size(), order.size()))) return {};
  return extraction.rows(rounds);
}

}  // namespace shoal
