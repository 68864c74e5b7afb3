#include "classes/mondrian.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// Below this many records a node is finished by the worker that has it.
constexpr std::int64_t kShared = kDivideAlways ? 8 : 4096;

// After this many cuts in a row only even ones are considered, in a tree between the children of the common
// ancestor. The cheapest cut may split off a handful of records each time, for instance one value after the
// other below a flat root: n / k cuts, each of which examines up to n records.
constexpr std::int32_t kUnhurriedDepth = 64;

struct Node {
  std::int64_t begin, end;  // of Problem::order
  std::int32_t depth = 0;   // how many cuts led here
  std::int64_t count() const { return end - begin; }
};

// A way to cut a node in two. The attribute's codes stand in an order that depends on its kind; the first
// `left_codes` of them go left, and `ties` records of the next one.
struct Cut {
  std::size_t attribute;
  std::size_t left_codes;
  std::int64_t ties;
  double loss;  // of both sides together, weighted by their records
};

struct Problem {
  std::span<const std::int32_t> codes;
  const std::vector<Attribute>& attributes;
  const std::vector<Sensitive> sensitive;  // only columns of which something is asked
  std::int64_t k;
  bool relaxed;
  std::vector<std::int32_t> order;  // the records; every node is a stretch of it
  std::vector<Node> leaves;
  std::mutex leaves_mutex;

  const std::int32_t* record(std::int64_t i) const {
    return codes.data() + at(order[at(i)]) * attributes.size();
  }
};

// The smallest box around some records, grown one by one.
class ClassBox {
 public:
  explicit ClassBox(const std::vector<Attribute>& attributes)
      : attributes_(attributes), low_(attributes.size()), high_(attributes.size()), seen_(attributes.size()) {
    for (std::size_t a = 0; a < attributes.size(); ++a)
      if (attributes[a].kind == Kind::set) seen_[a].assign(at(attributes[a].size), 0);
  }

  void clear() {
    ++epoch_;
    count_ = 0;
  }

  void add(const std::int32_t* record) {
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const std::int32_t code = record[a];
      if (attributes_[a].kind == Kind::set) {
        auto& seen = seen_[a][at(code)];
        if (count_ == 0) high_[a] = 0;  // counts the members of a set
        high_[a] += seen != epoch_;
        seen = epoch_;
      } else if (count_ == 0) {
        low_[a] = high_[a] = code;
      } else {
        low_[a] = std::min(low_[a], code);
        high_[a] = std::max(high_[a], code);
      }
    }
    ++count_;
  }

  // The cost of its records if they all show this box.
  double loss() const {
    double cost = 0.0;
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const auto& attribute = attributes_[a];
      cost += attribute.weight * (attribute.kind == Kind::set ? attribute.set_cost(high_[a])
                                                              : attribute.interval_cost(low_[a], high_[a]));
    }
    return cost * static_cast<double>(count_);
  }

 private:
  const std::vector<Attribute>& attributes_;
  std::vector<std::int32_t> low_, high_;
  std::vector<std::vector<std::int64_t>> seen_;  // per set attribute and code: the epoch it was added in
  std::int64_t epoch_ = 0;
  std::int64_t count_ = 0;
};

// How varied the sensitive values of some records are, added one by one.
class Diversity {
 public:
  explicit Diversity(const std::vector<Sensitive>& columns) : columns_(columns), tallies_(columns.size()) {
    for (std::size_t c = 0; c < columns.size(); ++c) tallies_[c].counts.assign(at(columns[c].size), 0);
  }

  void add(std::int32_t record) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto& tally = tallies_[c];
      auto& count = tally.counts[at(columns_[c].codes[at(record)])];
      tally.distinct += count == 0;
      if (columns_[c].asked.entropy > 0) tally.sum_c_log_c += c_log_c(count + 1) - c_log_c(count);
      tally.largest = std::max(tally.largest, ++count);
    }
    added_.push_back(record);
  }

  void clear() {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto& tally = tallies_[c];
      for (const std::int32_t record : added_) tally.counts[at(columns_[c].codes[at(record)])] = 0;
      tally.distinct = tally.largest = 0;
      tally.sum_c_log_c = 0.0;
    }
    added_.clear();
  }

  bool suffices() const {
    const auto n = static_cast<double>(added_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto& [frequency_l, distinct, entropy] = columns_[c].asked;
      const Tally& tally = tallies_[c];
      if (static_cast<double>(tally.largest) * frequency_l > n || tally.distinct < distinct) return false;
      if (entropy > 0 && std::log(n) - tally.sum_c_log_c / n < entropy) return false;
    }
    return true;
  }

 private:
  struct Tally {
    std::vector<std::int64_t> counts;  // of each value
    std::int64_t distinct = 0, largest = 0;
    double sum_c_log_c = 0.0;
  };

  const std::vector<Sensitive>& columns_;
  std::vector<Tally> tallies_;
  std::vector<std::int32_t> added_;
};

