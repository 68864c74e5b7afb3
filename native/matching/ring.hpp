// A ring: a cyclic order of records in which any k neighbours should cost little together.
//
// Example: ages 20, 22, 21, 40, 41 on a ring and k = 2. The windows are 20-22, 22-21, 21-40, 40-41 and 41-20:
// they cost 0.02 + 0.01 + 0.19 + 0.01 + 0.21 = 0.44. If 22 moves behind 21, the windows 20-21, 21-22, 22-40,
// 40-41 and 41-20 cost 0.01 + 0.01 + 0.18 + 0.01 + 0.21 = 0.42.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"
#include "trees/union_tree.hpp"

namespace shoal {

// Each row of a release covers k neighbours on the ring, a window. Equal records stand together: the ring
// links distinct records, each with its number of copies.
class Ring {
 public:
  // `codes` is row-major, distinct records x attributes, in the order in which they stand at first.
  Ring(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
       const std::vector<Attribute>& attributes, std::int32_t k);

  // Takes out one record after the other, with its copies, and puts it back where it costs least: within k
  // places of where it was or, if it is expensive, in the few stretches of the ring that fit it best. Skips
  // records that did not move in the last sweep and have no new neighbours. On all cores; returns the
  // number of moves, each of which lowered the cost.
  std::int64_t sweep();

  double cost() const { return cost_; }     // of all windows together
  std::vector<std::int32_t> order() const;  // the records as they stand

 private:
  struct Move {
    std::int32_t record, before;  // goes to the place before another one; -1: stays
    double change;
  };
  class Search;  // what a thread needs

  std::int64_t places(std::int32_t record) const { return copies_[at(record)]; }
  Move best_move(std::int32_t record, Search& search) const;
  void make(const Move& move);
  void disturb(std::int32_t record);
  void index();

  std::span<const std::int32_t> codes_, copies_;
  const std::vector<Attribute>& attributes_;
  std::int32_t k_;
  std::int64_t total_ = 0;  // records, with copies
  double cost_ = 0.0;
  std::vector<std::int32_t> next_, last_;  // per record: its neighbours
  std::vector<char> due_;                  // per record: whether the next sweep looks at it
  std::vector<std::int64_t> disturbed_;    // per record: the last batch that changed its surroundings
  std::int64_t batch_ = 0;
  std::vector<std::int32_t> heads_;  // the first record of each run of about k
  std::optional<UnionTree> runs_;
};

}  // namespace shoal
