// A tree over boxes that can be removed: which of the remaining boxes meet a given box?
//
// A record is a box of one point, so the same tree answers "which records lie in this box" and "which boxes
// contain this record". A node keeps the union of the boxes below it, and which marks they have: a search
// visits only nodes where it may find something.
//
// Example: three boxes on one range, 1..3, 2..5 and 7..9, and a search for all that meet 3..4:
//   tree.search(wanted, 1, visit);  // visits the first and the second box
//   tree.remove(place of 2..5);     // removes its marks
//   tree.search(wanted, 1, visit);  // visits only the first; a leaf without marks is not entered again
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cell.hpp"
#include "base/numbers.hpp"
#include "trees/nodes.hpp"

namespace shoal {

// The searches in one column: the share of them whose interval ends below or begins above each code, or
// whose set has each bin. A tree is cut where most searches can skip one side.
struct SearchProfile {
  std::vector<float> below, above;
  std::vector<float> with_bin;

  bool intervals() const { return with_bin.empty(); }
  float share_meeting(Cell extent) const;
};

constexpr std::uint64_t kThere =
    1;  // the one mark of a search that knows only what is there and what is removed

class LiveTree {
 public:
  using Node = TreeNode;

  // `extents` is row-major, boxes x columns; intervals come before sets. The boxes are numbered anew by their
  // place in the tree: neighbours in the tree are neighbours in memory.
  LiveTree(std::span<const Cell> extents, std::size_t boxes, const std::vector<SearchProfile>& columns);

  std::int32_t size() const { return static_cast<std::int32_t>(order_.size()); }
  const std::vector<std::int32_t>& order() const { return order_; }  // the box at each place
  std::int32_t place_of(std::int32_t box) const { return places_[at(box)]; }
  const Cell* extents(std::int32_t place) const { return extents_.data() + at(place) * columns_; }

  // Each box has marks, and a search says which marks it looks for. A box without marks is removed.
  std::uint64_t marks(std::int32_t place) const { return marks_[at(place)]; }
  void mark(std::int32_t place, std::uint64_t marks);
  void mark_all(std::uint64_t marks);
  void mark_each(std::span<const std::uint64_t> marks);
  void remove(std::int32_t place) { mark(place, 0); }

  bool meet(const Cell* x, const Cell* y) const {
    bool all = true;
    for (std::size_t a = 0; a < intervals_; ++a) {
      all &= x[a].low() <= y[a].high();
      all &= y[a].low() <= x[a].high();
    }
    for (std::size_t a = intervals_; a < columns_; ++a) all &= (x[a].bits() & y[a].bits()) != 0;
    return all;
  }

  // Whether all of x lies in y.
  bool within(const Cell* x, const Cell* y) const {
    bool all = true;
    for (std::size_t a = 0; a < intervals_; ++a) {
      all &= y[a].low() <= x[a].low();
      all &= x[a].high() <= y[a].high();
    }
    for (std::size_t a = intervals_; a < columns_; ++a) all &= (x[a].bits() & ~y[a].bits()) == 0;
    return all;
  }

  // The root is node 0. A node's union may be wider than what is below it.
  const Node& node(std::int32_t index) const { return nodes_[at(index)]; }
  const Cell* whole(std::int32_t index) const { return unions_.data() + at(index) * columns_; }

  // Calls visit(place) for each box with one of the marks that meets the wanted one, until it returns true.
  // It may change the marks of the box it is called for.
  template <typename Visit>
  void search(const Cell* wanted, std::uint64_t marks, const Visit& visit) {
    ++searches_;
    waiting_.assign(1, 0);
    while (!waiting_.empty()) {
      const auto index = at(waiting_.back());
      waiting_.pop_back();
      if ((node_marks_[index] & marks) == 0 || !meet(unions_.data() + index * columns_, wanted)) continue;
      ++visited_;
      const Node& node = nodes_[index];
      if (node.left >= 0) {
        waiting_.push_back(node.left + 1);
        waiting_.push_back(node.left);
        continue;
      }
      for (std::int32_t place = node.begin; place < node.end; ++place)
        if ((this->marks(place) & marks) != 0 && meet(extents(place), wanted) && visit(place)) return;
    }
  }

  // Calls visit(begin, end) for stretches of places, none empty, that together are all boxes that meet the
  // wanted one, whatever their marks. Boxes within `inner` surely do; of others, is_met(place) says so if
  // their extents meet. Many may search at the same time, each with its own list of nodes that wait.
  template <typename IsMet, typename Visit>
  void search_stretches(const Cell* wanted, const Cell* inner, std::vector<std::int32_t>& waiting,
                        const IsMet& is_met, const Visit& visit) const {
    waiting.assign(order_.empty() ? 0 : 1, 0);  // the root of an empty tree is no stretch
    while (!waiting.empty()) {
      const auto index = at(waiting.back());
      waiting.pop_back();
      const Cell* whole = unions_.data() + index * columns_;
      if (!meet(whole, wanted)) continue;
      const Node& node = nodes_[index];
      if (within(whole, inner)) {
        visit(node.begin, node.end);
      } else if (node.left >= 0) {
        waiting.push_back(node.left + 1);
        waiting.push_back(node.left);
      } else {
        for (std::int32_t place = node.begin; place < node.end; ++place)
          if (meet(extents(place), wanted) && is_met(place)) visit(place, place + 1);
      }
    }
  }

  std::int64_t searches() const { return searches_; }
  std::int64_t visited() const { return visited_; }  // nodes

 private:
  void build(std::span<const Cell> extents, const std::vector<SearchProfile>& columns);
  void unite_below(std::size_t node);
  std::uint64_t marks_below(std::size_t node) const;

  std::size_t columns_, intervals_;
  std::vector<std::int32_t> order_, places_, leaf_of_, waiting_;
  std::vector<Node> nodes_;
  std::vector<Cell> extents_, unions_;
  std::vector<std::uint64_t> marks_, node_marks_;
  std::int64_t searches_ = 0, visited_ = 0;
};

}  // namespace shoal