class Worker {
 public:
  Worker(Problem& problem, WorkStack<Node>& stack)
      : problem_(problem), stack_(stack), left_(problem.attributes), right_(problem.attributes),
        diversity_(problem.sensitive), in_order_(problem.attributes.size()) {
    std::int32_t widest = 0;
    for (const auto& attribute : problem.attributes) widest = std::max(widest, attribute.size);
    counts_.assign(at(widest), 0);
  }

  void operator()(Node task) {
    std::vector<Node> mine{task}, finished;
    while (!mine.empty()) {
      const Node node = mine.back();
      mine.pop_back();
      const std::int64_t middle = cut(node);
      if (middle < 0) {
        finished.push_back(node);
        continue;
      }
      const std::int32_t depth = node.depth + 1;
      for (const Node child : {Node{node.begin, middle, depth}, Node{middle, node.end, depth}}) {
        if (child.count() >= kShared) {
          stack_.push(child);
        } else {
          mine.push_back(child);
        }
      }
    }
    std::lock_guard lock(problem_.leaves_mutex);
    problem_.leaves.insert(problem_.leaves.end(), finished.begin(), finished.end());
  }

 private:
  // Puts the records of the left side first and returns where the right side begins, or -1 if no cut
  // satisfies both sides. Of the cuts it considers, it takes the one with the least cost.
  std::int64_t cut(Node node) {
    if (node.count() < 2 * problem_.k) return -1;
    std::vector<Cut> cuts;
    for (std::size_t a = 0; a < problem_.attributes.size(); ++a) {
      put_in_order(node, a);
      propose(node, a, cuts);
    }
    for (Cut& candidate : cuts) candidate.loss = loss_after(node, candidate);
    std::stable_sort(cuts.begin(), cuts.end(), [](const Cut& x, const Cut& y) { return x.loss < y.loss; });
    const auto records = problem_.order.begin() + node.begin;
    before_.assign(records, records + node.count());
    for (const Cut& candidate : cuts) {
      const std::int64_t middle = apply(node, candidate);
      // The sides of whole values are known to be diverse enough; those of a divided one are not.
      if (candidate.ties == 0 || (diverse({node.begin, middle}) && diverse({middle, node.end})))
        return middle;
      // Which records of a divided value go left depends on their order, and so does the loss just weighed.
      std::copy(before_.begin(), before_.end(), records);
    }
    return -1;
  }

  // The codes of one attribute that occur in a node, in the order in which they are cut in two. The first i
  // of them have left_count[i] records and cost left_cost[i]; those from i on cost right_cost[i].
  struct InOrder {
    std::vector<std::int32_t> codes;
    std::vector<std::int64_t> left_count;
    std::vector<double> left_cost, right_cost;
    std::vector<bool> natural;  // whether cutting before i parts children of the common ancestor (trees)
  };

