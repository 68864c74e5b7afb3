// The box tree finds the box that takes in a record at the least extra cost, the records nearest to a box,
// and which records lie in which boxes, without looking at most of them.
//
// A binary tree over the records, cut where they differ most, and never within one value. Every record has
// a box that starts as the record itself and grows. A node keeps, for each attribute, the union of the
// boxes below it. The cost of reaching the union is a lower bound for each of them, so a search that visits
// the nearer child first skips most of the tree. A node also keeps the union of the records below it, for
// the same questions in the other direction.
//
// Example: four records with one attribute, `age` (range), and room for two members in each box:
//   codes = 20, 21, 40, 43; position = code / 100
//   BoxTree tree(codes, 4, attributes, 2);     // box i is record i: 20..20, 21..21, 40..40, 43..43
//   tree.nearest_box(0, search);               // box 1, at 0.01: 20..21 instead of 21..21
//   tree.add_member(1, 0);                     // box 1 is now 20..21
//   tree.refresh();                            // the unions of the nodes are up to date
//   tree.records_in(1, search);                // records 0 and 1
// (Here the tree has one leaf; in general, records and boxes are numbered by their place in the tree.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/cell.hpp"
#include "base/numbers.hpp"
#include "base/space.hpp"
#include "trees/nodes.hpp"

namespace shoal {

struct Nearest {
  std::int32_t box = -1;  // none
  double cost = kUnlimited;
};

struct NearBox {
  double cost;
  std::int32_t box;
  auto operator<=>(const NearBox&) const = default;
};

struct NearRecord {
  double cost;
  std::int32_t record;
  auto operator<=>(const NearRecord&) const = default;
};

// Keeps the cheapest few of the boxes or records that are offered one by one.
template <typename Near>
class CheapestFew {
 public:
  explicit CheapestFew(std::size_t count) : count_(count) {}

  // Anything that costs as much or more need not be added.
  double most() const {
    if (count_ == 0) return -kUnlimited;
    return heap_.size() < count_ ? kUnlimited : heap_.front().cost;
  }
  void add(Near near) {
    if (heap_.size() == count_) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(near);
    std::push_heap(heap_.begin(), heap_.end());
  }
  std::vector<Near> in_order() && {
    std::sort_heap(heap_.begin(), heap_.end());
    return std::move(heap_);
  }

 private:
  std::size_t count_;
  std::vector<Near> heap_;  // the most expensive first
};

// The number of records in a box, and the record nearest to it.
struct Outside {
  std::int64_t covered = 0;
  NearRecord nearest{kUnlimited, -1};  // of the records that are not covered
};

// Boxes and records are numbered by their place in the tree: neighbours in the tree are neighbours in memory.
class BoxTree {
 public:
  using Node = TreeNode;

  // `codes` is row-major, rows x attributes. Each box has room for `room` members and starts with its record.
  // `owners`, if not empty, says whose record each is: a box that has a record has all of its owner's, so it
  // never finds another of them.
  BoxTree(std::span<const std::int32_t> codes, std::int32_t rows, const std::vector<Attribute>& attributes,
          std::int32_t room, std::span<const std::int32_t> owners = {});

  // Gives every box other members: `members` is row-major, boxes x their number.
  void set_members(std::span<const std::int32_t> members);

  std::int32_t rows() const { return rows_; }
  std::size_t attributes() const { return attributes_.size(); }
  const std::vector<std::int32_t>& order() const { return order_; }  // the record at each place
  const std::vector<Node>& nodes() const { return nodes_; }          // from the root down
  std::int32_t leaf_of(std::int32_t place) const { return leaf_of_[at(place)]; }
  const std::int32_t* codes(std::int32_t place) const {
    return codes_.data() + at(place) * attributes_.size();
  }
  std::span<const std::int32_t> members(std::int32_t box) const {
    return {members_.data() + at(box) * room_, at(counts_[at(box)])};
  }
  std::vector<std::int32_t> all_members() const;  // of box 0, then of box 1, ...
  bool has_owners() const { return !owner_of_.empty(); }
  // The owner of a record; if every record has its own, its number.
  std::int32_t owner(std::int32_t record) const { return owner_of_.empty() ? record : owner_of_[at(record)]; }
  const Attribute& attribute(std::size_t a) const { return attributes_[a]; }
  // Whether a box has a record, or another one of the same owner.
  bool has_member(std::int32_t box, std::int32_t record) const;

