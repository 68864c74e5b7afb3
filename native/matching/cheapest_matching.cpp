#include "matching/cheapest_matching.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kAtOnce = 8;  // further records that a box learns of at a time

// The records that each box knows of, each as an edge from the box to the record.
class Knowledge {
 public:
  // At first, all boxes ask for `count` records. They are in one piece of memory, with room for one more.
  Knowledge(const BoxTree& tree, std::size_t count)
      : tree_(tree), room_(std::min(count, at(tree.rows())) + 1), edges_(at(tree.rows()) * room_),
        sizes_(at(tree.rows()), 0), further_(at(tree.rows())), asked_again_(at(tree.rows()), 0) {
    std::vector<std::int32_t> boxes(at(tree.rows()));
    std::iota(boxes.begin(), boxes.end(), 0);
    ask(boxes, room_ - 1, [&](std::int32_t box, const std::vector<NearRecord>& found) {
      for (const NearRecord& one : found) add(box, {one.record, one.cost});
    });
  }

  std::span<const Edge> at_first(std::int32_t box) const {
    return {edges_.data() + at(box) * room_, sizes_[at(box)]};
  }
  // Those at first, or those found since, instead.
  std::span<const Edge> now(std::int32_t box) const {
    return asked_again_[at(box)] ? std::span<const Edge>(further_[at(box)]) : at_first(box);
  }

  void add(std::int32_t box, const Edge& edge) { edges_[at(box) * room_ + sizes_[at(box)]++] = edge; }

  void ask_again(const std::vector<std::int32_t>& boxes) {
    for (const std::int32_t box : boxes) asked_again_[at(box)] = 1;
    ask(boxes, kAtOnce, [&](std::int32_t box, const std::vector<NearRecord>& found) {
      further_[at(box)].clear();
      for (const NearRecord& one : found) further_[at(box)].push_back({one.record, one.cost});
    });
  }

  // The records at first, without gaps, and where those of each box begin. Nothing may be asked afterwards.
  std::pair<std::vector<std::int64_t>, std::span<const Edge>> all_at_first() {
    further_ = {};
    std::vector<std::int64_t> starts(1, 0);
    starts.reserve(sizes_.size() + 1);
    for (std::int32_t box = 0; box < tree_.rows(); ++box) {
      const auto known = at_first(box);
      std::copy(known.begin(), known.end(), edges_.begin() + static_cast<std::ptrdiff_t>(starts.back()));
      starts.push_back(starts.back() + static_cast<std::int64_t>(known.size()));
    }
    return {starts, std::span<const Edge>(edges_).first(at(starts.back()))};
  }

  std::int64_t queries() const { return queries_; }
  std::int64_t visited() const { return visited_; }

 private:
  // The boxes ask for their nearest records that would accept them, all at the same time. Among equals,
  // those that follow the box in the tree come first, so that boxes around copies want different ones.
  template <typename Keep>
  void ask(const std::vector<std::int32_t>& boxes, std::size_t count, const Keep& keep) {
    queries_ += static_cast<std::int64_t>(boxes.size());
    share(boxes.size(), 64, [&] {
      return [&, search = BoxTree::Search{}](std::size_t i) mutable {
        const std::int64_t before = search.visited;
        const std::int32_t box = boxes[i];
        std::vector<NearRecord> found = tree_.nearest_records(box, count, search, box);
        const auto rank = [&](const NearRecord& one) {
          return std::pair(one.cost, one.record > box ? one.record - box : tree_.rows() + one.record - box);
        };
        std::sort(found.begin(), found.end(),
                  [&](const NearRecord& x, const NearRecord& y) { return rank(x) < rank(y); });
        keep(box, found);
        visited_ += search.visited - before;
      };
    });
  }

  const BoxTree& tree_;
  std::size_t room_;
  std::vector<Edge> edges_;
  std::vector<std::size_t> sizes_;
  std::vector<std::vector<Edge>> further_;
  std::vector<char> asked_again_;
  std::int64_t queries_ = 0;
  std::atomic<std::int64_t> visited_{0};
};

struct Offer {
  double cost;
  std::int32_t box, record;
};

// A perfect matching by deferred acceptance: free boxes ask the nearest record without a better offer. They
// begin with the records they know of. Leaves no limits behind.
Matching stable(BoxTree& tree, Knowledge& knowledge) {
  std::vector<std::int32_t> free(at(tree.rows()));
  std::iota(free.begin(), free.end(), 0);
  Pairing pairing(tree, free);
  std::vector<std::size_t> next(free.size(), 0);
  std::vector<std::int32_t> asking;
  std::vector<Offer> offers;
  const auto refused = [&](const Edge& one) { return one.cost >= tree.record_limit(one.column); };
  while (!free.empty()) {
    const auto skip = [&](std::int32_t box) {
      const auto near = knowledge.now(box);
      while (next[at(box)] < near.size() && refused(near[next[at(box)]])) ++next[at(box)];
      return next[at(box)] == near.size();
    };
    asking.clear();
    std::copy_if(free.begin(), free.end(), std::back_inserter(asking), skip);
    knowledge.ask_again(asking);
    for (const std::int32_t box : asking) next[at(box)] = 0;
    offers.clear();
    for (const std::int32_t box : free) {
      const auto near = knowledge.now(box);
      if (next[at(box)] < near.size())
        offers.push_back({near[next[at(box)]].cost, box, near[next[at(box)]].column});
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
  tree.set_record_limits(std::vector<double>(at(tree.rows()), kUnlimited));
  for (std::int32_t record = 0; record < tree.rows(); ++record)
    if (pairing.box_of(record) < 0) pairing.exchange(record, pairing.boxes(), Partner::cheapest);
  return std::move(pairing).finish();
}

}  // namespace

Matching match_cheapest_together(BoxTree& tree, std::size_t candidates) {
  Knowledge knowledge(tree, candidates);
  Matching matching = stable(tree, knowledge);
  if (std::count(matching.box_of.begin(), matching.box_of.end(), -1) > 0) return matching;
  for (std::int32_t record = 0; record < tree.rows(); ++record) {
    const std::int32_t box = matching.box_of[at(record)];
    if (std::ranges::find(knowledge.at_first(box), record, &Edge::column) == knowledge.at_first(box).end())
      knowledge.add(box, {record, tree.extra_cost(box, tree.codes(record))});
  }
  const auto [starts, edges] = knowledge.all_at_first();
  SparseAssignment solver;
  const auto& record_of = solver.solve(starts, edges, tree.rows());
  for (std::int32_t box = 0; box < tree.rows(); ++box) matching.box_of[at(record_of[at(box)])] = box;
  matching.exchanged.clear();
  matching.queries = knowledge.queries();
  matching.visited = knowledge.visited();
  return matching;
}

}  // namespace shoal
