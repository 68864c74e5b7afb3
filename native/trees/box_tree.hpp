// The box tree: which box takes in a record at the least extra cost, which records are nearest to a box, and
// which lie in which, found without looking at most of them.
//
// A binary tree over the records, cut where they differ most, and never through the middle of one value.
// Every record has a box that starts as the record itself and grows around it. A node keeps, for each
// attribute, the union of the boxes below it: what it costs to reach the union is a lower bound for each of
// them, so a search that goes to the nearer child first can leave out most of the tree. It keeps the union of
// the records below it, too, for the same questions the other way round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/space.hpp"

namespace shoal {

// What a box spans in one attribute, in eight bytes:
// - range, tree: the lowest and the highest code;
// - set: one bit for each code modulo 64. Where an attribute has more codes than that, a bit says only
//   "perhaps", and whoever needs to know looks at the members of the box.
class Cell {
 public:
  Cell() = default;
  Cell(const Attribute& attribute, std::int32_t code)
      : bits_(attribute.kind == Kind::set ? bit(code) : between(code, code)) {}

  std::int32_t low() const { return static_cast<std::int32_t>(bits_ & 0xffffffffU); }
  std::int32_t high() const { return static_cast<std::int32_t>(bits_ >> 32); }
  bool may_have(std::int32_t code) const { return (bits_ & bit(code)) != 0; }
  bool may_share(Cell other) const { return (bits_ & other.bits_) != 0; }
  std::uint64_t bits() const { return bits_; }

  // Grows to the smallest cell around both. An interval of numbers and the missing value is everything.
  void unite(const Attribute& attribute, Cell other) {
    if (attribute.kind == Kind::set) {
      bits_ |= other.bits_;
      return;
    }
    const std::int32_t high = std::max(this->high(), other.high());
    const std::int32_t low = std::min(this->low(), other.low());
    bits_ = between(attribute.is_missing(high) && low < high ? 0 : low, high);
  }

 private:
  static std::uint64_t bit(std::int32_t code) {
    return std::uint64_t{1} << (static_cast<std::uint32_t>(code) & 63U);
  }
  static std::uint64_t between(std::int32_t low, std::int32_t high) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32;
  }
  std::uint64_t bits_ = 0;
};

struct Nearest {
  std::int32_t box = -1;  // none
  double cost = std::numeric_limits<double>::infinity();
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

// The cheapest few of what is found one by one, of boxes or of records.
template <typename Near>
class CheapestFew {
 public:
  explicit CheapestFew(std::size_t count) : count_(count) {}

  // What costs as much or more need not be added.
  double most() const {
    if (count_ == 0) return -std::numeric_limits<double>::infinity();
    return heap_.size() < count_ ? std::numeric_limits<double>::infinity() : heap_.front().cost;
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
  std::vector<Near> heap_;  // the dearest first
};

// What lies in a box, and what is nearest to it.
struct Outside {
  std::int64_t covered = 0;
  NearRecord nearest{std::numeric_limits<double>::infinity(), -1};  // of those that are not covered
};

// Boxes and records are numbered by their place in the tree: neighbours in the tree are neighbours in memory.
class BoxTree {
 public:
  struct Node {
    std::int32_t begin, end;  // of the places below it
    std::int32_t left = -1;   // its children are left and left + 1; none for a leaf
    std::int32_t parent = -1;
    bool equal = false;  // whether it has equal records, and is cut in half: who wants some need not see all
  };

  // `codes` is row-major, rows x attributes. Each box has room for `room` members and starts with its record.
  BoxTree(std::span<const std::int32_t> codes, std::int32_t rows, const std::vector<Attribute>& attributes,
          std::int32_t room);

  // Gives every box other members: `members` is row-major, boxes x their number.
  void set_members(std::span<const std::int32_t> members);

