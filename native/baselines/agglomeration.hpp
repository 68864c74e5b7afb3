// The agglomerative algorithm (Gionis, Mazza and Tassa 2008), a baseline: the two closest clusters are
// merged repeatedly; a cluster of k records is a class.
//
// Example: the ages 20, 21, 40, 42 and k = 2. First {20} and {21} are merged, at 0.01, and are a class;
// then {40} and {42}.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "baselines/closure_tree.hpp"

namespace shoal {

class Agglomeration {
 public:
  // `codes` has a row for each distinct record, row-major, and `copies` the number of its copies. There are
  // at least k records. Of equally close pairs, the one with the lowest numbers is first.
  Agglomeration(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                const ClosureCosts& costs, std::int32_t k);

  // Merges up to this number of pairs; returns the number of records in classes, in the end all.
  std::int64_t advance(std::int64_t pairs);

  // The class of each copy of the first record, then of the second, ...; only once all are in classes.
  std::vector<std::int32_t> classes() const;

 private:
  struct Pair {
    std::int64_t distance, older, younger;  // ages
    std::int32_t asking, other;             // places
    std::int64_t asked;                     // age of the one that asks
    auto operator<=>(const Pair&) const = default;
  };
  using Members = std::vector<std::pair<std::int32_t, std::int32_t>>;  // place, copies; by record
  struct Class {
    Members members;
    Closure closure;
    std::int64_t size;
  };

  void ask(std::int32_t place);
  void push(std::int32_t place, const ClosureTree::Nearest& nearest);
  void unite(std::int32_t place, std::int32_t other);
  void settle(Members members, Closure closure, std::int64_t size);
  Closure closure_of(const Members& members) const;
  std::size_t farthest(const Members& members) const;
  void distribute(const Members& members);

  const ClosureCosts& costs_;
  std::span<const std::int32_t> copies_;
  std::int32_t k_;
  ClosureTree tree_;
  std::vector<Members> members_;  // per place
  std::vector<Class> classes_;
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> closest_;
  ClosureTree::Search search_;
  std::int64_t born_, settled_ = 0, clusters_ = 0;
};

}  // namespace shoal
