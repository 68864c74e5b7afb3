#include "chain.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "union_tree.hpp"

namespace shoal {
namespace {

constexpr std::size_t kLeaf = 8;  // so few records are looked at one by one

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// The last k - 1 records in one attribute, and what a further one costs: the sum, over the last record, the
// last two, ..., the last k - 1, of what it adds to their cost.
class Tail {
 public:
  Tail(const Attribute& attribute, std::int32_t k) : attribute_(&attribute), before_(k - 1) {
    if (attribute.kind != Kind::set) return;
    unit_ = attribute.weight * attribute.set_cost(2);
    last_.assign(at(attribute.size), -1);
  }

  void add(std::int32_t code, std::int32_t copies) {
    now_ += copies;
    if (attribute_->kind == Kind::set) {
      if (last_[at(code)] >= 0) recent_.erase(std::find(recent_.begin(), recent_.end(), code));
      recent_.insert(recent_.begin(), code);
      last_[at(code)] = now_;
      for (; now_ - last_[at(recent_.back())] >= before_; recent_.pop_back()) last_[at(recent_.back())] = -1;
      return;
    }
    newest_ = code;
    std::vector<Hull> grown{{code, code, 0.0, copies}};
    std::int64_t records = copies;
    for (Hull hull : hulls_) {
      if (records >= before_) break;
      hull.records = std::min(hull.records, before_ - records);
      records += hull.records;
      hull.low = std::min(hull.low, code);
      hull.high = std::max(hull.high, code);
      if (hull.low == grown.back().low && hull.high == grown.back().high) {
        grown.back().records += hull.records;
        continue;
      }
      hull.cost = attribute_->interval_cost(hull.low, hull.high);
      grown.push_back(hull);
    }
    grown.front().records = std::min(grown.front().records, before_);
    hulls_ = std::move(grown);
  }

  double cost(std::int32_t code) const {
    if (attribute_->kind == Kind::set)
      return unit_ * static_cast<double>(last_[at(code)] < 0 ? before_ : now_ - last_[at(code)]);
    double sum = 0.0;
    for (const Hull& hull : hulls_)
      if (code < hull.low || code > hull.high)
        sum += static_cast<double>(hull.records) *
               (attribute_->interval_cost(std::min(code, hull.low), std::max(code, hull.high)) - hull.cost);
    return attribute_->weight * sum;
  }

  // No code in the cell costs less. In an interval that is the one nearest to the newest code, around which
  // all hulls lie.
  double least_cost(Cell cell) const {
    if (attribute_->kind != Kind::set)
      return hulls_.empty() ? 0.0 : cost(std::clamp(newest_, cell.low(), cell.high()));
    for (const std::int32_t code : recent_)
      if (cell.may_have(code)) return cost(code);
    return unit_ * static_cast<double>(before_);
  }

 private:
  struct Hull {
    std::int32_t low, high;
    double cost;
    std::int64_t records;  // how many of the last k - 1 records lie at its end
  };

  const Attribute* attribute_;
  std::int64_t before_, now_ = 0;
  double unit_ = 0.0;                 // of a set: the cost of one more value
  std::vector<std::int64_t> last_;    // of a set: when each code came last, -1 for not recently
  std::vector<std::int32_t> recent_;  // of a set: the codes of the last k - 1 records, newest first
  std::int32_t newest_ = 0;
  std::vector<Hull> hulls_;  // of an interval: around the last record, the last two, ..., each once
};

class Chain {
 public:
  Chain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
        std::span<const double> elsewhere, const std::vector<Attribute>& attributes, std::int32_t k)
      : codes_(codes), copies_(copies), elsewhere_(elsewhere), attributes_(attributes),
        tree_((copies.size() + kLeaf - 1) / kLeaf, attributes), left_(copies.size(), true) {
    for (const Attribute& attribute : attributes) tails_.emplace_back(attribute, k);
    most_.resize(2 * std::bit_ceil((copies.size() + kLeaf - 1) / kLeaf));
    for (std::size_t leaf = 0; leaf * kLeaf < copies.size(); ++leaf) renew_leaf(leaf);
    tree_.renew();
    for (std::size_t node = most_.size() / 2; --node > 0;) most_[node] = most_below(node);
  }

  std::vector<std::int32_t> link() {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const std::size_t record = cheapest();
      order.push_back(static_cast<std::int32_t>(record));
      left_[record] = false;
      for (std::size_t a = 0; a < attributes_.size(); ++a) tails_[a].add(codes(record)[a], copies_[record]);
      const std::size_t leaf = record / kLeaf;
      renew_leaf(leaf);
      tree_.renew_above(leaf);
      for (std::size_t node = (most_.size() / 2 + leaf) / 2; node > 0; node /= 2)
        most_[node] = most_below(node);
    }
    return order;
  }

 private:
  const std::int32_t* codes(std::size_t record) const { return codes_.data() + record * attributes_.size(); }

  double most_below(std::size_t node) const { return std::max(most_[2 * node], most_[2 * node + 1]); }

  void renew_leaf(std::size_t leaf) {
    std::vector<const std::int32_t*> records;
    double most = 0.0;
    for (std::size_t r = leaf * kLeaf; r < std::min((leaf + 1) * kLeaf, left_.size()); ++r) {
      if (!left_[r]) continue;
      records.push_back(codes(r));
      most = std::max(most, elsewhere_[r]);
    }
    tree_.set_leaf(leaf, records);
    most_[most_.size() / 2 + leaf] = most;
  }

  double bound(std::size_t node, double enough) const {
    if (tree_.is_empty(node)) return std::numeric_limits<double>::infinity();
    double sum = -most_[node];
    for (std::size_t a = 0; a < attributes_.size() && sum < enough; ++a)
      sum += tails_[a].least_cost(tree_.cells(node)[a]);
    return sum;
  }

  std::size_t cheapest() {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    stack_.assign(1, {1, bound(1, least)});
    while (!stack_.empty()) {
      const auto [node, reach] = stack_.back();
      stack_.pop_back();
      if (reach >= least) continue;
      if (tree_.is_leaf(node)) {
        const std::size_t begin = tree_.number(node) * kLeaf;
        for (std::size_t r = begin; r < std::min(begin + kLeaf, left_.size()); ++r) {
          if (!left_[r]) continue;
          double sum = -elsewhere_[r];
          for (std::size_t a = 0; a < attributes_.size() && sum < least; ++a)
            sum += tails_[a].cost(codes(r)[a]);
          if (sum < least) {
            least = sum;
            best = r;
          }
        }
        continue;
      }
      std::pair near{2 * node, bound(2 * node, least)}, far{2 * node + 1, bound(2 * node + 1, least)};
      if (far.second < near.second) std::swap(near, far);
      if (far.second < least) stack_.push_back(far);
      if (near.second < least) stack_.push_back(near);
    }
    return best;
  }

  std::span<const std::int32_t> codes_, copies_;
  std::span<const double> elsewhere_;
  const std::vector<Attribute>& attributes_;
  UnionTree tree_;            // over the records that are left, eight in a leaf
  std::vector<double> most_;  // per node, the highest cost elsewhere of a record below
  std::vector<char> left_;    // per record
  std::vector<Tail> tails_;   // per attribute
  std::vector<std::pair<std::size_t, double>> stack_;
};

}  // namespace

std::vector<std::int32_t> chain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                std::span<const double> elsewhere, const std::vector<Attribute>& attributes,
                                std::int32_t k) {
  return Chain(codes, copies, elsewhere, attributes, k).link();
}

}  // namespace shoal
