#include "patterns/pattern_cover.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "patterns/sieve.hpp"

namespace shoal {
namespace {

constexpr std::size_t examined_at_once = 48;  // patterns that are examined before any of them takes its rows
constexpr double shrunken = 0.8;              // rows are numbered anew when this share of them is left

// Leaves of each group only a part that is varied enough.
void keep_varied(const VariedRows& varied, std::span<const std::int32_t> numbers, std::int64_t k,
                 std::vector<std::int32_t>& candidates, std::vector<std::int32_t>& groups,
                 std::vector<std::int64_t>& sizes) {
  std::vector<std::vector<std::int32_t>> members(sizes.size());
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (sizes[at(groups[c])] >= k) members[at(groups[c])].push_back(numbers[at(candidates[c])]);
  for (std::size_t g = 0; g < members.size(); ++g) {
    if (members[g].empty()) continue;
    members[g] = varied.part(members[g], k);
    sizes[g] = static_cast<std::int64_t>(members[g].size());
  }
  std::size_t left = 0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto& part = members[at(groups[c])];
    if (!std::binary_search(part.begin(), part.end(), numbers[at(candidates[c])])) continue;
    candidates[left] = candidates[c];
    groups[left++] = groups[c];
  }
  candidates.resize(left);
  groups.resize(left);
}

}  // namespace

Cover cover(std::span<const std::int32_t> codes, std::size_t rows, std::span<const Columns> kept,
            std::int64_t k, bool shared, const VariedRows& varied) {
  const std::size_t columns = rows == 0 ? 0 : codes.size() / rows;
  Cover result{std::vector<std::int32_t>(rows, -1), 0};
  std::vector<std::int32_t> left(rows);
  std::iota(left.begin(), left.end(), 0);
  std::optional<Projections> projections;
  std::optional<Sieve> sieve;
  std::vector<std::vector<std::int32_t>> candidates(examined_at_once);
  std::vector<std::int64_t> counted(examined_at_once);
  std::vector<std::int32_t> groups;
  const auto taken = [&](std::int32_t row) { return result.pattern_of[at(row)] >= 0; };
  std::size_t waiting = rows;
  for (std::size_t begin = 0; begin < kept.size() && static_cast<std::int64_t>(waiting) >= (shared ? 1 : k);
       begin += examined_at_once) {
    const bool shrunk = static_cast<double>(waiting) < shrunken * static_cast<double>(left.size());
    if (!projections || (shrunk && !shared)) {
      std::erase_if(left, taken);
      projections.emplace(codes, columns, left);
      sieve.emplace(*projections, k, kept.size() - begin);
    }
    // Groups only shrink, so a group that is too small now can be skipped when its turn comes.
    const std::size_t count = std::min(examined_at_once, kept.size() - begin);
    share(count, 1, [&] {
      return [&, counter = Counter()](std::size_t i) mutable {
        candidates[i] = sieve->rows(kept[begin + i]);
        counted[i] = static_cast<std::int64_t>(candidates[i].size());
        candidates[i] = counter.frequent(*projections, kept[begin + i], k, candidates[i]);
      };
    });
    for (std::size_t i = 0; i < count; ++i) {
      result.counted += counted[i];
      if (!shared) std::erase_if(candidates[i], [&](std::int32_t row) { return taken(left[at(row)]); });
      if (static_cast<std::int64_t>(candidates[i].size()) < k) continue;
      auto sizes = group(*projections, kept[begin + i], candidates[i], groups);
      if (varied.any()) keep_varied(varied, left, k, candidates[i], groups, sizes);
      for (std::size_t c = 0; c < candidates[i].size(); ++c)
        if (const std::int32_t row = left[at(candidates[i][c])]; sizes[at(groups[c])] >= k && !taken(row)) {
          result.pattern_of[at(row)] = static_cast<std::int32_t>(begin + i);
          --waiting;
        }
    }
  }
  return result;
}

}  // namespace shoal
