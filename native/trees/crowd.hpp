// The cheapest crowd of a record: a lower bound of the cost of any box that covers it and k - 1 others.
//
// Seen from one record, a box is a height on each of several ladders (ladders.hpp). The cheapest crowd is
// found by best-first search: every step decides whether the box goes up to some height on one ladder or
// stays below it, and the k-th nearest record that is still possible gives a lower bound for the rest.
//
// Example: ages 20, 21, 30 and 31 in 0..100 and k = 3, asked for 20. Every box around 20 and two others
// costs at least 0.1 (20..30). The ladder `up` of the attribute has the rungs 0.01 (for 21), 0.1 (for 30) and
// 0.11 (for 31); the search decides that the box goes up to 0.1, and then covers 20, 21 and 30.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trees/box_tree.hpp"
#include "trees/ladders.hpp"

namespace shoal {

// Limits of the search. Either limit can only lower the answer, never make it wrong.
struct CrowdEffort {
  std::size_t horizon;  // number of nearest records to consider, at least 1; any other costs as
                        // much as the farthest of them
  std::size_t steps;    // number of decisions to try
};

class CrowdSearch {  // every thread has its own
 public:
  // The boxes of the tree are single records, all different; record i stands for copies[i] equal ones.
  CrowdSearch(const BoxTree& tree, const std::vector<Attribute>& attributes,
              std::span<const std::int32_t> copies, std::int64_t k, CrowdEffort effort);

  // A lower bound of the cost of every box that covers the record and, copies counted, k - 1 others: the cost
  // of the cheapest one, unless the search ran into one of its limits.
  double least_cost(std::int32_t record);

 private:
  struct Choice {  // a box that has decided some steps, and all that can become of it
    double bound, cost;
    std::int32_t parent;
    Need decided;  // by the last step: whether it goes as high
    bool goes_up;
    Need next;  // to be decided; ladder -1 if it covers k records as it is
  };

  void collect(std::int32_t record);
  void recall(std::int32_t choice);
  void assess(Choice& choice);

  const BoxTree& tree_;
  std::span<const std::int32_t> copies_;
  std::int64_t k_;
  CrowdEffort effort_;
  Ladders ladders_;
  BoxTree::Search search_;

  double beyond_ = 0.0;                   // every record that is not a candidate costs as much
  std::vector<Need> needs_;               // of all candidates, one after the other
  std::vector<std::size_t> ends_;         // of the needs of each candidate
  std::vector<std::int32_t> candidates_;  // the record itself first
  std::vector<double> heights_, limits_;  // of a choice, on each ladder; it stays below the limit
  std::vector<Choice> choices_;
  std::vector<std::pair<double, std::int32_t>> open_;   // bound and number of a choice, a heap
  std::vector<std::pair<double, std::size_t>> within_;  // extra cost and number of a candidate
};

// The least cost of each of some records, on all cores.
std::vector<double> crowd_costs(const BoxTree& tree, const std::vector<Attribute>& attributes,
                                std::span<const std::int32_t> copies, std::span<const std::int32_t> records,
                                std::int64_t k, CrowdEffort effort);

}  // namespace shoal
