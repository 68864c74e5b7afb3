#include "matching/pairing.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {

Pairing::Pairing(const BoxTree& tree, std::vector<std::int32_t> boxes)
    : tree_(tree), boxes_(std::move(boxes)), holder_(at(tree.rows()), -1), box_of_(at(tree.rows()), -1) {}

std::int32_t Pairing::give(std::int32_t box, std::int32_t record) {
  if (box_of(record) >= 0) holder_[at(box_of(record))] = -1;
  const std::int32_t before = std::exchange(holder_[at(box)], record);
  if (before >= 0) box_of_[at(before)] = -1;
  box_of_[at(record)] = box;
  return before;
}

std::int32_t Pairing::exchange(std::int32_t record, std::span<const std::int32_t> boxes, Partner partner) {
  ++dead_ends_;
  std::vector<std::int32_t> free;
  std::copy_if(boxes_.begin(), boxes_.end(), std::back_inserter(free),
               [&](std::int32_t box) { return holder(box) < 0; });
  double least = kUnlimited;
  std::int32_t chosen = -1, spare = -1;
  for (const std::int32_t box : boxes) {
    const std::int32_t other = holder(box);
    if (other < 0 || tree_.has_member(box, record)) continue;
    const double change =
        tree_.extra_cost(box, tree_.codes(record)) - tree_.extra_cost(box, tree_.codes(other));
    for (const std::int32_t candidate : free) {
      if (tree_.has_member(candidate, other)) continue;
      const double cost = change + tree_.extra_cost(candidate, tree_.codes(other));
      if (cost < least) {
        least = cost;
        chosen = box;
        spare = candidate;
      }
    }
    if (chosen >= 0 && partner == Partner::first) break;
  }
  if (chosen < 0) return exchange_along_path(record);
  move(spare, holder(chosen));
  move(chosen, record);
  return spare;
}

// A shortest chain of exchanges, found breadth-first. One exchange may not be enough where boxes have half of
// all records or more; a chain always is, because every box lacks as many records as every record lacks
// boxes. Only where a few owners have most of the records there may be none: then the record is left alone.
std::int32_t Pairing::exchange_along_path(std::int32_t record) {
  std::vector<std::int32_t> wanted_by(at(tree_.rows()),
                                      -1);  // for each box, the record that is to move there
  std::vector<std::int32_t> queue{record};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::int32_t box : boxes_) {
      if (wanted_by[at(box)] >= 0 || tree_.has_member(box, queue[i])) continue;
      wanted_by[at(box)] = queue[i];
      if (holder(box) >= 0) {
        queue.push_back(holder(box));
        continue;
      }
      for (std::int32_t next = box; next >= 0;) {
        const std::int32_t taker = wanted_by[at(next)];
        const std::int32_t left = box_of(taker);  // -1 for the record itself: the chain is complete
        move(next, taker);
        next = left;
      }
      return box;
    }
  }
  if (!tree_.has_owners())
    throw std::logic_error("a regular graph has a perfect matching, but none was found");
  return -1;
}

void Pairing::move(std::int32_t box, std::int32_t record) {
  give(box, record);
  exchanged_.push_back(record);
}

Matching Pairing::finish() && {
  Matching matching;
  matching.box_of = std::move(box_of_);
  matching.exchanged = std::move(exchanged_);
  matching.dead_ends = dead_ends_;
  return matching;
}

}  // namespace shoal