  // - Numbers stand in ascending order.
  // - Categories stand by falling frequency: of all ways to divide a set, the cheapest for a given number of
  //   codes on the left has the most frequent ones there.
  // - In a tree, only leaving one child of the common ancestor alone on a side lowers that side's cost, so
  //   the children stand by what is gained when they are alone; within them, codes ascend.
  void put_in_order(Node node, std::size_t a) {
    const auto& attribute = problem_.attributes[a];
    auto& in_order = in_order_[a];
    auto& codes = in_order.codes;
    codes.clear();
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      const std::int32_t code = problem_.record(i)[a];
      if (counts_[at(code)]++ == 0) codes.push_back(code);
    }
    std::sort(codes.begin(), codes.end(), [&](std::int32_t x, std::int32_t y) {
      const auto often_x = counts_[at(x)], often_y = counts_[at(y)];
      return attribute.kind == Kind::set && often_x != often_y ? often_x > often_y : x < y;
    });
    const std::size_t m = codes.size();
    in_order.natural.assign(m + 1, true);
    if (attribute.kind == Kind::tree) put_children_in_order(attribute, in_order);
    in_order.left_count.assign(m + 1, 0);
    for (std::size_t i = 0; i < m; ++i) {
      auto& often = counts_[at(codes[i])];
      in_order.left_count[i + 1] = in_order.left_count[i] + std::exchange(often, 0);
    }
    in_order.left_cost.assign(m + 1, 0.0);
    in_order.right_cost.assign(m + 1, 0.0);
    std::int32_t low = 0, high = 0;
    for (std::size_t i = 1; i <= m; ++i) {
      if (attribute.kind == Kind::set) {
        in_order.left_cost[i] = in_order.right_cost[m - i] = attribute.set_cost(static_cast<std::int64_t>(i));
      } else {
        low = i == 1 ? codes[0] : std::min(low, codes[i - 1]);
        high = i == 1 ? codes[0] : std::max(high, codes[i - 1]);
        in_order.left_cost[i] = attribute.interval_cost(low, high);
      }
    }
    if (attribute.kind == Kind::set) return;
    for (std::size_t i = m; i-- > 0;) {
      low = i + 1 == m ? codes[i] : std::min(low, codes[i]);
      high = i + 1 == m ? codes[i] : std::max(high, codes[i]);
      in_order.right_cost[i] = attribute.interval_cost(low, high);
    }
  }

  void put_children_in_order(const Attribute& attribute, InOrder& in_order) {
    auto& codes = in_order.codes;
    const double top = attribute.interval_cost(codes.front(), codes.back());
    struct Child {
      std::size_t begin, end;
      double gain;
    };
    std::vector<Child> children;
    for (std::size_t begin = 0, end; begin < codes.size(); begin = end) {
      std::int64_t records = counts_[at(codes[begin])];
      for (end = begin + 1; end < codes.size() && attribute.interval_cost(codes[end - 1], codes[end]) < top;
           ++end)
        records += counts_[at(codes[end])];
      const double saved = top - attribute.interval_cost(codes[begin], codes[end - 1]);
      children.push_back({begin, end, static_cast<double>(records) * saved});
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& x, const Child& y) { return x.gain > y.gain; });
    std::vector<std::int32_t> sorted;
    in_order.natural.assign(codes.size() + 1, false);
    for (const Child& child : children) {
      in_order.natural[sorted.size()] = true;
      for (std::size_t i = child.begin; i < child.end; ++i) sorted.push_back(codes[i]);
    }
    codes = std::move(sorted);
  }

  // Adds up to three cuts of one attribute: the one that loses least in this attribute, the most even one,
  // and, if values may be divided, the exactly even one.
  void propose(Node node, std::size_t a, std::vector<Cut>& cuts) {
    const auto& [codes, left_count, left_cost, right_cost, natural] = in_order_[a];
    const std::int64_t n = node.count(), half = n / 2;
    const bool hurried = node.depth >= kUnhurriedDepth;
    find_allowed(node, a);
    std::size_t cheapest = 0, evenest = 0, halfway = 0;
    double least = 0.0;
    for (std::size_t i = 1; i < codes.size(); ++i) {
      const std::int64_t left = left_count[i];
      if (left <= half) halfway = i;
      if (!allowed_[i]) continue;
      const double loss =
          static_cast<double>(left) * left_cost[i] + static_cast<double>(n - left) * right_cost[i];
      if (cheapest == 0 || loss < least) {
        cheapest = i;
        least = loss;
      }
      const bool more_even = std::abs(2 * left - n) < std::abs(2 * left_count[evenest] - n);
      const bool more_natural = hurried && natural[i] && !natural[evenest];
      const bool less_natural = hurried && natural[evenest] && !natural[i];
      if (evenest == 0 || more_natural || (more_even && !less_natural)) evenest = i;
    }
    if (hurried) cheapest = evenest;
    if (cheapest > 0) cuts.push_back({a, cheapest, 0, 0.0});
    if (evenest != cheapest) cuts.push_back({a, evenest, 0, 0.0});
    if (problem_.relaxed && half > left_count[halfway])
      cuts.push_back({a, halfway, half - left_count[halfway], 0.0});
  }

  // Finds the codes before which the attribute may be cut, so that both sides satisfy the requirements.
  void find_allowed(Node node, std::size_t a) {
    const auto& codes = in_order_[a].codes;
    const auto& left_count = in_order_[a].left_count;
    const std::size_t m = codes.size();
    allowed_.assign(m + 1, false);
    for (std::size_t i = 1; i < m; ++i)
      allowed_[i] = left_count[i] >= problem_.k && node.count() - left_count[i] >= problem_.k;
    if (problem_.sensitive.empty()) return;
    // The node's records by code, so that one pass from either end sees every cut.
    by_code_.resize(at(node.count()));
    for (std::size_t i = 0; i < m; ++i) counts_[at(codes[i])] = left_count[i];
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      auto& place = counts_[at(problem_.record(i)[a])];
      by_code_[at(place++)] = problem_.order[at(i)];
    }
    for (const std::int32_t code : codes) counts_[at(code)] = 0;
    const auto add = [&](std::size_t i) {
      for (std::int64_t r = left_count[i]; r < left_count[i + 1]; ++r) diversity_.add(by_code_[at(r)]);
    };
    diversity_.clear();
    for (std::size_t i = 1; i < m; ++i) {
      add(i - 1);
      allowed_[i] = allowed_[i] && diversity_.suffices();
    }
    diversity_.clear();
    for (std::size_t i = m; i-- > 1;) {
      add(i);
      allowed_[i] = allowed_[i] && diversity_.suffices();
    }
  }

  // Calls visit(record number in order, goes left) for each record of the node, in order.
  template <typename Visit>
  void divide(Node node, const Cut& cut, const Visit& visit) {
    const auto& codes = in_order_[cut.attribute].codes;
    for (std::size_t i = 0; i < cut.left_codes; ++i) counts_[at(codes[i])] = node.count();
    if (cut.ties > 0) counts_[at(codes[cut.left_codes])] = cut.ties;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      auto& room = counts_[at(problem_.record(i)[cut.attribute])];
      visit(i, room > 0);
      room -= room > 0;
    }
    for (const std::int32_t code : codes) counts_[at(code)] = 0;
  }

  double loss_after(Node node, const Cut& cut) {
    left_.clear();
    right_.clear();
    divide(node, cut, [&](std::int64_t i, bool left) { (left ? left_ : right_).add(problem_.record(i)); });
    return left_.loss() + right_.loss();
  }

  std::int64_t apply(Node node, const Cut& cut) {
    moved_.clear();
    std::int64_t middle = node.begin;
    divide(node, cut, [&](std::int64_t i, bool left) {
      const std::int32_t record = problem_.order[at(i)];
      if (left) {
        problem_.order[at(middle++)] = record;
      } else {
        moved_.push_back(record);
      }
    });
    std::copy(moved_.begin(), moved_.end(), problem_.order.begin() + middle);
    return middle;
  }

  bool diverse(Node node) {
    if (problem_.sensitive.empty()) return true;
    diversity_.clear();
    for (std::int64_t i = node.begin; i < node.end; ++i) diversity_.add(problem_.order[at(i)]);
    return diversity_.suffices();
  }

  Problem& problem_;
  WorkStack<Node>& stack_;
  ClassBox left_, right_;
  Diversity diversity_;
  std::vector<InOrder> in_order_;     // per attribute, of the node at hand
  std::vector<std::int64_t> counts_;  // per code; zero between uses
  std::vector<bool> allowed_;
  std::vector<std::int32_t> by_code_, moved_, before_;
};

}  // namespace

std::vector<std::int32_t> mondrian(std::span<const std::int32_t> codes, std::int64_t rows,
                                   const std::vector<Attribute>& attributes, std::vector<Sensitive> sensitive,
                                   std::int64_t k, bool relaxed) {
  std::erase_if(sensitive, [](const Sensitive& column) { return !column.asked.any(); });
  for (Sensitive& column : sensitive) column.asked = column.asked.eased();
  Problem problem{codes, attributes, std::move(sensitive), k, relaxed, {}, {}, {}};
  problem.order.resize(at(rows));
  std::iota(problem.order.begin(), problem.order.end(), 0);
  WorkStack<Node> stack(Node{0, rows});
  stack.run([&] { return Worker(problem, stack); }, rows / kShared + 1);
  std::sort(problem.leaves.begin(), problem.leaves.end(),
            [](const Node& x, const Node& y) { return x.begin < y.begin; });
  std::vector<std::int32_t> classes(at(rows));
  for (std::size_t c = 0; c < problem.leaves.size(); ++c)
    for (std::int64_t i = problem.leaves[c].begin; i < problem.leaves[c].end; ++i)
      classes[at(problem.order[at(i)])] = static_cast<std::int32_t>(c);
  return classes;
}

}  // namespace shoal