  // The extra cost for the box to take in the record.
  double extra_cost(std::int32_t box, const std::int32_t* record) const {
    return extra_cost(box, record, kUnlimited);
  }

  void add_member(std::int32_t box, std::int32_t record);
  // Updates the unions after boxes grew.
  void refresh();
  // Lets a box grow around a record beyond its room, and updates the unions above it. The record becomes a
  // member only where that is needed to know what the box covers.
  void grow(std::int32_t box, std::int32_t record);
  // The same without updating the unions; as long as there is room, several threads may stretch boxes at
  // the same time.
  void stretch(std::int32_t box, std::int32_t record);
  // Makes a box the smallest one around these records, without updating the unions.
  void reshape(std::int32_t box, std::span<const std::int32_t> records);
  // Updates the unions above a box.
  void refresh_above(std::int32_t box);

  const Cell* cells(std::int32_t box) const { return boxes_.data() + at(box) * attributes_.size(); }
  // The codes of a box in an attribute that is generalized to sets, ascending.
  std::vector<std::int32_t> codes_of_set(std::int32_t box, std::size_t attribute) const;
  bool has_code(std::int32_t box, std::size_t attribute, std::int32_t code) const;
  double cost(std::int32_t box) const;

  // A box or a record is found only at an extra cost below its limit; at first there is no limit.
  double box_limit(std::int32_t box) const { return box_limits_.each[at(box)]; }
  void set_box_limit(std::int32_t box, double limit);
  void set_box_limits(std::span<const double> limits);
  double record_limit(std::int32_t record) const { return record_limits_.each[at(record)]; }
  void set_record_limit(std::int32_t record, double limit);
  void set_record_limits(std::span<const double> limits);

  // The memory of a search; every thread has its own and may reuse it.
  struct Search {
    std::vector<WaitingNode<double>> stack;
    std::int64_t visited = 0;  // nodes
  };

  // The union of the records below a node.
  const Cell* records_below(std::int32_t node) const {
    return record_unions_.data() + at(node) * attributes_.size();
  }
  // Visits places in the tree, nearer half first, while reach(node, most), a lower bound for all places
  // below the node, is less than most = enough(node); see nodes.hpp.
  template <typename Reach, typename Enough, typename Look>
  void visit_nearer_first(Search& search, std::int32_t home, const Reach& reach, const Enough& enough,
                          const Look& look) const;

  // The box with the least extra cost for a record, among those that do not have it yet. Thread-safe.
  Nearest nearest_box(std::int32_t record, Search& search) const;

  // The boxes with the least extra cost for a record, `count` of them if `accept` takes as many, nearest
  // first.
  std::vector<NearBox> nearest_boxes(std::int32_t record, std::size_t count,
                                     const std::function<bool(std::int32_t)>& accept, Search& search) const;

  // The `count` records with the least extra cost for a box, or all if there are fewer, nearest first; its
  // members do not count. Among equal costs, some around the place `home`: so boxes around equal records
  // find different ones if each asks from its own place.
  std::vector<NearRecord> nearest_records(std::int32_t box, std::size_t count, Search& search,
                                          std::int32_t home = 0) const;

  // The number of records that a box covers, and the cheapest of the others; the search ends once `enough`
  // covered records are found.
  Outside nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const;

  // The box that a record and its own box can be united with at the least extra cost: that of the other box
  // to take in the record and, if it is mutual, that of its own box to take in the other record. None if
  // `accept` accepts none.
  Nearest nearest_partner(std::int32_t record, bool mutual, const std::function<bool(std::int32_t)>& accept,
                          Search& search) const;

  // Whether a box covers a record as it is. In a tree, a box covers every leaf that does not make it more
  // expensive.
  bool covers(std::int32_t box, const std::int32_t* record) const;

