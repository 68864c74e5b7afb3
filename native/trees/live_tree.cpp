#include "trees/live_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr std::int32_t kLiveLeaf = 8;  // a leaf has at most this many boxes
constexpr std::size_t kSample = 64;    // boxes that decide where to cut; the tree need not be optimal

// Sorts boxes by one column: intervals by where they begin or end, sets by their rarest bins.
struct Key {
  std::size_t column;
  bool sets, ends;

  std::uint64_t operator()(Cell extent) const {
    if (sets) return extent.bits();
    return static_cast<std::uint64_t>(ends ? extent.high() + 1 : extent.low());
  }
};

// Several boxes in one column.
struct Several {
  Cell whole;
  std::int64_t count = 0;

  void add(bool sets, const Several& other) {
    if (other.count == 0) return;
    if (count == 0)
      whole = other.whole;
    else if (sets)
      whole = Cell::set(whole.bits() | other.whole.bits());
    else
      whole = Cell::interval(std::min(whole.low(), other.whole.low()),
                             std::max(whole.high(), other.whole.high()));
    count += other.count;
  }
};

// Finds where to cut a node, by a sample of its boxes.
class Cutter {
 public:
  Cutter(std::span<const Cell> extents, const std::vector<SearchProfile>& columns)
      : extents_(extents), columns_(columns) {}

  // Puts the boxes that go left first; returns how many do, 0 if they are all alike.
  std::size_t cut(std::span<std::int32_t> boxes) {
    best_ = 1e9;
    for (std::size_t a = 0; a < columns_.size(); ++a) {
      sample_.clear();
      const std::size_t step = std::max<std::size_t>(1, boxes.size() / kSample);
      for (std::size_t i = 0; i < boxes.size(); i += step) sample_.push_back(extent(boxes[i], a));
      const bool sets = !columns_[a].intervals();
      consider({a, sets, false});
      if (!sets) consider({a, sets, true});
    }
    if (best_ >= 1e9) return 0;
    const auto middle = std::partition(boxes.begin(), boxes.end(), [&](std::int32_t box) {
      return key_(extent(box, key_.column)) < pivot_;
    });
    return at(middle - boxes.begin());
  }

 private:
  Cell extent(std::int32_t box, std::size_t a) const { return extents_[at(box) * columns_.size() + a]; }

  // The cuts below and above the median; what counts is how many searches have to look at how many boxes.
  void consider(const Key& key) {
    const auto median = sample_.begin() + static_cast<std::ptrdiff_t>(sample_.size() / 2);
    std::nth_element(sample_.begin(), median, sample_.end(), [&](Cell x, Cell y) { return key(x) < key(y); });
    const std::uint64_t middle = key(*median);
    std::uint64_t next = ~std::uint64_t{0};
    Several below, equal, above;
    for (const Cell x : sample_) {
      const std::uint64_t k = key(x);
      (k < middle ? below : k == middle ? equal : above).add(key.sets, {x, 1});
      if (k > middle) next = std::min(next, k);
    }
    Several not_above = below, not_below = above;
    not_above.add(key.sets, equal);
    not_below.add(key.sets, equal);
    consider(key, middle, below, not_below);
    consider(key, next, not_above, above);
  }

  void consider(const Key& key, std::uint64_t pivot, const Several& left, const Several& right) {
    if (left.count == 0 || right.count == 0) return;
    Several all = left;
    all.add(key.sets, right);
    const SearchProfile& profile = columns_[key.column];
    const auto looks = [&](const Several& part) {
      return static_cast<float>(part.count) * profile.share_meeting(part.whole);
    };
    const float before = looks(all);
    const float after = before > 0 ? (looks(left) + looks(right)) / before : 1.0F;
    if (after >= best_) return;
    best_ = after;
    key_ = key;
    pivot_ = pivot;
  }

  std::span<const Cell> extents_;
  const std::vector<SearchProfile>& columns_;
  std::vector<Cell> sample_;
  float best_ = 0;
  Key key_{};
  std::uint64_t pivot_ = 0;
};

}  // namespace

