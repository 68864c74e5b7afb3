// Clusters of records, each represented by its closure, and a tree over them: which is closest to which?
// Only baselines use it.
//
// The distance of two clusters: the cost of their closure minus the costs of both, divided by the logarithm
// of the number of their records (one of the distances of Gionis, Mazza and Tassa 2008). Distances that
// differ by less than a step count as equal, so that the order does not depend on rounding.
//
// Example: the clusters {20}, {22}, {60} of ages in 0..100. The closure of {20} and {22} costs 0.02 and each
// of them costs nothing, so they are 0.02 / log2(2) = 0.02 apart; {20} and {60} are 0.4 apart.
//   tree.nearest(place of 20, {}, search);  // the place of {22}, at 0.02 in steps
//   tree.put(place of 20, closure 20..22, 2, age); tree.take_away(place of 22);
//   tree.nearest(place of 60, {}, search);  // the place of 20..22, at (0.4 - 0.02) / log2(3)
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"
#include "baselines/closure_cost.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

struct Closure {
  std::vector<Cell> cells;                      // per attribute
  std::vector<std::vector<std::int32_t>> wide;  // per attribute with wide sets: its codes, ascending
  double cost = 0.0;
};

// All attributes together.
class ClosureCosts {
 public:
  // `counts` has an array for each attribute, or none at all; see ClosureCost. Attributes must outlive this.
  ClosureCosts(const std::vector<Attribute>& attributes, const std::vector<std::span<const double>>& counts);

  const std::vector<ClosureCost>& each() const { return each_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }

  Closure of_record(const std::int32_t* codes) const;
  void unite(Closure& closure, const Closure& other) const;
  // The cost of both together, or any number above `enough` if it exceeds that.
  double joint_cost(const Closure& a, const Closure& b, double enough) const;
  double joint_cost(const Closure& a, const Closure& b) const { return joint_cost(a, b, kUnlimited); }

 private:
  const std::vector<Attribute>& attributes_;
  std::vector<ClosureCost> each_;
};

std::int64_t in_steps(double distance);

class ClosureTree {
 public:
  // A cluster at each place, of one record; places are numbered as in a box tree over the records. `codes` is
  // row-major, records x attributes.
  ClosureTree(std::span<const std::int32_t> codes, std::int32_t records, const ClosureCosts& costs);

  std::int32_t places() const { return static_cast<std::int32_t>(closures_.size()); }
  std::int32_t record(std::int32_t place) const { return boxes_.order()[at(place)]; }
  const std::int32_t* codes(std::int32_t place) const { return boxes_.codes(place); }
  const Closure& closure(std::int32_t place) const { return closures_[at(place)]; }
  std::int32_t size(std::int32_t place) const { return sizes_[at(place)]; }
  std::int64_t age(std::int32_t place) const { return ages_[at(place)]; }

  // Puts a cluster of `size` records at a place; a place without records is never found. Of equally distant
  // clusters, the one with the lowest age is closest.
  void put(std::int32_t place, Closure closure, std::int32_t size, std::int64_t age);
  void take_away(std::int32_t place);
  // Like `put`, for all clusters at once; only their sizes change.
  void set_sizes(std::span<const std::int32_t> sizes);

  struct Nearest {
    std::int64_t distance = std::numeric_limits<std::int64_t>::max();  // in steps
    std::int64_t age = std::numeric_limits<std::int64_t>::max();
    std::int32_t place = -1;  // none
    auto operator<=>(const Nearest&) const = default;
  };
  struct Search {
    std::vector<WaitingNode<std::pair<std::int64_t, std::int64_t>>> stack;  // bounds: distance, age
    std::vector<double> own;  // what the one that asks costs in each attribute
    std::int64_t visited = 0;
  };

  // What is known of the clusters below a node when the cluster at a place is to be united with one of them.
  struct Below {
    double growth;   // the cost of both together is at least this much above the cost of the one that asks,
    double surplus;  // and at least this much above the cost of the other one
    std::int32_t least, most;  // sizes
    std::int64_t oldest;       // lowest age
  };

  // Visits the other clusters, the nearest nodes first: `reach` turns what is known into a bound that can be
  // compared; `is_hopeless` says whether a bound is too high; `look` gets the place of each cluster.
  template <class Reach, class IsHopeless, class Look>
  void visit(std::int32_t place, std::vector<WaitingNode<std::pair<std::int64_t, std::int64_t>>>& stack,
             const Reach& reach, const IsHopeless& is_hopeless, const Look& look) const {
    const std::vector<double> own = costs_of(closures_[at(place)]);
    const auto bound = [&](std::int32_t node) {
      return summaries_[at(node)].most > 0 ? reach(below(node, closures_[at(place)], own))
                                           : std::pair<std::int64_t, std::int64_t>{};
    };
    const auto skips = [&](std::int32_t node, const auto& reached) {
      return summaries_[at(node)].most == 0 || is_hopeless(reached);
    };
    const auto each = [&](std::int32_t leaf, const auto&) {
      const TreeNode& node = boxes_.nodes()[at(leaf)];
      for (std::int32_t other = node.begin; other < node.end; ++other)
        if (sizes_[at(other)] > 0 && other != place) look(other);
    };
    visit_nearer_first(boxes_.nodes(), stack, 0, bound, skips, each);
  }

  // The cluster closest to that at a place, among those of another group, if there are groups. Thread-safe.
  Nearest nearest(std::int32_t place, std::span<const std::int32_t> group, Search& search) const;

 private:
  struct Summary {             // of the clusters below a node
    std::int32_t least, most;  // sizes; most is 0 if there are none
    std::int64_t oldest;
    double dearest;        // cost of a cluster
    double dearest_loose;  // the same, in attributes that have no other bounds
  };

  Nearest distance_to(const Closure& asking, std::int32_t size, std::int32_t other,
                      const Nearest& best) const;
  double log_of(std::int64_t size) const;
  std::vector<double> costs_of(const Closure& closure) const;
  Below below(std::int32_t node, const Closure& asking, const std::vector<double>& own) const;
  std::int64_t bound(std::int32_t node, const Closure& asking, std::int32_t size,
                     const std::vector<double>& own) const;
  std::uint64_t mark(std::size_t attribute, Cell cell) const;
  void summarize(std::int32_t node);
  void summarize_above(std::int32_t place);

  const ClosureCosts& costs_;
  BoxTree boxes_;
  std::vector<Closure> closures_;
  std::vector<std::int32_t> sizes_;
  std::vector<std::int64_t> ages_;
  std::vector<double> loose_;
  std::vector<Cell> unions_;
  std::vector<std::uint64_t> marks_;  // per node and attribute: bits of closures of one code; see `mark`
  std::vector<Summary> summaries_;
};

}  // namespace shoal
