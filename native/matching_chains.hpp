// How likely each link of a record and a box is, over all perfect matchings, estimated by Markov chains.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "exact_links.hpp"
#include "random_words.hpp"

namespace shoal {

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
// A step of a chain is a closed walk. A record, drawn uniformly, leaves its box. The box that lacks a record
// draws one of those in it uniformly, takes it away from its own box, which draws in turn, and so on until
// one draws the record that was taken out first.
//
// The chain is reversible, and every perfect matching is equally likely in the long run: with the record that
// is out fixed, a walk goes along the edges of a graph of matchings without it, from each to as many others
// as the box that lacks a record has records, and to or from each perfect matching in one way; so the walk
// turned round is as likely from its end as the walk is from its start. The chain reaches every perfect
// matching: what two differ by are cycles, and each is a closed walk. How fast it does is not known in
// general.
//
// A chain starts with a matching found by walks alone: boxes that lack a record draw until they draw one that
// has no box (Goel, Kapralov and Khanna 2013).
class MatchingChains {
 public:
  // key: four random words for each component and chain.
  MatchingChains(const Neighbourhoods& graph, const Parts& components, std::size_t chains,
                 std::span<const std::uint64_t> key);

  // Lets the chains of some components make a number of closed walks, and returns what they saw on these
  // walks; earlier ones only led them there. A component is complete if all its chains were in time. On all
  // cores.
  SeenLinks run(std::span<const std::int32_t> components, std::int64_t walks, double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  class Walker;

  // What one chain of one component keeps.
  struct Chain {
    RandomWords random;
    bool started = false;
    std::int64_t steps = 0;
    std::unordered_map<std::uint64_t, std::int64_t> seen;  // record and box, copies times walks
  };

  // When a copy came into its box, and the last walk it was drawn in, in walks since the run began.
  struct Times {
    std::int64_t since = 0, walk = -1;
  };

  Chain& chain(std::int32_t component, std::size_t number) {
    return states_[static_cast<std::size_t>(component) * chains_ + number];
  }
  bool walk(std::int32_t component, std::size_t number, std::int64_t walks, Clock::time_point deadline);

  std::size_t chains_;
  std::vector<std::int64_t> box_copies_;
  std::vector<std::int64_t> component_starts_;
  std::vector<std::int32_t> component_boxes_;
  // The copies of records are numbered in the order of the records: a stretch of these is one of those.
  std::vector<std::int32_t> record_of_;  // per copy
  std::vector<std::int64_t> starts_;     // per box: its stretches
  std::vector<std::uint32_t> first_;     // per stretch: its first copy
  std::vector<std::uint32_t> before_;    // per stretch: copies in the stretches of the box before it
  std::vector<std::uint32_t> inside_;    // per box: copies in it
  std::vector<std::vector<std::int32_t>> box_of_;    // per chain and copy; -1 for none
  std::vector<std::vector<Times>> times_;            // per chain and copy
  std::vector<std::vector<std::uint32_t>> members_;  // per component: its copies
  std::vector<Chain> states_;                        // per component and chain
};

}  // namespace shoal
