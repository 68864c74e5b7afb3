#include "matching/row_matching.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "matching/parts.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kRecords = 24;     // near records that a box asks for
constexpr std::size_t kBoxes = 6;        // boxes looked at around each of them
constexpr std::size_t kCandidates = 10;  // the best of these boxes

constexpr std::size_t kFew = 6;  // boxes that want another one

struct Candidate {
  double rank;  // by what is added to the cost of the candidate, as some box has to take it in
  double cost;  // of both together
  std::int32_t box;
};

// What a thread needs to find candidates: for the boxes of one tree, boxes of another one or of the same.
class Finder {
 public:
  Finder(const BoxTree& tree, const BoxTree& others, std::span<const std::int32_t> others_of,
         std::span<const double> costs)
      : tree_(tree), others_(others), others_of_(others_of), degree_(others.members(0).size()), costs_(costs),
        marked_(at(tree.rows()), -1), seen_(at(tree.rows()), -1) {}

  // The best candidates for a box, those that rank lowest.
  void find(std::int32_t box, std::vector<Candidate>& best) {
    best.clear();
    mark(box);
    for (const NearRecord& near : tree_.nearest_records(box, kRecords, search_, box)) {
      const std::int32_t* others = others_of_.data() + at(near.record) * degree_;
      for (std::size_t i = 0; i < std::min(kBoxes, degree_); ++i) {
        // Boxes ask from different places, so that they find different ones.
        const std::int32_t other = others[(at(box) + i) % degree_];
        if (std::exchange(seen_[at(other)], box) == box) continue;
        const bool full = best.size() == kCandidates;
        const double enough = full ? best.back().rank + costs_[at(other)] : kUnlimited;
        const double cost = united_cost(box, other, enough);
        const Candidate one{cost - costs_[at(other)], cost, other};
        if ((!full || one.rank < best.back().rank) && is_apart(other)) add(one, best);
      }
    }
  }

  // Whether a box and a candidate have different members, of different owners.
  bool are_apart(std::int32_t box, std::int32_t other) {
    mark(box);
    return is_apart(other);
  }

  // What both cost together. Once it is `enough` or more, it need not be exact.
  double united_cost(std::int32_t box, std::int32_t other, double enough = kUnlimited) {
    double sum = 0.0;
    for (std::size_t a = 0; a < tree_.attributes() && sum < enough; ++a) {
      const Attribute& attribute = tree_.attribute(a);
      Cell both = tree_.cells(box)[a];
      both.unite(attribute, others_.cells(other)[a]);
      double cost;
      if (attribute.kind != Kind::set)
        cost = attribute.interval_cost(both.low(), both.high());
      else if (attribute.size <= 64)
        cost = attribute.set_cost(count_bits(both.bits()));
      else
        cost = attribute.set_cost(different_codes(box, other, a));
      sum += attribute.weight * cost;
    }
    return sum;
  }

 private:
  // Marks the members of a box, for is_apart.
  void mark(std::int32_t box) {
    marker_ = box;
    for (const std::int32_t record : tree_.members(box)) marked_[at(tree_.owner(record))] = box;
  }
  bool is_apart(std::int32_t other) const {
    return std::ranges::none_of(others_.members(other), [&](std::int32_t record) {
      return marked_[at(tree_.owner(record))] == marker_;
    });
  }

  std::int64_t different_codes(std::int32_t box, std::int32_t other, std::size_t a) {
    codes_.clear();
    for (const std::int32_t record : tree_.members(box)) codes_.push_back(tree_.codes(record)[a]);
    for (const std::int32_t record : others_.members(other)) codes_.push_back(tree_.codes(record)[a]);
    std::ranges::sort(codes_);
    return std::unique(codes_.begin(), codes_.end()) - codes_.begin();
  }

  static void add(const Candidate& one, std::vector<Candidate>& best) {
    if (best.size() == kCandidates) best.pop_back();
    const auto after = std::ranges::upper_bound(best, one.rank, {}, &Candidate::rank);
    best.insert(after, one);
  }

  const BoxTree &tree_, &others_;
  std::span<const std::int32_t> others_of_;
  std::size_t degree_;
  std::span<const double> costs_;
  std::vector<std::int32_t> marked_, seen_;  // per owner and per box: the last box that was there
  std::int32_t marker_ = -1;
  std::vector<std::int32_t> codes_;
  BoxTree::Search search_;
};

