#include "matching/row_matching.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "matching/parts.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kRecords = 64;     // near records that a box asks for
constexpr std::size_t kBoxes = 12;       // boxes looked at around each of them
constexpr std::size_t kCandidates = 16;  // the best of these boxes

struct Candidate {
  double rank;  // by what is added to the cost of the candidate, as some box has to take it in
  double cost;  // of both together
  std::int32_t box;
};

// What a thread needs to find candidates.
class Finder {
 public:
  Finder(const BoxTree& tree, std::span<const std::int32_t> boxes_of, std::size_t degree,
         std::span<const double> costs)
      : tree_(tree), boxes_of_(boxes_of), degree_(degree), costs_(costs), marked_(at(tree.rows()), -1),
        seen_(at(tree.rows()), -1) {}

  // The best candidates for a box, those that rank lowest.
  void find(std::int32_t box, std::vector<Candidate>& best) {
    best.clear();
    mark(box);
    for (const NearRecord& near : tree_.nearest_records(box, kRecords, search_, box)) {
      const std::int32_t* boxes = boxes_of_.data() + at(near.record) * degree_;
      for (std::size_t i = 0; i < std::min(kBoxes, degree_); ++i) {
        // Boxes ask from different places, so that they find different ones.
        const std::int32_t other = boxes[(at(box) + i) % degree_];
        if (std::exchange(seen_[at(other)], box) == box) continue;
        const double cost = united_cost(box, other);
        const Candidate one{cost - costs_[at(other)], cost, other};
        if ((best.size() < kCandidates || one.rank < best.back().rank) && is_apart(other)) add(one, best);
      }
    }
  }

  // Marks the members of a box; is_apart then says whether another one has none of them, nor of their owners.
  void mark(std::int32_t box) {
    marker_ = box;
    for (const std::int32_t record : tree_.members(box)) marked_[at(tree_.owner(record))] = box;
  }
  bool is_apart(std::int32_t other) const {
    return std::ranges::none_of(tree_.members(other), [&](std::int32_t record) {
      return marked_[at(tree_.owner(record))] == marker_;
    });
  }

  double united_cost(std::int32_t box, std::int32_t other) {
    double sum = 0.0;
    for (std::size_t a = 0; a < tree_.attributes(); ++a) {
      const Attribute& attribute = tree_.attribute(a);
      Cell both = tree_.cells(box)[a];
      both.unite(attribute, tree_.cells(other)[a]);
      double cost;
      if (attribute.kind != Kind::set)
        cost = attribute.interval_cost(both.low(), both.high());
      else if (attribute.size <= 64)
        cost = attribute.set_cost(std::popcount(both.bits()));
      else
        cost = attribute.set_cost(different_codes(box, other, a));
      sum += attribute.weight * cost;
    }
    return sum;
  }

 private:
  std::int64_t different_codes(std::int32_t box, std::int32_t other, std::size_t a) {
    codes_.clear();
    for (const std::int32_t of : {box, other})
      for (const std::int32_t record : tree_.members(of)) codes_.push_back(tree_.codes(record)[a]);
    std::ranges::sort(codes_);
    return std::unique(codes_.begin(), codes_.end()) - codes_.begin();
  }

  static void add(const Candidate& one, std::vector<Candidate>& best) {
    if (best.size() == kCandidates) best.pop_back();
    const auto after = std::ranges::upper_bound(best, one.rank, {}, &Candidate::rank);
    best.insert(after, one);
  }

  const BoxTree& tree_;
  std::span<const std::int32_t> boxes_of_;
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
      finder.mark(last);
      if (!finder.is_apart(via)) continue;
      double change = finder.united_cost(via, last);
      if (via != box) {
        finder.mark(box);
        if (!finder.is_apart(passed)) continue;
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

}  // namespace

std::vector<std::int32_t> match_rows(const BoxTree& tree) {
  const std::size_t n = at(tree.rows()), degree = tree.members(0).size();
  const std::vector<std::int32_t> boxes_of = rows_of(tree.all_members(), degree);
  std::vector<double> costs(n);
  for (std::size_t box = 0; box < n; ++box) costs[box] = tree.cost(static_cast<std::int32_t>(box));
  std::vector<std::vector<Edge>> wanted(n);
  share(n, 64, [&] {
    return [&, finder = Finder(tree, boxes_of, degree, costs),
            best = std::vector<Candidate>()](std::size_t box) mutable {
      finder.find(static_cast<std::int32_t>(box), best);
      for (const Candidate& one : best) wanted[box].push_back({one.box, one.cost});
    };
  });
  // Whom a box wants may take it in as well: so there are candidates for boxes that are wanted by none.
  std::vector<std::size_t> own(n);
  for (std::size_t box = 0; box < n; ++box) own[box] = wanted[box].size();
  for (std::size_t box = 0; box < n; ++box)
    for (std::size_t i = 0; i < own[box]; ++i) {
      const Edge edge = wanted[box][i];
      auto& back = wanted[at(edge.column)];
      const auto self = static_cast<std::int32_t>(box);
      if (std::none_of(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(own[at(edge.column)]),
                       [&](const Edge& one) { return one.column == self; }))
        back.push_back({self, edge.cost});
    }
  std::vector<std::int64_t> starts(1, 0);
  std::vector<Edge> edges;
  for (auto& of_box : wanted) {
    edges.insert(edges.end(), of_box.begin(), of_box.end());
    starts.push_back(static_cast<std::int64_t>(edges.size()));
    of_box = {};
  }
  SparseAssignment solver;
  std::vector<std::int32_t> taken = solver.solve(starts, edges, tree.rows());
  Finder finder(tree, boxes_of, degree, costs);
  if (!complete(finder, taken)) taken.clear();
  return taken;
}

}  // namespace shoal
