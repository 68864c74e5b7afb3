// The best crowd of a record where records have prices: a lower bound of the cost of any box that covers it
// and k - 1 others, minus what these k records pay.
//
// The search is that of crowd.hpp, with another bound for a box that has decided some steps: the cost of the
// steps that are not decided is divided among the records that need them (charges.hpp). Boxes are searched by
// what they cost: a box that costs at most b has no record that is farther away than b.
//
// Example: ages 20, 21, 30 and 31 in 0..100, k = 2, asked for 20. Without prices, the best crowd is 20 and
// 21, and costs 0.01. If 30 pays 0.2, it is 20 and 30, at 0.1 - 0.2 = -0.1.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trees/box_tree.hpp"
#include "trees/charges.hpp"
#include "trees/ladders.hpp"

namespace shoal {

struct PricedCrowds {
  std::vector<double> least, found;  // of each record: a lower bound, and the best crowd that was found
};

// Limits of the search. Either limit can only lower the bound.
struct PricedEffort {
  std::size_t steps;  // number of decisions to try
  double tolerance;   // a bound that is so much lower than the best crowd that was found is good enough
};

class PricedSearch {  // every thread has its own
 public:
  // The boxes of the tree are single records, all different; record i stands for copies[i] equal ones, each
  // with prices[i]. There are k records, copies counted.
  PricedSearch(const BoxTree& tree, const std::vector<Attribute>& attributes,
               std::span<const std::int32_t> copies, std::span<const double> prices, std::int64_t k,
               PricedEffort effort);

  void solve(std::int32_t record);
  double least() const { return least_; }  // a lower bound of what crowds of the record cost
  double found() const { return found_; }  // what the best crowd costs that was found

 private:
  struct Candidate {
    std::int32_t record, copies;
    double price, distance;
  };
  struct Stage {  // a need, and how many of the rungs of its ladder are no higher
    Need need;
    std::int32_t rungs;
  };
  struct Choice {
    double bound, cost;
    double low, high;  // what boxes cost here: more than the first, no more than the second
    std::int32_t parent;
    Need decided;
    bool goes_up;
    Need next;
    std::vector<std::int32_t> candidates;
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
  void list_candidates();
  void list_rungs();
  void begin_choices();
  void expand(std::int32_t number);
  void open(Choice choice);
  void recall(std::int32_t number);
  void assess(Choice& choice, std::span<const std::int32_t> from);
  bool collect(const Choice& choice, std::span<const std::int32_t> from);
  void divide();
  double raise(double base);
  double choose(const std::vector<double>& values);
  void close_up(double cost);
  void keep(Choice& choice, double base);
  void decide_next(Choice& choice);
  bool good(double bound) const { return bound >= found_ - effort_.tolerance; }
  std::int32_t others(std::int32_t record) const { return copies_[at(record)] - (record == asking_ ? 1 : 0); }

  const BoxTree& tree_;
  const std::vector<Attribute>& attributes_;
  std::span<const std::int32_t> copies_;
  std::span<const double> prices_;
  std::size_t k_;
  PricedEffort effort_;
  Ladders ladders_;

  std::int32_t asking_ = -1;
  double least_ = 0.0, found_ = 0.0;
  double left_out_ = 0.0;                              // no crowd that was left out costs less
  std::vector<std::vector<double>> reaches_;           // of each attribute, what each code costs
  std::vector<std::pair<double, std::int32_t>> near_;  // distance and record, ascending
  std::vector<double> ahead_;                          // see list_candidates
  std::vector<Candidate> candidates_;                  // in that order
  std::vector<Need> needs_;
  std::vector<Stage> stages_;        // of all candidates, one after the other
  std::vector<std::size_t> starts_;  // of the stages of each candidate
  std::vector<double> edges_;        // the upper ends of the rungs, ladder by ladder
  std::vector<std::size_t> firsts_;  // of each ladder in these
  std::vector<double> heights_, limits_, closed_;
  Highest highest_;
  std::vector<Choice> choices_;
  std::vector<std::pair<double, std::int32_t>> open_;

  // Of the choice that is assessed.
  std::vector<std::int32_t> alive_;  // candidates that are still possible, numbered below by their place here
  std::vector<double> values_, best_values_, own_copies_, costs_, times_, charged_;
  std::vector<std::pair<std::int32_t, std::int32_t>> uses_;   // rung and candidate
  std::vector<std::pair<std::size_t, std::int32_t>> chosen_;  // candidate and copies
  std::vector<std::size_t> order_;
  std::vector<std::pair<Stage, double>> asked_;  // what the chosen need, and pay
  double threshold_ = 0.0;                       // the lowest value of those that were chosen
  Charges charges_;
};

// Searches for some records, on all cores.
PricedCrowds priced_crowds(const BoxTree& tree, const std::vector<Attribute>& attributes,
                           std::span<const std::int32_t> copies, std::span<const double> prices,
                           std::span<const std::int32_t> records, std::int64_t k, PricedEffort effort);

}  // namespace shoal
