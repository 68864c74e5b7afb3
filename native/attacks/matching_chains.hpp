// The probability of each link of a record and a box, over all perfect matchings, estimated by Markov
// chains.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attacks/exact_links.hpp"
#include "base/numbers.hpp"
#include "base/random_words.hpp"

namespace shoal {

// Sums by pairs of a record and a box: a hash table that is never more than half full.
class LinkSums {
 public:
  LinkSums() { clear(); }

  void clear() {
    slots_.assign(64, {kNone, 0});
    used_ = 0;
  }
  void add(std::int32_t record, std::int32_t box, std::int64_t sum) {
    const auto link = static_cast<std::uint64_t>(record) << 32U | static_cast<std::uint64_t>(box);
    auto& [key, total] = slots_[slot_of(link)];
    total += sum;
    if (std::exchange(key, link) == kNone && 2 * ++used_ > slots_.size()) grow();
  }

  // Calls visit(link, sum) for each, where a link is the record and the box in 32 bits each.
  template <typename Visit>
  void visit_all(const Visit& visit) const {
    for (const auto& [link, sum] : slots_)
      if (link != kNone) visit(link, sum);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::size_t slot_of(std::uint64_t link) const {
    const std::size_t mask = slots_.size() - 1;
    auto slot = at(link * 0x9E3779B97F4A7C15U >> 32U) & mask;
    while (slots_[slot].first != link && slots_[slot].first != kNone) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    const auto before = std::exchange(
        slots_, std::vector<std::pair<std::uint64_t, std::int64_t>>(2 * slots_.size(), {kNone, 0}));
    for (const auto& slot : before)
      if (slot.first != kNone) slots_[slot_of(slot.first)] = slot;
  }

  std::vector<std::pair<std::uint64_t, std::int64_t>> slots_;
  std::size_t used_ = 0;
};

// What the last walks of several chains saw. The i-th pair was seen by the c-th chain in a share of
// shares[i * chains + c] of the time, by copies.
struct SeenLinks {
  std::vector<std::int32_t> records, boxes;
  std::vector<double> shares;
  std::vector<std::uint8_t> complete;  // per component that was asked for
  std::int64_t steps = 0;
};

// Several chains over the perfect matchings of each of some components.
//
// A step of a chain is a closed walk. A record, drawn uniformly, leaves its box. The box that lacks a
// record draws one of the records in it uniformly and takes it from its box, which draws in turn, and so on
// until one draws the record that left first.
//
// Example: the boxes A and B both around the records 0 and 1, matched as 0 - A, 1 - B. Record 0 leaves A.
// If A draws 0, the matching is as before; if it draws 1, then B draws until it draws 0: 1 - A, 0 - B.
//
// The chain is reversible, and every perfect matching is equally likely in the long run: with the removed
// record fixed, a walk follows the edges of a graph of matchings without it, from each to as many others as
// the box that lacks a record has records, and to or from each perfect matching in one way; so the reversed
// walk is as likely from its end as the walk is from its start. The chain reaches every perfect matching:
// two of them differ by cycles, and each cycle is a closed walk. How fast it does is not known in general.
//
// A chain starts with a matching found by walks alone: boxes that lack a record draw until they draw one that
// has no box (Goel, Kapralov and Khanna 2013).
class MatchingChains {
 public:
  // key: four random words for each component and chain.
  MatchingChains(const Neighbourhoods& graph, const Parts& components, std::size_t chains,
                 std::span<const std::uint64_t> key);

  // Lets the chains of some components make a number of closed walks, and returns what they saw on these
  // walks; earlier walks only led there. A component is complete if all its chains finished in time. On all
  // cores.
  SeenLinks run(std::span<const std::int32_t> components, std::int32_t walks, double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  class Walker;

  // The state of one chain of one component.
  struct Chain {
    RandomWords random;
    bool started = false;
    std::int64_t steps = 0;
    LinkSums seen;  // copies times walks
  };

  struct Box {
    std::int64_t begin;    // of its stretches; they end where those of the next box begin
    std::uint32_t inside;  // copies of records in it
  };
  struct Stretch {
    std::uint32_t before;  // copies in the stretches of the box before it
    std::uint32_t first;   // its first copy
  };
  // A copy of a record: its box, or -1; the last walk it was drawn in; when it came into its box. Times are
  // in walks since the run began.
  struct Place {
    std::int32_t box = -1;
    std::int32_t walk = -1;
    std::int64_t since = 0;
  };

  Chain& chain(std::int32_t component, std::size_t number) {
    return states_[at(component) * chains_ + number];
  }
  bool walk(std::int32_t component, std::size_t number, std::int32_t walks, Clock::time_point deadline);

  std::size_t chains_;
  std::vector<std::int64_t> box_copies_;
  std::vector<std::int64_t> component_starts_;
  std::vector<std::int32_t> component_boxes_;
  // The copies of records are numbered in the order of the records: a stretch of these is one of those.
  std::vector<std::int32_t> record_of_;  // per copy
  std::vector<Box> boxes_;               // and one more at the end
  std::vector<Stretch> stretches_;
  std::vector<std::vector<Place>> places_;           // per chain and copy
  std::vector<std::vector<std::uint32_t>> members_;  // per component: its copies
  std::vector<Chain> states_;                        // per component and chain
};

}  // namespace shoal
