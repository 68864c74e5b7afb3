#include "cheapest_matching.hpp"

#include <algorithm>
#include <atomic>

#include "sparse_assignment.hpp"
#include "workers.hpp"

namespace shoal {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Matching match_cheapest_together(const BoxTree& tree, std::span<const std::int32_t> known,
                                 std::size_t candidates) {
  const std::size_t n = at(tree.rows());
  std::vector<std::int32_t> holder(n);
  for (std::size_t record = 0; record < n; ++record)
    holder[at(known[record])] = static_cast<std::int32_t>(record);
  std::vector<std::vector<NearRecord>> near(n);
  std::atomic<std::int64_t> visited{0};
  share(n, 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t i) mutable {
      const std::int64_t before = search.visited;
      const auto box = static_cast<std::int32_t>(i);
      near[i] = tree.nearest_records(box, candidates, search);
      if (std::none_of(near[i].begin(), near[i].end(),
                       [&](const NearRecord& one) { return one.record == holder[i]; }))
        near[i].push_back({tree.extra_cost(box, tree.codes(holder[i])), holder[i]});
      visited += search.visited - before;
    };
  });
  std::vector<std::int64_t> starts(1, 0);
  std::vector<Edge> edges;
  for (const auto& records : near) {
    for (const NearRecord& one : records) edges.push_back({one.record, one.cost});
    starts.push_back(static_cast<std::int64_t>(edges.size()));
  }
  SparseAssignment solver;
  const auto& record_of = solver.solve(starts, edges, tree.rows());
  Matching matching;
  matching.box_of.resize(n);
  for (std::size_t box = 0; box < n; ++box)
    matching.box_of[at(record_of[box])] = static_cast<std::int32_t>(box);
  matching.queries = static_cast<std::int64_t>(n);
  matching.visited = visited;
  return matching;
}

}  // namespace shoal