// Gives the boxes that are left without one a box that is left, by way of another box if they are not apart.
bool complete(Finder& finder, std::vector<std::int32_t>& taken) {
  const auto n = static_cast<std::int32_t>(taken.size());
  std::vector<char> is_taken(taken.size(), 0);
  for (const std::int32_t other : taken)
    if (other >= 0) is_taken[at(other)] = 1;
  std::int32_t last = 0;
  for (std::int32_t box = 0; box < n; ++box) {
    if (taken[at(box)] >= 0) continue;
    pause();
    while (is_taken[at(last)]) ++last;
    is_taken[at(last)] = 1;
    std::int32_t best = -1;
    double least = kUnlimited;
    for (std::int32_t step = 0, found = 0; step < n && found < 64; ++step) {  // from the box outwards
      const std::int32_t via = (box + (step % 2 ? (step + 1) / 2 : n - step / 2)) % n,
                         passed = taken[at(via)];
      if (via != box && passed < 0) continue;
      if (!finder.are_apart(via, last)) continue;
      double change = finder.united_cost(via, last);
      if (via != box) {
        if (!finder.are_apart(box, passed)) continue;
        change += finder.united_cost(box, passed) - finder.united_cost(via, passed);
      }
      ++found;
      if (change < least) {
        least = change;
        best = via;
      }
    }
    if (best < 0) return false;
    taken[at(box)] = taken[at(best)];
    taken[at(best)] = last;
  }
  return true;
}

// The boxes that have each record, and what each box costs.
struct Known {
  explicit Known(const BoxTree& tree)
      : boxes_of(rows_of(tree.all_members(), tree.members(0).size())), costs(at(tree.rows())) {
    for (std::size_t box = 0; box < costs.size(); ++box)
      costs[box] = tree.cost(static_cast<std::int32_t>(box));
  }
  std::vector<std::int32_t> boxes_of;
  std::vector<double> costs;
};

// The candidates of each box that `asks` accepts.
template <typename Asks>
std::vector<std::vector<Edge>> wanted_by(const BoxTree& tree, const BoxTree& others, const Known& known,
                                         const Asks& asks) {
  std::vector<std::vector<Edge>> wanted(at(tree.rows()));
  share(wanted.size(), 64, [&] {
    return [&, finder = Finder(tree, others, known.boxes_of, known.costs),
            best = std::vector<Candidate>()](std::size_t box) mutable {
      if (!asks(box)) return;
      finder.find(static_cast<std::int32_t>(box), best);
      for (const Candidate& one : best) wanted[box].push_back({one.box, one.cost});
    };
  });
  return wanted;
}

// What the others want: those that few boxes want ask themselves; in the same tree, all do.
std::vector<std::vector<Edge>> wanting(const BoxTree& tree, const BoxTree& others,
                                       const std::vector<std::vector<Edge>>& wanted) {
  if (&tree == &others) return wanted;
  std::vector<std::size_t> times(wanted.size(), 0);
  for (const auto& of_box : wanted)
    for (const Edge& edge : of_box) ++times[at(edge.column)];
  return wanted_by(others, tree, Known(tree), [&](std::size_t other) { return times[other] < kFew; });
}

// Whom a box wants may take it in as well: so there are candidates for boxes that are wanted by none.
void add_wanting(std::vector<std::vector<Edge>>& wanted, const std::vector<std::vector<Edge>>& by_others) {
  std::vector<std::size_t> own;
  for (const auto& of_box : wanted) own.push_back(of_box.size());
  for (std::size_t box = 0; box < by_others.size(); ++box)
    for (const Edge& edge : by_others[box]) {
      auto& back = wanted[at(edge.column)];
      const auto self = static_cast<std::int32_t>(box);
      if (std::none_of(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(own[at(edge.column)]),
                       [&](const Edge& one) { return one.column == self; }))
        back.push_back({self, edge.cost});
    }
}

}  // namespace

std::vector<std::int32_t> match_rows(const BoxTree& tree, const BoxTree& others) {
  const Known known(others);
  std::vector<std::vector<Edge>> wanted = wanted_by(tree, others, known, [](std::size_t) { return true; });
  add_wanting(wanted, wanting(tree, others, wanted));
  std::vector<std::int64_t> starts(1, 0);
  std::vector<Edge> edges;
  for (auto& of_box : wanted) {
    edges.insert(edges.end(), of_box.begin(), of_box.end());
    starts.push_back(static_cast<std::int64_t>(edges.size()));
    of_box = {};
  }
  SparseAssignment solver;
  std::vector<std::int32_t> taken = solver.solve(starts, edges, tree.rows());
  Finder finder(tree, others, known.boxes_of, known.costs);
  if (!complete(finder, taken)) taken.clear();
  return taken;
}

}  // namespace shoal