float SearchProfile::share_meeting(Cell extent) const {
  if (intervals()) {
    if (extent.low() > extent.high()) return 0;
    return 1.0F - below[at(extent.low())] - above[at(extent.high())];
  }
  float share = 0;
  for (std::uint64_t bins = extent.bits(); bins != 0; bins &= bins - 1)
    share += with_bin[at(std::countr_zero(bins))];
  return std::min(share, 1.0F);  // a search may have several of the bins
}

LiveTree::LiveTree(std::span<const Cell> extents, std::size_t boxes,
                   const std::vector<SearchProfile>& columns)
    : columns_(columns.size()),
      intervals_(
          at(std::count_if(columns.begin(), columns.end(), [](const auto& a) { return a.intervals(); }))),
      order_(boxes), places_(boxes), leaf_of_(boxes), extents_(extents.size()), marks_(boxes) {
  std::iota(order_.begin(), order_.end(), 0);
  build(extents, columns);
  for (std::size_t place = 0; place < boxes; ++place) {
    places_[at(order_[place])] = static_cast<std::int32_t>(place);
    std::copy_n(extents.data() + at(order_[place]) * columns_, columns_, extents_.data() + place * columns_);
  }
  unions_.resize(nodes_.size() * columns_);
  for (std::size_t node = nodes_.size(); node-- > 0;) unite_below(node);
  node_marks_.resize(nodes_.size());
  mark_all(1);
}

void LiveTree::build(std::span<const Cell> extents, const std::vector<SearchProfile>& columns) {
  Cutter cutter(extents, columns);
  nodes_.push_back({0, size()});
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node node = nodes_[i];
    const auto count = at(node.end - node.begin);
    if (node.end - node.begin <= kLiveLeaf) {
      std::fill_n(leaf_of_.begin() + node.begin, count, static_cast<std::int32_t>(i));
      continue;
    }
    std::size_t left = cutter.cut({order_.data() + node.begin, count});
    if (left == 0 || left == count) left = count / 2;
    const auto middle = node.begin + static_cast<std::int32_t>(left);
    nodes_[i].left = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({node.begin, middle, -1, static_cast<std::int32_t>(i)});
    nodes_.push_back({middle, node.end, -1, static_cast<std::int32_t>(i)});
  }
}

void LiveTree::unite_below(std::size_t index) {
  const Node& node = nodes_[index];
  if (node.begin == node.end) return;
  const bool leaf = node.left < 0;
  const Cell* below = leaf ? extents(node.begin) : unions_.data() + at(node.left) * columns_;
  const std::int32_t parts = leaf ? node.end - node.begin : 2;
  for (std::size_t a = 0; a < columns_; ++a) {
    Several whole;
    for (std::int32_t part = 0; part < parts; ++part)
      whole.add(a >= intervals_, {below[at(part) * columns_ + a], 1});
    unions_[index * columns_ + a] = whole.whole;
  }
}

std::uint64_t LiveTree::marks_below(std::size_t index) const {
  const Node& node = nodes_[index];
  if (node.left >= 0) return node_marks_[at(node.left)] | node_marks_[at(node.left + 1)];
  std::uint64_t all = 0;
  for (std::int32_t place = node.begin; place < node.end; ++place) all |= marks(place);
  return all;
}

void LiveTree::mark(std::int32_t place, std::uint64_t marks) {
  marks_[at(place)] = marks;
  for (std::int32_t node = leaf_of_[at(place)]; node >= 0; node = nodes_[at(node)].parent) {
    const std::uint64_t now = marks_below(at(node));
    if (now == node_marks_[at(node)]) break;
    node_marks_[at(node)] = now;
  }
}

void LiveTree::mark_all(std::uint64_t marks) {
  std::fill(marks_.begin(), marks_.end(), marks);
  std::fill(node_marks_.begin(), node_marks_.end(), order_.empty() ? 0 : marks);
}

void LiveTree::mark_each(std::span<const std::uint64_t> marks) {
  std::copy(marks.begin(), marks.end(), marks_.begin());
  for (std::size_t node = nodes_.size(); node-- > 0;) node_marks_[node] = marks_below(node);
}

}  // namespace shoal