  std::int32_t rows() const { return rows_; }
  std::size_t attributes() const { return attributes_.size(); }
  const std::vector<std::int32_t>& order() const { return order_; }  // the record at each place
  const std::vector<Node>& nodes() const { return nodes_; }          // from the root down
  const std::int32_t* codes(std::int32_t place) const {
    return codes_.data() + static_cast<std::size_t>(place) * attributes_.size();
  }
  std::span<const std::int32_t> members(std::int32_t box) const {
    return {members_.data() + static_cast<std::size_t>(box) * room_,
            static_cast<std::size_t>(counts_[static_cast<std::size_t>(box)])};
  }
  std::vector<std::int32_t> all_members() const;  // of box 0, then of box 1, ...
  bool has_member(std::int32_t box, std::int32_t record) const;

  // What it costs the box, in addition, to take in the record.
  double extra_cost(std::int32_t box, const std::int32_t* record) const {
    return extra_cost(box, record, std::numeric_limits<double>::infinity());
  }

  void add_member(std::int32_t box, std::int32_t record);
  // Renews the unions after boxes grew.
  void refresh();
  // Lets a box grow around a record beyond its room, and renews the unions above it. The record becomes a
  // member only where that is needed to know what the box covers.
  void grow(std::int32_t box, std::int32_t record);
  // The same without renewing the unions; as long as there is room, many boxes may stretch at the same time.
  void stretch(std::int32_t box, std::int32_t record);
  // Makes a box the smallest one around these records, without renewing the unions.
  void reshape(std::int32_t box, std::span<const std::int32_t> records);
  // Renews the unions above a box.
  void refresh_above(std::int32_t box);

  const Cell* cells(std::int32_t box) const {
    return boxes_.data() + static_cast<std::size_t>(box) * attributes_.size();
  }
  // The codes of a box in an attribute that is generalized to sets, ascending.
  std::vector<std::int32_t> codes_of_set(std::int32_t box, std::size_t attribute) const;
  bool has_code(std::int32_t box, std::size_t attribute, std::int32_t code) const;
  double cost(std::int32_t box) const;

  // A box, or a record, is found only at an extra cost below its limit; there is none at first.
  double box_limit(std::int32_t box) const { return box_limits_.each[static_cast<std::size_t>(box)]; }
  void set_box_limit(std::int32_t box, double limit);
  void set_box_limits(std::span<const double> limits);
  double record_limit(std::int32_t record) const {
    return record_limits_.each[static_cast<std::size_t>(record)];
  }
  void set_record_limit(std::int32_t record, double limit);
  void set_record_limits(std::span<const double> limits);

  // What a search needs; every thread has its own, and may use it again.
  struct Search {
    struct Waiting {
      std::int32_t node;
      double bound;
    };
    std::vector<Waiting> stack;
    std::int64_t visited = 0;  // nodes
  };

  // What the records below a node span.
  const Cell* records_below(std::int32_t node) const {
    return record_unions_.data() + static_cast<std::size_t>(node) * attributes_.size();
  }
  // Looks at places in the tree, the nearer half first, as long as reach(node, most), which no place below
  // the node is nearer than, is less than most = enough(node). Of two halves of equal records that are as
  // near, the one on the side of the place `home` is first: so those who ask from different places do not all
  // find the same ones.
  template <typename Reach, typename Enough, typename Look>
  void visit_nearer_first(Search& search, std::int32_t home, const Reach& reach, const Enough& enough,
                          const Look& look) const;

  // The box with the least extra cost for a record, among those that do not have it yet. Many may ask at the
  // same time.
  Nearest nearest_box(std::int32_t record, Search& search) const;

  // The boxes with the least extra cost for a record, `count` of them if `accept` takes as many, nearest
  // first.
  std::vector<NearBox> nearest_boxes(std::int32_t record, std::size_t count,
                                     const std::function<bool(std::int32_t)>& accept, Search& search) const;

  // The records that cost a box least in addition, `count` of them if there are as many, nearest first; its
  // members do not count. Of those that cost the same, some around the place `home`: boxes around equal
  // records do not all find the same ones if each asks from its own place.
  std::vector<NearRecord> nearest_records(std::int32_t box, std::size_t count, Search& search,
                                          std::int32_t home = 0) const;

