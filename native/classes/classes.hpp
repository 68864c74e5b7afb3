// Classes of at least k records, and moves between them that lower their cost.
//
// Example: ages 20, 21, 40 | 22, 41, 42 in two classes of k = 3; each class costs 0.2 for each of its
// records.
//   Classes classes(codes, attributes, {0, 0, 0, 1, 1, 1}, 3);  // cost() is 6 x 0.2 = 1.2
//   classes.sweep();     // 40 and 22 change places
//   classes.class_of();  // 0, 0, 1, 0, 1, 1; cost() is 6 x 0.02 = 0.12
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"
#include "trees/union_tree.hpp"

namespace shoal {

class Classes {
 public:
  // `codes` is row-major, records x attributes; `class_of` numbers the classes 0, 1, 2, ... Near classes
  // should have near numbers, so that the search can skip most of them.
  // `owners`, if not empty, says whose record each is: a record never joins a class that has another record
  // of its owner, and a class with several records of one owner is not changed.
  Classes(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
          std::vector<std::int32_t> class_of, std::int32_t k, std::span<const std::int32_t> owners = {});

  // Goes once through all records. Each may move to another class, if its own has more than k, or change
  // places with a record there, whichever saves most. It tries the few classes that fit it best, if they
  // can take it in for no more than twice what its own saves. On all cores; returns the number of changes,
  // each of which lowered the cost.
  std::int64_t sweep();

  // Each record takes the place of the next one, in another class, and the last that of the first; `change`
  // is the change of the cost, computed before.
  void rotate(std::span<const std::int32_t> records, double change);

  // The change of the cost of a class if one record leaves and another joins; either may be null.
  double growth(std::int32_t number, const std::int32_t* out, const std::int32_t* in) const;

  // A hash of what a class shows if one record leaves and another joins, or neither; classes that show the
  // same have the same hash, others almost never.
  std::uint64_t shown(std::int32_t number, const std::int32_t* out = nullptr,
                      const std::int32_t* in = nullptr) const;

  const std::int32_t* codes(std::int32_t record) const {
    return codes_.data() + at(record) * attributes_.size();
  }
  const std::vector<std::int32_t>& members(std::int32_t number) const { return members_[at(number)]; }
  const UnionTree& tree() const { return tree_; }           // its places are the classes
  std::size_t width() const { return attributes_.size(); }  // of the codes of a record
  std::size_t count() const { return members_.size(); }     // of classes
  double cost() const { return cost_; }                     // of all classes, each times its size
  const std::vector<std::int32_t>& class_of() const { return class_of_; }

 private:
  // The different codes of one attribute in a class, ascending, and how many records have each.
  struct Tally {
    std::vector<std::int32_t> codes, counts;
  };
  struct Change {
    double change;
    std::int32_t to, partner;  // the other class; the record that comes from there, -1 for none
  };

  bool may_change(std::int32_t number) const;
  bool may_come(std::int32_t record, std::int32_t to, std::int32_t partner) const;
  Change best_change(std::int32_t record, UnionTree::Nearby& nearby) const;
  void move(std::int32_t record, std::int32_t to);
  void renew(std::int32_t number);

  std::span<const std::int32_t> codes_;
  const std::vector<Attribute>& attributes_;
  std::vector<std::int32_t> class_of_;
  std::size_t k_;
  std::span<const std::int32_t> owners_;
  std::vector<bool> fixed_;  // per class: whether an owner has several records there; empty without owners
  double cost_ = 0.0;
  std::vector<std::vector<std::int32_t>> members_;  // per class
  std::vector<Tally> tallies_;                      // per class and attribute
  std::vector<double> costs_;                       // per class, of one record
  UnionTree tree_;                                  // over the classes
  std::vector<std::int32_t> leaves_;                // per class, its node there
  std::vector<std::int64_t> changed_;               // per class, the last batch that changed it
  std::int64_t batch_ = 0;
  std::vector<const std::int32_t*> records_;
};

}  // namespace shoal
