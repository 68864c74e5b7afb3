// What it costs a row to grow around a record, and which is cheapest, by either of two measures.
//
// By spans (GCP, LM) a larger box never costs less, and the tree leaves out what is too far. The entropy of
// the values in a box (EM) may fall when the box grows. What it falls to at most is known for each value, so
// that a box need not look at all records; a record that asks for boxes does.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// The mean over attributes of the entropy of a value of which it is known that it lies in a box, in bits.
class Entropy {
 public:
  // For each attribute: how often each code occurs; of a tree, the entropy below the lowest common ancestor
  // of each code and the next.
  Entropy(const BoxTree& tree, const std::vector<Attribute>& attributes,
          const std::vector<std::vector<double>>& tables);

  // Has to be called for a box that has changed; many may be renewed at the same time.
  void renew(std::int32_t box);

  double cost(std::int32_t box) const;
  // By how much it changes when the box takes in a record; may be negative.
  double extra(std::int32_t box, const std::int32_t* record) const;

  // What it would cost a box to take in codes, by attribute; of trees, that is found when it is asked for.
  struct Offers {
    std::int32_t box;
    std::vector<std::vector<double>> extra;         // by code
    std::vector<std::vector<double>> below, above;  // ranges: the least up to each code, and from it on
    std::vector<std::array<double, 64>> of_bit;     // sets: the least of the codes that share a bit
    std::vector<double> least_after;                // of what all attributes behind one can add
  };
  void offer(std::int32_t box, Offers& offers) const;
  // The sum for a record, or more than `enough` if it is above that.
  double extra(const Offers& offers, const std::int32_t* record, double enough) const;
  // No record within these cells has a lower one.
  double least_extra(const Offers& offers, const Cell* cells) const;

 private:
  double between(std::size_t a, std::int32_t low, std::int32_t high) const;
  double with(std::int32_t box, std::size_t a, std::int32_t code) const;
  double least_around(std::size_t a, std::int32_t low, std::int32_t high) const;

  const BoxTree& tree_;
  const std::vector<Attribute>& attributes_;
  std::vector<std::vector<CountSums>> counts_;  // sets: of each code
  std::vector<std::vector<CountSums>> before_;  // ranges: over all codes before each
  std::vector<std::vector<double>> by_rank_;    // trees: the entropy of each pair of neighbours, by its rank
  std::vector<std::vector<double>> least_;      // trees: the least of that and of all ancestors'
  std::vector<StretchMaximum> ranks_;           // trees: the pair whose common ancestor is highest
  std::vector<CountSums> sums_;                 // per box and attribute; of sets
  std::vector<double> now_;                     // per box and attribute
};

class Prices {
 public:
  // Without tables, prices are the tree's; see Entropy.
  Prices(const BoxTree& tree, const std::vector<Attribute>& attributes,
         const std::vector<std::vector<double>>& tables);

  struct Search {
    BoxTree::Search tree;
    Entropy::Offers offers;
  };

  void renew(std::int32_t box) {
    if (entropy_) entropy_->renew(box);
  }
  double cost(std::int32_t box) const { return entropy_ ? entropy_->cost(box) : tree_.cost(box); }
  double extra(std::int32_t box, std::int32_t record) const {
    return entropy_ ? entropy_->extra(box, tree_.codes(record)) : tree_.extra_cost(box, tree_.codes(record));
  }

  // As those of the tree; by entropy, records that are covered need not all be counted if another costs
  // nothing, either. Many may ask for records at the same time; a search for boxes uses all cores if
  // it has to look at all of them.
  Outside nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const;
  std::vector<NearRecord> nearest_records(std::int32_t box, std::size_t count, Search& search) const;
  std::vector<NearBox> nearest_boxes(std::int32_t record, std::size_t count,
                                     const std::function<bool(std::int32_t)>& accept, Search& search) const;
  Nearest nearest_partner(std::int32_t record, bool mutual, const std::function<bool(std::int32_t)>& accept,
                          Search& search) const;

 private:
  template <typename Price>
  std::vector<NearBox> scan(std::size_t count, const std::function<bool(std::int32_t)>& accept,
                            const Price& price) const;

  const BoxTree& tree_;
  std::optional<Entropy> entropy_;
};

}  // namespace shoal
