#include "matching/cheapest_matching.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kAtOnce = 8;  // further records that a box learns of at a time

// The records that each box knows of.
class Knowledge {
 public:
  explicit Knowledge(const BoxTree& tree) : tree_(tree), near_(at(tree.rows())) {}

  std::vector<NearRecord>& near(std::int32_t box) { return near_[at(box)]; }

  // The boxes ask for their nearest records that would accept them, all at the same time. Among equals,
  // those that follow the box in the tree come first, so that boxes around copies want different ones.
  void ask(const std::vector<std::int32_t>& boxes, std::size_t count) {
    queries_ += static_cast<std::int64_t>(boxes.size());
    share(boxes.size(), 64, [&] {
      return [&, search = BoxTree::Search{}](std::size_t i) mutable {
        const std::int64_t before = search.visited;
        const std::int32_t box = boxes[i];
        near(box) = tree_.nearest_records(box, count, search, box);
        const auto rank = [&](const NearRecord& one) {
          return std::pair(one.cost, one.record > box ? one.record - box : tree_.rows() + one.record - box);
        };
        std::sort(near(box).begin(), near(box).end(),
                  [&](const NearRecord& x, const NearRecord& y) { return rank(x) < rank(y); });
        visited_ += search.visited - before;
      };
    });
  }

  std::int64_t queries() const { return queries_; }
  std::int64_t visited() const { return visited_; }

 private:
  const BoxTree& tree_;
  std::vector<std::vector<NearRecord>> near_;
  std::int64_t queries_ = 0;
  std::atomic<std::int64_t> visited_{0};
};

struct Offer {
  double cost;
  std::int32_t box, record;
};

// A perfect matching by deferred acceptance: free boxes ask the nearest record without a better offer. They
// begin with the records they know of. Leaves no limits behind.
Matching stable(BoxTree& tree, const std::vector<std::vector<NearRecord>>& known, Knowledge& further) {
  std::vector<std::int32_t> free(known.size());
  std::iota(free.begin(), free.end(), 0);
  for (const std::int32_t box : free) further.near(box) = known[at(box)];
  Pairing pairing(tree, free);
  std::vector<std::size_t> next(known.size(), 0);
  std::vector<std::int32_t> asking;
  std::vector<Offer> offers;
  const auto refused = [&](const NearRecord& one) { return one.cost >= tree.record_limit(one.record); };
  while (!free.empty()) {
    const auto skip = [&](std::int32_t box) {
      const auto& near = further.near(box);
      while (next[at(box)] < near.size() && refused(near[next[at(box)]])) ++next[at(box)];
      return next[at(box)] == near.size();
    };
    asking.clear();
    std::copy_if(free.begin(), free.end(), std::back_inserter(asking), skip);
    further.ask(asking, kAtOnce);
    for (const std::int32_t box : asking) next[at(box)] = 0;
    offers.clear();
    for (const std::int32_t box : free) {
      const auto& near = further.near(box);
      if (next[at(box)] < near.size())
        offers.push_back({near[next[at(box)]].cost, box, near[next[at(box)]].record});
    }
    std::sort(offers.begin(), offers.end(), [](const Offer& x, const Offer& y) {
      return x.cost != y.cost ? x.cost < y.cost : x.box < y.box;
    });
    free.clear();
    for (const Offer& offer : offers) {
      if (offer.cost >= tree.record_limit(offer.record)) {
        free.push_back(offer.box);
        continue;
      }
      if (const std::int32_t before = pairing.box_of(offer.record); before >= 0) free.push_back(before);
      pairing.give(offer.box, offer.record);
      tree.set_record_limit(offer.record, offer.cost);
    }
  }
  tree.set_record_limits(std::vector<double>(known.size(), kUnlimited));
  for (std::int32_t record = 0; record < tree.rows(); ++record)
    if (pairing.box_of(record) < 0) pairing.exchange(record, pairing.boxes(), Partner::cheapest);
  return std::move(pairing).finish();
}

}  // namespace

Matching match_cheapest_together(BoxTree& tree, std::size_t candidates) {
  std::vector<std::int32_t> boxes(at(tree.rows()));
  std::iota(boxes.begin(), boxes.end(), 0);
  Knowledge knowledge(tree);
  knowledge.ask(boxes, candidates);
  std::vector<std::vector<NearRecord>> near;
  for (const std::int32_t box : boxes) near.push_back(std::move(knowledge.near(box)));
  Matching matching = stable(tree, near, knowledge);
  if (std::count(matching.box_of.begin(), matching.box_of.end(), -1) > 0) return matching;
  for (std::int32_t record = 0; record < tree.rows(); ++record) {
    const std::int32_t box = matching.box_of[at(record)];
    auto& known = near[at(box)];
    if (std::none_of(known.begin(), known.end(), [&](const NearRecord& one) { return one.record == record; }))
      known.push_back({tree.extra_cost(box, tree.codes(record)), record});
  }
  std::vector<std::int64_t> starts(1, 0);
  std::vector<Edge> edges;
  for (const auto& of_box : near) {
    for (const NearRecord& one : of_box) edges.push_back({one.record, one.cost});
    starts.push_back(static_cast<std::int64_t>(edges.size()));
  }
  SparseAssignment solver;
  const auto& record_of = solver.solve(starts, edges, tree.rows());
  for (const std::int32_t box : boxes) matching.box_of[at(record_of[at(box)])] = box;
  matching.exchanged.clear();
  matching.queries = knowledge.queries();
  matching.visited = knowledge.visited();
  return matching;
}

}  // namespace shoal