  // All records that a box covers, and all boxes that cover a record, in ascending order.
  std::vector<std::int32_t> records_in(std::int32_t box, Search& search) const;
  // The first of equal records, which stand together.
  std::int32_t first_of(std::int32_t record) const { return first_of_[at(record)]; }
  // Of the records that a box covers, the first ones of equal ones, in ascending order.
  std::vector<std::int32_t> types_in(std::int32_t box, Search& search) const;
  // Whether at least `times` boxes cover a record.
  bool is_covered(std::int32_t record, std::int64_t times, Search& search) const;
  // The records that a box does not cover, but would cover after it grew around a record: the first ones of
  // equal ones, in ascending order. What lies inside the box already is skipped as a whole.
  std::vector<std::int32_t> types_added(std::int32_t box, std::int32_t record, Search& search) const;
  std::vector<std::int32_t> boxes_around(std::int32_t record, Search& search) const;

  // Deleted records and boxes are never found again, and searches skip nodes without any left. A deleted
  // record stays in the boxes that have it. No search may run at the same time.
  void delete_record(std::int32_t record);
  void delete_box(std::int32_t box);

 private:
  void build();
  std::int32_t divide(const Node& node, std::size_t a);
  std::size_t attribute_to_cut(const Node& node) const;
  std::int32_t divide_categories(const Node& node, std::size_t a);
  std::int32_t divide_in_order(const Node& node, std::size_t a);
  void rearrange(const Node& node, const std::vector<std::int32_t>& places);
  std::int32_t code(std::int32_t place, std::size_t a) const { return codes(place)[a]; }
  double reach(std::int32_t node, const std::int32_t* record, double enough) const;
  double reach_records(std::int32_t node, std::int32_t box, double enough) const;
  bool may_cover(const Cell* cells, const std::int32_t* record) const;
  bool may_lie_below(std::int32_t node, const Cell* cells) const;
  bool covers_below(const Cell* cells, std::int32_t node) const;
  template <typename Enter, typename Look>
  void visit(Search& search, const std::vector<std::int32_t>& left, const Enter& enter,
             const Look& look) const;
  template <typename Enter, typename Look>
  void visit_until(Search& search, const std::vector<std::int32_t>& left, const Enter& enter,
                   const Look& look) const;
  double extra_cost(std::int32_t box, const std::int32_t* record, double enough) const;
  void unite_below(std::int32_t node);

  struct Limits {
    std::vector<double> each, below;  // of each box or record, and the highest below each node
  };
  double limit_below(const Limits& limits, std::int32_t node) const;
  void set_limit(Limits& limits, std::int32_t place, double limit);
  void set_limits(Limits& limits, std::span<const double> each, const std::vector<std::uint8_t>& deleted);

  std::int32_t rows_;
  const std::vector<Attribute>& attributes_;
  std::vector<double> set_steps_;  // per attribute: what a set costs more with one more code
  std::size_t room_;
  std::vector<std::int32_t> order_, codes_, members_, counts_, leaf_of_;
  std::vector<std::int32_t> owner_of_;  // per place; empty if every record has its own
  std::vector<std::int32_t> first_of_;  // per place
  std::vector<Node> nodes_;
  std::vector<Cell> boxes_, unions_, record_unions_;
  Limits box_limits_, record_limits_;
  std::vector<std::uint8_t> record_deleted_, box_deleted_;
  std::vector<std::int32_t> records_left_, boxes_left_;  // below each node
};

template <typename Reach, typename Enough, typename Look>
void BoxTree::visit_nearer_first(Search& search, std::int32_t home, const Reach& reach, const Enough& enough,
                                 const Look& look) const {
  search.visited += shoal::visit_nearer_first(
      nodes_, search.stack, home, [&](std::int32_t node) { return reach(node, enough(node)); },
      [&](std::int32_t node, double bound) { return bound >= enough(node); },
      [&](std::int32_t leaf, double) {
        for (std::int32_t place = nodes_[at(leaf)].begin; place < nodes_[at(leaf)].end; ++place) look(place);
      });
}

}  // namespace shoal
