// A matching of records and boxes that is being built, and exchanges for a record that finds no box.
//
// Example: record 2 is left, and the only free box is box 2, which already has record 2. Record 0 holds box
// 0, which does not have record 2, and box 2 does not have record 0: exchange(2, ...) gives box 0 to record
// 2 and box 2 to record 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

struct Matching {
  std::vector<std::int32_t> box_of;     // for each record; -1 for those that do not take part or find no box
  std::vector<std::int32_t> exchanged;  // records that got their box by an exchange
  std::int64_t queries = 0;             // searches for a nearest box
  std::int64_t visited = 0;             // nodes they visited
  std::int64_t dead_ends = 0;           // records that found no box and got one by an exchange
};

enum class Partner { cheapest, first };

// Which record holds which box. A record may hold any box that does not have it yet.
class Pairing {
 public:
  // `boxes` are those that take part.
  Pairing(const BoxTree& tree, std::vector<std::int32_t> boxes);

  const std::vector<std::int32_t>& boxes() const { return boxes_; }
  std::int32_t holder(std::int32_t box) const { return holder_[at(box)]; }
  std::int32_t box_of(std::int32_t record) const { return box_of_[at(record)]; }

  // Lets a record hold a box instead of the one it held. Returns the record that has to leave it, or -1.
  std::int32_t give(std::int32_t box, std::int32_t record);

  // For a record at a dead end, which all free boxes have already: it takes over a box, and the record that
  // held this box takes the cheapest free box. The box is one of `boxes`: the one with the least total
  // cost, or the first possible one. If there is none, several holders move on. Returns the box that is no
  // longer free, or -1 if no chain of exchanges helps.
  std::int32_t exchange(std::int32_t record, std::span<const std::int32_t> boxes, Partner partner);

  // The box of each record, and which records got theirs by an exchange.
  Matching finish() &&;

 private:
  std::int32_t exchange_along_path(std::int32_t record);
  void move(std::int32_t box, std::int32_t record);

  const BoxTree& tree_;
  std::vector<std::int32_t> boxes_, holder_, box_of_, exchanged_;
  std::int64_t dead_ends_ = 0;
};

}  // namespace shoal
