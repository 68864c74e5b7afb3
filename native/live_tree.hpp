// A tree over boxes that can be taken away: which of those still there meet a given box?
//
// A record is a box of one point, so the same tree answers "which records lie in this box" and "which boxes
// contain this record". A node keeps the union of the boxes below it, and which marks there are on them: a
// search goes only where it may find something.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// What a box spans in one column, in eight bytes: the lowest and the highest code of an interval, or one bit
// for each bin of codes in a set. Boxes that do not meet in some column have no point in common.
class Extent {
 public:
  Extent() = default;
  static Extent interval(std::int32_t low, std::int32_t high) {
    return Extent(static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) |
                  static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32);
  }
  static Extent set(std::uint64_t bins) { return Extent(bins); }

  std::int32_t low() const { return static_cast<std::int32_t>(bits_ & 0xffffffffU); }
  std::int32_t high() const { return static_cast<std::int32_t>(bits_ >> 32); }
  std::uint64_t bins() const { return bits_; }

 private:
  explicit Extent(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

// What is searched for in one column: the share of searches whose interval ends below or begins above each
// code, or whose set has each bin. A tree is cut where that spares most searches one side.
struct SearchProfile {
  std::vector<float> below, above;
  std::vector<float> with_bin;

  bool intervals() const { return with_bin.empty(); }
  float share_meeting(Extent extent) const;
};

class LiveTree {
 public:
  struct Node {
    std::int32_t begin, end;  // of the places below it
    std::int32_t left = -1;   // its children are left and left + 1; none for a leaf
    std::int32_t parent = -1;
  };

  // `extents` is row-major, boxes x columns; intervals come before sets. The boxes are numbered anew by their
  // place in the tree: neighbours in the tree are neighbours in memory.
  LiveTree(std::span<const Extent> extents, std::size_t boxes, const std::vector<SearchProfile>& columns);

  std::int32_t size() const { return static_cast<std::int32_t>(order_.size()); }
  const std::vector<std::int32_t>& order() const { return order_; }  // the box at each place
  std::int32_t place_of(std::int32_t box) const { return places_[static_cast<std::size_t>(box)]; }
  const Extent* extents(std::int32_t place) const {
    return extents_.data() + static_cast<std::size_t>(place) * columns_;
  }

  // Each box carries marks, and a search says which it looks for. A box without marks has been taken away.
  std::uint64_t marks(std::int32_t place) const { return marks_[static_cast<std::size_t>(place)]; }
  void mark(std::int32_t place, std::uint64_t marks);
  void mark_all(std::uint64_t marks);
  void mark_each(std::span<const std::uint64_t> marks);
  void remove(std::int32_t place) { mark(place, 0); }

  bool meet(const Extent* x, const Extent* y) const {
    bool all = true;
    for (std::size_t a = 0; a < intervals_; ++a)
      all &= (x[a].low() <= y[a].high()) & (y[a].low() <= x[a].high());
    for (std::size_t a = intervals_; a < columns_; ++a) all &= (x[a].bins() & y[a].bins()) != 0;
    return all;
  }

  // Whether all of x lies in y.
  bool within(const Extent* x, const Extent* y) const {
    bool all = true;
    for (std::size_t a = 0; a < intervals_; ++a)
      all &= (y[a].low() <= x[a].low()) & (x[a].high() <= y[a].high());
    for (std::size_t a = intervals_; a < columns_; ++a) all &= (x[a].bins() & ~y[a].bins()) == 0;
    return all;
  }

  // The root is node 0. A node's union may be wider than what is below it.
  const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  const Extent* whole(std::int32_t index) const {
    return unions_.data() + static_cast<std::size_t>(index) * columns_;
  }

  // Calls visit(place) for each box with one of the marks that meets the wanted one, until it returns true.
  // It may change the marks of the box it is called for.
  template <typename Visit>
  void search(const Extent* wanted, std::uint64_t marks, const Visit& visit) {
    ++searches_;
    waiting_.assign(1, 0);
    while (!waiting_.empty()) {
      const auto index = static_cast<std::size_t>(waiting_.back());
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
  void search_stretches(const Extent* wanted, const Extent* inner, std::vector<std::int32_t>& waiting,
                        const IsMet& is_met, const Visit& visit) const {
    waiting.assign(order_.empty() ? 0 : 1, 0);  // the root of an empty tree is no stretch
    while (!waiting.empty()) {
      const auto index = static_cast<std::size_t>(waiting.back());
      waiting.pop_back();
      const Extent* whole = unions_.data() + index * columns_;
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
  void build(std::span<const Extent> extents, const std::vector<SearchProfile>& columns);
  void unite_below(std::size_t node);
  std::uint64_t marks_below(std::size_t node) const;

  std::size_t columns_, intervals_;
  std::vector<std::int32_t> order_, places_, leaf_of_, waiting_;
  std::vector<Node> nodes_;
  std::vector<Extent> extents_, unions_;
  std::vector<std::uint64_t> marks_, node_marks_;
  std::int64_t searches_ = 0, visited_ = 0;
};

}  // namespace shoal
