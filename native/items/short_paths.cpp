#include "items/short_paths.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/quick_random.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kNeighbours = 10;
constexpr std::size_t kLongestMoved = 3;  // records that Or-opt moves together
constexpr std::uint32_t kKicked = 30;     // records in each of the two pieces that a kick exchanges, at most

// The path through one segment. Nodes are the original places of its records; the path is their current
// order.
class Segment {
 public:
  explicit Segment(const PackedSets& sets) : compare_(sets) {}

  void run(std::span<std::int32_t> records, std::int32_t kicks, QuickRandom random) {
    size_ = records.size();
    if (size_ < 4) return;  // nothing, or one record, between two ends
    measure(records);
    path_.resize(size_);
    std::iota(path_.begin(), path_.end(), 0U);
    place_ = path_;
    waiting_.assign(size_, false);
    queue_.clear();
    for (std::size_t place = size_; place-- > 0;) wait(place);
    improve();
    for (std::int64_t left = std::int64_t{kicks} * static_cast<std::int64_t>(size_); left > 0; --left) {
      made_.clear();
      if (kick(random) + improve() > 0) take_back();
    }
    std::vector<std::int32_t> before(records.begin(), records.end());
    for (std::size_t place = 0; place < size_; ++place) records[place] = before[path_[place]];
  }

 private:
  using Node = std::uint32_t;