  // How many records a box covers, and which of the others costs it least; once `enough` are found to be
  // covered, the search ends.
  Outside nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const;

  // The box that a record and its own box can be united with at the least extra cost: that of the other box
  // to take in the record, and, if it is mutual, that of its own box to take in the other record. None if
  // `accept` takes none.
  Nearest nearest_partner(std::int32_t record, bool mutual, const std::function<bool(std::int32_t)>& accept,
                          Search& search) const;

  // Whether a box covers a record as it is. In a tree, that is every leaf that does not make it dearer.
  bool covers(std::int32_t box, const std::int32_t* record) const;

  // All records that a box covers, and all boxes that cover a record, in ascending order.
  std::vector<std::int32_t> records_in(std::int32_t box, Search& search) const;
  // Those that a box would cover after it grew around a record.
  std::vector<std::int32_t> records_in_grown(std::int32_t box, std::int32_t record, Search& search) const;
  std::vector<std::int32_t> boxes_around(std::int32_t record, Search& search) const;

  // What is deleted is never found again, and where nothing is left no search goes. A deleted record stays in
  // the boxes that have it. Nobody may ask at the same time.
  void delete_record(std::int32_t record);
  void delete_box(std::int32_t box);

 private:
  void build();
  std::int32_t divide(const Node& node, std::size_t a);
  std::size_t attribute_to_cut(const Node& node) const;
  std::int32_t divide_categories(const Node& node, std::size_t a);
  std::int32_t divide_in_order(const Node& node, std::size_t a);
  std::int32_t original(std::int32_t place, std::size_t a) const {  // while the tree is being built
    return original_[static_cast<std::size_t>(order_[static_cast<std::size_t>(place)]) * attributes_.size() +
                     a];
  }
  double reach(std::int32_t node, const std::int32_t* record, double enough) const;
  double reach_records(std::int32_t node, std::int32_t box, double enough) const;
  bool may_cover(const Cell* cells, const std::int32_t* record) const;
  bool may_lie_below(std::int32_t node, const Cell* cells) const;
  template <typename Enter, typename Look>
  void visit(Search& search, const std::vector<std::int32_t>& left, const Enter& enter,
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
  std::span<const std::int32_t> original_;
  std::size_t room_;
  std::vector<std::int32_t> order_, codes_, members_, counts_, leaf_of_;
  std::vector<Node> nodes_;
  std::vector<Cell> boxes_, unions_, record_unions_;
  Limits box_limits_, record_limits_;
  std::vector<std::uint8_t> record_deleted_, box_deleted_;
  std::vector<std::int32_t> records_left_, boxes_left_;  // below each node
};

template <typename Reach, typename Enough, typename Look>
void BoxTree::visit_nearer_first(Search& search, std::int32_t home, const Reach& reach, const Enough& enough,
                                 const Look& look) const {
  const auto at_cost = [&](std::int32_t node) { return Search::Waiting{node, reach(node, enough(node))}; };
  auto& stack = search.stack;
  stack.assign(1, at_cost(0));
  while (!stack.empty()) {
    const auto [index, bound] = stack.back();
    stack.pop_back();
    if (bound >= enough(index)) continue;
    ++search.visited;
    const Node& node = nodes_[static_cast<std::size_t>(index)];
    if (node.left < 0) {
      for (std::int32_t place = node.begin; place < node.end; ++place) look(place);
      continue;
    }
    Search::Waiting near = at_cost(node.left), far = at_cost(node.left + 1);
    const bool at_right = node.equal && home >= nodes_[static_cast<std::size_t>(far.node)].begin;
    if (far.bound < near.bound || (far.bound == near.bound && at_right)) std::swap(near, far);
    if (far.bound < enough(far.node)) stack.push_back(far);
    if (near.bound < enough(near.node)) stack.push_back(near);
  }
}

}  // namespace shoal
