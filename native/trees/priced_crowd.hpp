// The best crowd of a record where records have prices: a lower bound of the cost of any box that covers it
// and k - 1 others, minus what these k records pay.
//
// The search is that of crowd.hpp. If a box has decided some steps and costs c, each record that it does not
// cover has an extra cost of at least e. A box that covers records with extras up to e costs at least c + e,
// and k - 1 of them pay no more than the k - 1 highest prices among them. The least c + e minus that sum,
// over all e, is a lower bound for all that can become of the box.
//
// Example: ages 20, 21, 30 and 31 in 0..100, k = 2, asked for 20. Without prices, the best crowd is 20 and
// 21, and costs 0.01. If 30 pays 0.2, it is 20 and 30, at 0.1 - 0.2 = -0.1.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trees/box_tree.hpp"
#include "trees/ladders.hpp"

namespace shoal {

struct PricedCrowds {
  std::vector<double> least, found;  // of each record: a lower bound, and the best crowd that was found
};

class PricedSearch {  // every thread has its own
 public:
  // The boxes of the tree are single records, all different; record i stands for copies[i] equal ones, each
  // with prices[i]. There are k records, copies counted. The search tries `steps` decisions: fewer can only
  // lower the bound.
  PricedSearch(const BoxTree& tree, const std::vector<Attribute>& attributes,
               std::span<const std::int32_t> copies, std::span<const double> prices, std::int64_t k,
               std::size_t steps);

  void solve(std::int32_t record);
  double least() const { return least_; }  // a lower bound of what crowds of the record cost
  double found() const { return found_; }  // what the best crowd costs that was found

 private:
  struct Candidate {
    std::int32_t record, copies;
    double price;
  };
  struct Choice {
    double bound, cost;
    std::int32_t parent;
    Need decided;
    bool goes_up;
    Need next;
  };
  struct Threshold {
    double bound, share;
    std::size_t within;  // the number of candidates that are not covered and within the threshold
  };
  // The highest prices of records that are offered one by one.
  struct Highest {
    std::size_t room;
    double sum = 0.0;
    std::vector<std::pair<double, std::int32_t>> heap;  // price and number, the lowest first
    void begin(std::size_t most);
    void offer(double price, std::int32_t number, std::int32_t copies);
    bool full() const { return heap.size() == room; }
  };

  void measure_distances(std::int32_t record);
  void find_some();
  void choose_candidates();
  void recall(std::int32_t number);
  void assess(Choice& choice);
  void divide(double cost);
  Threshold least_at(double cost, double share);
  void gather(double share, std::size_t within);
  void offer(std::int32_t number, double share);
  void close_up();
  void decide_next(Choice& choice);
  std::int32_t others(std::int32_t record) const { return copies_[at(record)] - (record == asking_ ? 1 : 0); }

  const BoxTree& tree_;
  const std::vector<Attribute>& attributes_;
  std::span<const std::int32_t> copies_;
  std::span<const double> prices_;
  std::size_t k_, steps_;
  Ladders ladders_;

  std::int32_t asking_ = -1;
  double least_ = 0.0, found_ = 0.0;
  std::vector<std::vector<double>> reaches_;           // of each attribute, what each code costs
  std::vector<std::pair<double, std::int32_t>> near_;  // distance and record, ascending
  std::vector<double> ahead_;                          // see choose_candidates
  std::vector<Candidate> candidates_;
  std::vector<Need> needs_;
  std::vector<std::size_t> starts_;  // of the needs of each candidate
  double most_paid_ = 0.0;           // by k - 1 candidates
  std::vector<double> heights_, limits_, closed_, lost_, parts_;
  std::vector<std::int64_t> users_;    // of each ladder, copies counted
  std::vector<std::int32_t> covered_;  // candidates
  Highest highest_, chosen_;
  std::vector<Choice> choices_;
  std::vector<std::pair<double, std::int32_t>> open_;
  std::vector<std::pair<double, std::int32_t>> within_;  // extra cost and number of a candidate
};

// Searches for some records, on all cores.
PricedCrowds priced_crowds(const BoxTree& tree, const std::vector<Attribute>& attributes,
                           std::span<const std::int32_t> copies, std::span<const double> prices,
                           std::span<const std::int32_t> records, std::int64_t k, std::size_t steps);

}  // namespace shoal
