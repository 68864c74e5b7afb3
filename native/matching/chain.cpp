#include "matching/chain.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "trees/box_tree.hpp"
#include "trees/union_tree.hpp"

namespace shoal {
namespace {

// The last k - 1 records in one attribute, and the cost of one more: the sum, over the last record, the
// last two, ..., the last k - 1 (or all, while there are fewer), of what it adds to their cost.
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
    std::vector<Hull> grown{{code, code, 0.0, std::min<std::int64_t>(copies, before_)}};
    std::int64_t filled = grown.front().times;
    for (Hull hull : hulls_) {
      hull.times = std::min(hull.times, before_ - filled);
      filled += hull.times;
      hull.low = std::min(hull.low, code);
      hull.high = std::max(hull.high, code);
      if (hull.low == grown.back().low && hull.high == grown.back().high) {
        grown.back().times += hull.times;
      } else if (hull.times > 0) {
        hull.cost = attribute_->interval_cost(hull.low, hull.high);
        grown.push_back(hull);
      }
    }
    grown.back().times += before_ - filled;  // as if the first of all had been there for long
    hulls_ = std::move(grown);
  }

  double cost(std::int32_t code) const {
    if (attribute_->kind == Kind::set)
      return unit_ * static_cast<double>(last_[at(code)] < 0 ? before_ : now_ - last_[at(code)]);
    double sum = 0.0;
    for (const Hull& hull : hulls_)
      if (code < hull.low || code > hull.high)
        sum += static_cast<double>(hull.times) *
               (attribute_->interval_cost(std::min(code, hull.low), std::max(code, hull.high)) - hull.cost);
    return attribute_->weight * sum;
  }

  // No code in the cell costs less. An interval grows least by the code nearest to the newest one, around
  // which all hulls lie.
  double least_cost(Cell cell) const {
    if (attribute_->kind != Kind::set) {
      if (hulls_.empty() || (cell.low() <= newest_ && newest_ <= cell.high())) return 0.0;
      return cost(newest_ < cell.low() ? cell.low() : cell.high());
    }
    for (const std::int32_t code : recent_)
      if (cell.may_have(code)) return cost(code);
    return unit_ * static_cast<double>(before_);
  }

 private:
  struct Hull {
    std::int32_t low, high;
    double cost;
    std::int64_t times;  // how many of the k - 1 hulls in a row
  };

  const Attribute* attribute_;
  std::int64_t before_, now_ = 0;
  double unit_ = 0.0;                 // of a set: the cost of one more value
  std::vector<std::int64_t> last_;    // of a set: when each code came last, -1 for not recently
  std::vector<std::int32_t> recent_;  // of a set: the codes of the last k - 1 records, newest first
  std::int32_t newest_ = 0;
  std::vector<Hull> hulls_;  // of an interval: around the last record, the last two, ..., each once
};

class GreedyChain {
 public:
  GreedyChain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
              std::span<const double> elsewhere, const std::vector<Attribute>& attributes, std::int32_t k)
      : copies_(copies), elsewhere_(elsewhere), attributes_(attributes),
        boxes_(codes, static_cast<std::int32_t>(copies.size()), attributes, 1),
        tree_(boxes_.nodes(), attributes), most_(boxes_.nodes().size()), left_(copies.size(), true) {
    for (const Attribute& attribute : attributes) tails_.emplace_back(attribute, k);
    for (auto node = static_cast<std::int32_t>(tree_.nodes().size()); node-- > 0;) renew(node);
  }

  std::vector<std::int32_t> link() {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      pause();
      const std::int32_t place = cheapest(), record = boxes_.order()[at(place)];
      order.push_back(record);
      left_[at(place)] = false;
      for (std::size_t a = 0; a < attributes_.size(); ++a)
        tails_[a].add(boxes_.codes(place)[a], copies_[at(record)]);
      for (std::int32_t node = boxes_.leaf_of(place); node >= 0; node = tree_.nodes()[at(node)].parent)
        renew(node);
    }
    return order;
  }

 private:
  double elsewhere(std::int32_t place) const { return elsewhere_[at(boxes_.order()[at(place)])]; }

  // Updates what is known of the remaining records below a node.
  void renew(std::int32_t node) {
    const auto& [begin, end, left, parent, equal] = tree_.nodes()[at(node)];
    if (left >= 0) {
      tree_.unite(node);
      most_[at(node)] = std::max(most_[at(left)], most_[at(left) + 1]);
      return;
    }
    records_.clear();
    most_[at(node)] = -kUnlimited;
    for (std::int32_t place = begin; place < end; ++place) {
      if (!left_[at(place)]) continue;
      records_.push_back(boxes_.codes(place));
      most_[at(node)] = std::max(most_[at(node)], elsewhere(place));
    }
    tree_.set_leaf(node, records_);
  }

  // A lower bound for all records below a node, unless it exceeds `enough`. Infinite if none is left.
  double bound(std::int32_t node, double enough) const {
    double sum = -most_[at(node)];
    for (std::size_t a = 0; a < attributes_.size() && sum < enough; ++a)
      sum += tails_[a].least_cost(tree_.cells(node)[a]);
    return sum;
  }

  // The place of the record that costs least now.
  std::int32_t cheapest() {
    std::int32_t best = 0;
    double least = kUnlimited;
    visit_nearer_first(
        tree_.nodes(), stack_, 0, [&](std::int32_t node) { return bound(node, least); },
        [&](std::int32_t, double reached) { return reached >= least; },
        [&](std::int32_t leaf, double) {
          const TreeNode& node = tree_.nodes()[at(leaf)];
          for (std::int32_t place = node.begin; place < node.end; ++place) {
            if (!left_[at(place)]) continue;
            double sum = -elsewhere(place);
            for (std::size_t a = 0; a < attributes_.size() && sum < least; ++a)
              sum += tails_[a].cost(boxes_.codes(place)[a]);
            if (sum < least) {
              least = sum;
              best = place;
            }
          }
        });
    return best;
  }

  std::span<const std::int32_t> copies_;
  std::span<const double> elsewhere_;
  const std::vector<Attribute>& attributes_;
  BoxTree boxes_;             // its places number the records here
  UnionTree tree_;            // over the records that are left
  std::vector<double> most_;  // per node: the highest cost elsewhere of a record below
  std::vector<char> left_;    // per place
  std::vector<Tail> tails_;   // per attribute
  std::vector<WaitingNode<double>> stack_;
  std::vector<const std::int32_t*> records_;
};

}  // namespace

std::vector<std::int32_t> chain(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                std::span<const double> elsewhere, const std::vector<Attribute>& attributes,
                                std::int32_t k) {
  return GreedyChain(codes, copies, elsewhere, attributes, k).link();
}

}  // namespace shoal
