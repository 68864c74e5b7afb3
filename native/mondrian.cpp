#include "mondrian.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "workers.hpp"

namespace shoal {
namespace {

// Below this many records a node is finished by the worker that has it.
constexpr std::int64_t kShared = 4096;

// After this many cuts in a row only even ones are considered, in a tree between the children of the common
// ancestor. The cheapest cut may take off a handful of records each time, for instance one value after the
// other below a flat root: n / k cuts, each of which looks at up to n records.
constexpr std::int32_t kPatience = 64;

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
  const std::vector<Sensitive>& sensitive;
  const Demands& demands;
  bool relaxed;
  std::vector<std::int32_t> order;  // the records; every node is a stretch of it
  std::vector<Node> leaves;
  std::mutex leaves_mutex;

  const std::int32_t* record(std::int64_t i) const {
    return codes.data() + static_cast<std::size_t>(order[static_cast<std::size_t>(i)]) * attributes.size();
  }
};

// The smallest box around some records, grown one by one.
class Box {
 public:
  explicit Box(const std::vector<Attribute>& attributes)
      : attributes_(attributes), low_(attributes.size()), high_(attributes.size()), seen_(attributes.size()) {
    for (std::size_t a = 0; a < attributes.size(); ++a)
      if (attributes[a].kind == Kind::set) seen_[a].assign(static_cast<std::size_t>(attributes[a].size), 0);
  }

  void clear() {
    ++epoch_;
    count_ = 0;
  }

  void add(const std::int32_t* record) {
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const std::int32_t code = record[a];
      if (attributes_[a].kind == Kind::set) {
        auto& seen = seen_[a][static_cast<std::size_t>(code)];
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

  // What its records lose when they all show this box.
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

class Worker {
 public:
  Worker(Problem& problem, WorkStack<Node>& stack)
      : problem_(problem), stack_(stack), left_(problem.attributes), right_(problem.attributes),
        in_order_(problem.attributes.size()) {
    std::int32_t widest = 0, most_values = 0;
    for (const auto& attribute : problem.attributes) widest = std::max(widest, attribute.size);
    for (const auto& column : problem.sensitive) most_values = std::max(most_values, column.size);
    counts_.assign(static_cast<std::size_t>(widest), 0);
    tally_.assign(static_cast<std::size_t>(most_values), 0);
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
  // leaves both sides what they need. Of the cuts it considers, it takes the one that loses least.
  std::int64_t cut(Node node) {
    if (node.count() < 2 * problem_.demands.k) return -1;
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
      if (diverse({node.begin, middle}) && diverse({middle, node.end})) return middle;
      // Which records of a divided value go left depends on their order, and so does the loss just weighed.
      std::copy(before_.begin(), before_.end(), records);
    }
    return -1;
  }

  // Lists the attribute's codes that occur in the node: ascending, or for sets by falling frequency. Of all
  // ways to divide a set, the cheapest for a given number of codes on the left has the most frequent ones
  // there, so no other order needs to be looked at.
  void put_in_order(Node node, std::size_t a) {
    auto& [codes, counts] = in_order_[a];
    codes.clear();
    counts.clear();
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      const std::int32_t code = problem_.record(i)[a];
      if (counts_[static_cast<std::size_t>(code)]++ == 0) codes.push_back(code);
    }
    const bool set = problem_.attributes[a].kind == Kind::set;
    std::sort(codes.begin(), codes.end(), [&](std::int32_t x, std::int32_t y) {
      const auto often_x = counts_[static_cast<std::size_t>(x)], often_y = counts_[static_cast<std::size_t>(y)];
      return set && often_x != often_y ? often_x > often_y : x < y;
    });
    for (const std::int32_t code : codes) {
      counts.push_back(counts_[static_cast<std::size_t>(code)]);
      counts_[static_cast<std::size_t>(code)] = 0;
    }
  }

  // Adds up to three cuts of one attribute: the one that loses least in this attribute, the most even one,
  // and, if values may be divided, the exactly even one.
  void propose(Node node, std::size_t a, std::vector<Cut>& cuts) const {
    const auto& attribute = problem_.attributes[a];
    const auto& [codes, counts] = in_order_[a];
    const std::int64_t n = node.count(), k = problem_.demands.k, half = n / 2;
    const std::size_t m = codes.size();
    const bool hurried = node.depth >= kPatience;
    std::size_t cheapest = 0, evenest = 0, halfway = 0;
    double least = 0.0, widest = 0.0;
    std::int64_t left = 0, evenest_left = 0, halfway_left = 0;
    for (std::size_t i = 1; i <= m; ++i) {
      if (left + counts[i - 1] <= half) {
        halfway = i;
        halfway_left = left + counts[i - 1];
      }
      left += counts[i - 1];
      if (left < k || n - left < k) continue;
      const double loss = static_cast<double>(left) * cost(attribute, codes, 0, i) +
                          static_cast<double>(n - left) * cost(attribute, codes, i, m);
      if (cheapest == 0 || loss < least) {
        cheapest = i;
        least = loss;
      }
      const double gap = hurried && attribute.kind == Kind::tree ? cost(attribute, codes, i - 1, i + 1) : 0.0;
      const bool more_even = std::abs(2 * left - n) < std::abs(2 * evenest_left - n);
      if (evenest == 0 || gap > widest || (gap == widest && more_even)) {
        evenest = i;
        evenest_left = left;
        widest = gap;
      }
    }
    if (hurried) cheapest = evenest;
    if (cheapest > 0) cuts.push_back({a, cheapest, 0, 0.0});
    if (evenest != cheapest) cuts.push_back({a, evenest, 0, 0.0});
    if (problem_.relaxed && half > halfway_left) cuts.push_back({a, halfway, half - halfway_left, 0.0});
  }

  static double cost(const Attribute& attribute, const std::vector<std::int32_t>& codes, std::size_t begin,
                     std::size_t end) {
    return attribute.kind == Kind::set ? attribute.set_cost(static_cast<std::int64_t>(end - begin))
                                       : attribute.interval_cost(codes[begin], codes[end - 1]);
  }

  // Calls visit(record number in order, goes left) for each record of the node, in order.
  template <typename Visit>
  void divide(Node node, const Cut& cut, const Visit& visit) {
    const auto& codes = in_order_[cut.attribute].codes;
    for (std::size_t i = 0; i < cut.left_codes; ++i) counts_[static_cast<std::size_t>(codes[i])] = node.count();
    if (cut.ties > 0) counts_[static_cast<std::size_t>(codes[cut.left_codes])] = cut.ties;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      auto& room = counts_[static_cast<std::size_t>(problem_.record(i)[cut.attribute])];
      visit(i, room > 0);
      room -= room > 0;
    }
    for (const std::int32_t code : codes) counts_[static_cast<std::size_t>(code)] = 0;
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
      const std::int32_t record = problem_.order[static_cast<std::size_t>(i)];
      if (left) {
        problem_.order[static_cast<std::size_t>(middle++)] = record;
      } else {
        moved_.push_back(record);
      }
    });
    std::copy(moved_.begin(), moved_.end(), problem_.order.begin() + middle);
    return middle;
  }

