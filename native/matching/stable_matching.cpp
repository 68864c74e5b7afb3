#include "matching/stable_matching.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

struct Proposal {
  double cost;
  std::int32_t record, box;
};

// All free records ask at the same time.
std::vector<Proposal> ask(const BoxTree& tree, const std::vector<std::int32_t>& free,
                          std::atomic<std::int64_t>& visited) {
  std::vector<Proposal> offers(free.size());
  share(free.size(), 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t i) mutable {
      const std::int64_t before = search.visited;
      const Nearest found = tree.nearest_box(free[i], search);
      offers[i] = {found.cost, free[i], found.box};
      visited += search.visited - before;
    };
  });
  return offers;
}

}  // namespace

Matching match_cheapest_first(BoxTree& tree, std::vector<std::int32_t> records,
                              std::vector<std::int32_t> boxes,
                              std::span<const std::pair<std::int32_t, std::int32_t>> settled) {
  // Boxes that do not take part accept nothing.
  std::vector<double> limits(at(tree.rows()), -1.0);
  const auto limit = [&](std::int32_t box) -> double& { return limits[at(box)]; };
  for (const auto& pair : settled) boxes.push_back(pair.second);
  for (const std::int32_t box : boxes) limit(box) = kUnlimited;
  Pairing pairing(tree, std::move(boxes));
  for (const auto& [record, box] : settled) {
    if (tree.has_member(box, record)) {  // an exchange in an earlier round brought it there
      records.push_back(record);
    } else {
      limit(box) = 0.0;  // nothing is cheaper
      pairing.give(box, record);
    }
  }
  tree.set_box_limits(limits);

  std::vector<std::int32_t> free = std::move(records), stuck;
  std::int64_t queries = 0;
  std::atomic<std::int64_t> visited{0};
  while (!free.empty()) {
    std::vector<Proposal> offers = ask(tree, free, visited);
    queries += static_cast<std::int64_t>(free.size());
    std::sort(offers.begin(), offers.end(), [](const Proposal& x, const Proposal& y) {
      return x.cost != y.cost ? x.cost < y.cost : x.record < y.record;
    });
    free.clear();
    for (const Proposal& offer : offers) {
      if (offer.box < 0) {
        stuck.push_back(offer.record);
      } else if (offer.cost < tree.box_limit(offer.box)) {
        const std::int32_t refused = pairing.give(offer.box, offer.record);
        if (refused >= 0) free.push_back(refused);
        tree.set_box_limit(offer.box, offer.cost);
      } else {
        free.push_back(offer.record);
      }
    }
  }
  for (const std::int32_t record : stuck) pairing.exchange(record, pairing.boxes(), Partner::cheapest);
  Matching matching = std::move(pairing).finish();
  matching.queries = queries;
  matching.visited = visited;
  return matching;
}

}  // namespace shoal
