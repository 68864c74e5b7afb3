// The cost for a row to grow around a record, and the cheapest such record or row, by either of two
// measures.
//
// Example: four records have the codes a, a, b, c of a set. By spans, a box {a, b} costs (2 - 1) / (3 - 1)
// = 0.5. By entropy it costs 0.918 bits: a value in {a, b} is `a` with probability 2/3.
//
// By spans (GCP, LM) a larger box never costs less, and the tree skips what is too far. The entropy of the
// values in a box (EM) may fall when the box grows. The lowest entropy it can reach is known for each
// value, so a box need not try all records; a record that searches for boxes does.
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

// The mean over attributes of the entropy of a value that is known to lie in a box, in bits.
class Entropy {
 public:
  // For each attribute: how often each code occurs; of a tree, the entropy below the lowest common ancestor
  // of each code and the next.
  Entropy(const BoxTree& tree, const std::vector<Attribute>& attributes,
          const std::vector<std::vector<double>>& tables);

  // Must be called for a box that has changed; thread-safe for different boxes.
  void renew(std::int32_t box);

  double cost(std::int32_t box) const;
  // The change when the box takes in a record; may be negative.
  double extra(std::int32_t box, const std::int32_t* record) const;

  // The cost for a box to take in codes, by attribute; for trees it is computed on demand.
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

  // Like the searches of the tree; by entropy, not all covered records need be counted if another one costs
  // nothing. Searches for records are thread-safe; a search for boxes uses all cores if it has to try all
  // of them.
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