  bool diverse(Node node) {
    if (!problem_.demands.diverse()) return true;
    return std::all_of(problem_.sensitive.begin(), problem_.sensitive.end(),
                       [&](const Sensitive& column) { return diverse(node, column); });
  }

  bool diverse(Node node, const Sensitive& column) {
    constexpr double kRounding = 1e-9;
    const auto code = [&](std::int64_t i) {
      return static_cast<std::size_t>(column.codes[static_cast<std::size_t>(problem_.order[static_cast<std::size_t>(i)])]);
    };
    const auto n = static_cast<double>(node.count());
    std::int64_t largest = 0, distinct = 0;
    double entropy = std::log(n);
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      distinct += tally_[code(i)] == 0;
      largest = std::max(largest, ++tally_[code(i)]);
    }
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      const auto often = static_cast<double>(std::exchange(tally_[code(i)], 0));
      if (often > 0) entropy -= often / n * std::log(often);
    }
    return static_cast<double>(largest) * problem_.demands.frequency_l <= n * (1.0 + kRounding) &&
           distinct >= problem_.demands.distinct && entropy >= problem_.demands.entropy - kRounding;
  }

  struct InOrder {
    std::vector<std::int32_t> codes;
    std::vector<std::int64_t> counts;
  };

  Problem& problem_;
  WorkStack<Node>& stack_;
  Box left_, right_;
  std::vector<InOrder> in_order_;     // per attribute, of the node at hand
  std::vector<std::int64_t> counts_;  // per code; zero between uses
  std::vector<std::int64_t> tally_;   // per sensitive value; zero between uses
  std::vector<std::int32_t> moved_, before_;
};

}  // namespace

std::vector<std::int32_t> mondrian(std::span<const std::int32_t> codes, std::int64_t rows,
                                   const std::vector<Attribute>& attributes,
                                   const std::vector<Sensitive>& sensitive, const Demands& demands,
                                   bool relaxed) {
  Problem problem{codes, attributes, sensitive, demands, relaxed, {}, {}, {}};
  problem.order.resize(static_cast<std::size_t>(rows));
  std::iota(problem.order.begin(), problem.order.end(), 0);
  WorkStack<Node> stack(Node{0, rows});
  stack.run([&] { return Worker(problem, stack); }, rows / kShared + 1);
  std::sort(problem.leaves.begin(), problem.leaves.end(),
            [](const Node& x, const Node& y) { return x.begin < y.begin; });
  std::vector<std::int32_t> classes(static_cast<std::size_t>(rows));
  for (std::size_t c = 0; c < problem.leaves.size(); ++c)
    for (std::int64_t i = problem.leaves[c].begin; i < problem.leaves[c].end; ++i)
      classes[static_cast<std::size_t>(problem.order[static_cast<std::size_t>(i)])] = static_cast<std::int32_t>(c);
  return classes;
}

}  // namespace shoal