  void measure(std::span<const std::int32_t> records) {
    distances_.resize(size_ * size_);
    for (std::size_t i = 0; i < size_; ++i) {
      compare_.take(records[i]);
      distances_[i * size_ + i] = 0;
      for (std::size_t j = 0; j < i; ++j)
        distances_[i * size_ + j] = distances_[j * size_ + i] = compare_.weighted(records[j]);
    }
    near_ = std::min(kNeighbours, size_ - 1);
    neighbours_.resize(size_ * near_);
    std::vector<Node> others;
    for (Node node = 0; node < size_; ++node) {
      others.clear();
      for (Node other = 0; other < size_; ++other)
        if (other != node) others.push_back(other);
      std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(near_), others.end(),
                        [&](Node one, Node other) {
                          return std::pair(between(node, one), one) < std::pair(between(node, other), other);
                        });
      std::copy_n(others.begin(), near_, neighbours_.begin() + static_cast<std::ptrdiff_t>(node * near_));
    }
  }

  std::int32_t between(Node one, Node other) const { return distances_[one * size_ + other]; }
  std::span<const Node> neighbours(Node node) const { return {neighbours_.data() + node * near_, near_}; }

  void wait(std::size_t place) {
    const Node node = path_[place];
    if (waiting_[node]) return;
    waiting_[node] = true;
    queue_.push_back(node);
  }

  // Improves until no move helps; returns the change of the length, never above 0.
  std::int64_t improve() {
    std::int64_t longer = 0;
    while (!queue_.empty()) {
      pause_sometimes();
      const Node node = queue_.back();
      queue_.pop_back();
      waiting_[node] = false;
      for (std::int32_t saved = 1; saved > 0; longer -= saved) {
        saved = turn(node);
        saved += move(node);
      }
    }
    return longer;
  }

  // 2-opt: the stretch between two steps is reversed, so that one of them leads to a neighbour.
  std::int32_t turn(Node node) {
    const std::size_t here = place_[node];
    for (const bool forward : {true, false}) {
      if (forward ? here + 1 == size_ : here == 0) continue;
      const Node next = path_[forward ? here + 1 : here - 1];
      const std::int32_t step = between(node, next);
      for (const Node neighbour : neighbours(node)) {
        const std::int32_t nearer = step - between(node, neighbour);
        if (nearer <= 0) break;
        const std::size_t there = place_[neighbour];
        if (forward ? there + 1 == size_ : there == 0) continue;
        const Node after = path_[forward ? there + 1 : there - 1];
        const std::int32_t saved = nearer + between(neighbour, after) - between(next, after);
        if (saved <= 0) continue;
        const auto [low, high] = std::minmax(here, there);
        if (forward)
          reverse(low + 1, high);
        else
          reverse(low, high - 1);
        for (const Node end : {node, next, neighbour, after}) wait(place_[end]);
        return saved;
      }
    }
    return 0;
  }

  // Or-opt: a node with up to two that follow or precede it is moved beside a neighbour.
  std::int32_t move(Node node) {
    for (std::size_t length = 1; length <= kLongestMoved; ++length)
      for (const bool first : {true, false}) {
        if (length == 1 && !first) continue;
        const std::size_t here = place_[node];
        if (first ? here + length >= size_ : here + 1 < length) continue;
        const std::size_t begin = first ? here : here + 1 - length, end = begin + length - 1;
        if (begin == 0 || end + 1 == size_) continue;
        const Node before = path_[begin - 1], after = path_[end + 1];
        const Node other = path_[first ? end : begin];
        const std::int32_t freed =
            between(before, path_[begin]) + between(path_[end], after) - between(before, after);
        for (const Node neighbour : neighbours(node)) {
          if (between(node, neighbour) >= freed) break;
          const std::size_t there = place_[neighbour];
          if (there >= begin && there <= end) continue;
          for (const bool behind : {true, false}) {
            if (behind ? there + 1 == size_ : there == 0) continue;
            const std::size_t beyond = behind ? there + 1 : there - 1;
            if (beyond >= begin && beyond <= end) continue;
            const std::int32_t saved = freed - between(node, neighbour) - between(other, path_[beyond]) +
                                       between(neighbour, path_[beyond]);
            if (saved <= 0) continue;
            const Node far = path_[beyond];
            // Behind its neighbour, the node comes first of those that are moved; otherwise last.
            put(begin, end, std::min(there, beyond), behind != first);
            for (const Node touched : {before, after, node, other, neighbour, far}) wait(place_[touched]);
            return saved;
          }
        }
      }
    return 0;
  }

  // Moves the nodes from place `begin` to `end` to behind the one at `gap`, reversed or not.
  void put(std::size_t begin, std::size_t end, std::size_t gap, bool turned) {
    const std::size_t length = end - begin + 1;
    if (gap > end) {
      reverse(begin, gap);
      reverse(begin, gap - length);
      if (!turned) reverse(gap - length + 1, gap);
    } else {
      reverse(gap + 1, end);
      reverse(gap + 1 + length, end);
      if (!turned) reverse(gap + 1, gap + length);
    }
  }

  // Exchanges two adjacent pieces of the path, a double bridge; returns the change of the length.
  std::int64_t kick(QuickRandom& random) {
    const auto inner = static_cast<std::uint32_t>(size_ - 2);
    const std::uint32_t longest = std::min(kKicked, inner / 2);
    const std::size_t left = 1 + random.below(longest), right = 1 + random.below(longest);
    const std::size_t begin = 1 + random.below(inner - static_cast<std::uint32_t>(left + right) + 1);
    const std::size_t middle = begin + left, last = middle + right - 1;
    const Node a = path_[begin - 1], b = path_[begin], c = path_[middle - 1], d = path_[middle],
               e = path_[last], f = path_[last + 1];
    put(begin, middle - 1, last, false);
    for (const Node node : {a, b, c, d, e, f}) wait(place_[node]);
    return std::int64_t{between(a, d)} + between(e, b) + between(c, f) - between(a, b) - between(c, d) -
           between(e, f);
  }

  void reverse(std::size_t begin, std::size_t end) {
    made_.emplace_back(begin, end);
    turn_round(begin, end);
  }

  void turn_round(std::size_t begin, std::size_t end) {
    for (; begin < end; ++begin, --end) {
      std::swap(path_[begin], path_[end]);
      place_[path_[begin]] = static_cast<Node>(begin);
      place_[path_[end]] = static_cast<Node>(end);
    }
  }

  void take_back() {
    for (auto step = made_.rbegin(); step != made_.rend(); ++step) turn_round(step->first, step->second);
  }

  Comparison compare_;
  std::size_t size_ = 0, near_ = 0;
  std::vector<std::int32_t> distances_;                    // nodes x nodes
  std::vector<Node> neighbours_;                           // per node, nearest first
  std::vector<Node> path_, place_;                         // the node at each place, and the place of each
  std::vector<char> waiting_;                              // per node: whether it waits in the queue
  std::vector<Node> queue_;                                // nodes around which something changed
  std::vector<std::pair<std::size_t, std::size_t>> made_;  // what was reversed since the last kick
};

}  // namespace

std::vector<std::int32_t> shorten(const PackedSets& sets, std::vector<std::int32_t> order,
                                  std::span<const std::int32_t> starts, std::int32_t kicks) {
  share_parts(starts.size(), [&] {
    return [&, segment = Segment(sets)](std::size_t i) mutable {
      const auto begin = static_cast<std::size_t>(starts[i]);
      const std::size_t end = i + 1 < starts.size() ? static_cast<std::size_t>(starts[i + 1]) : order.size();
      segment.run(std::span(order).subspan(begin, end - begin), kicks,
                  QuickRandom(0x9e3779b97f4a7c15ULL * (i + 1)));
    };
  });
  return order;
}

}  // namespace shoal
