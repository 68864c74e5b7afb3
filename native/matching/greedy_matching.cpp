#include "matching/greedy_matching.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {

Matching match_in_order(BoxTree& tree, std::span<const std::int32_t> records,
                        std::span<const std::int32_t> costless) {
  constexpr double kTaken = -1.0;
  tree.set_box_limits(std::vector<double>(records.size(), kUnlimited));
  std::vector<std::int32_t> boxes(records.size());
  std::iota(boxes.begin(), boxes.end(), 0);
  Pairing pairing(tree, std::move(boxes));
  BoxTree::Search search;
  std::int64_t queries = 0;
  const Turns turns(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    turns.done(i);
    pause_sometimes();
    const std::int32_t record = records[i];
    std::int32_t box = costless[i];
    if (box < 0 || pairing.holder(box) >= 0 || tree.has_member(box, record)) {
      box = tree.nearest_box(record, search).box;
      ++queries;
    }
    if (box >= 0) {
      pairing.give(box, record);
    } else {
      std::vector<std::int32_t> before;
      for (std::size_t j = i; j-- > 0;) before.push_back(pairing.box_of(records[j]));
      box = pairing.exchange(record, before, Partner::first);
    }
    if (box < 0) break;  // there is no matching
    tree.set_box_limit(box, kTaken);
  }
  Matching matching = std::move(pairing).finish();
  matching.queries = queries;
  matching.visited = search.visited;
  return matching;
}

}  // namespace shoal
