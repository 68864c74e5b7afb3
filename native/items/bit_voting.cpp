#include "items/bit_voting.hpp"

#include <algorithm>

#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kRowsAtATime = 256;  // rows that one thread takes at a time

// The outcome of some rows that follow each other.
struct VotedRows {
  std::vector<std::int32_t> base, uncertain;
};

}  // namespace

Voted vote(const ItemSets& sets, std::span<const std::int64_t> row_starts,
           std::span<const std::int32_t> records) {
  const std::size_t rows = row_starts.size() - 1;
  Voted voted;
  voted.base_starts.assign(rows + 1, 0);
  voted.uncertain_starts.assign(rows + 1, 0);
  voted.distances.resize(records.size());
  std::vector<VotedRows> stretches((rows + kRowsAtATime - 1) / kRowsAtATime);
  share(stretches.size(), 1, [&] {
    return [&, votes = std::vector<std::int32_t>(static_cast<std::size_t>(sets.width), 0),
            seen = std::vector<std::int32_t>()](std::size_t number) mutable {
      VotedRows& stretch = stretches[number];
      for (std::size_t row = number * kRowsAtATime; row < std::min(rows, (number + 1) * kRowsAtATime);
           ++row) {
        const auto begin = static_cast<std::size_t>(row_starts[row]),
                   end = static_cast<std::size_t>(row_starts[row + 1]);
        seen.clear();
        for (std::size_t i = begin; i < end; ++i)
          for (const std::int32_t item : sets.of(records[i]))
            if (votes[static_cast<std::size_t>(item)]++ == 0) seen.push_back(item);
        std::sort(seen.begin(), seen.end());
        const auto all = static_cast<std::int32_t>(end - begin);
        const std::size_t bases = stretch.base.size(), uncertain = stretch.uncertain.size();
        std::uint32_t phase = 0;
        for (const std::int32_t item : seen)
          if (2 * votes[static_cast<std::size_t>(item)] > all) phase += static_cast<std::uint32_t>(item);
        for (const std::int32_t item : seen) {
          std::int32_t& often = votes[static_cast<std::size_t>(item)];
          if (often < all) stretch.uncertain.push_back(item);
          const bool wins = 2 * often > all || (2 * often == all && phase++ % 2 == 0);
          if (wins) stretch.base.push_back(item);
          often = wins ? 1 : 0;
        }
        const std::size_t common = stretch.base.size() - bases;
        voted.base_starts[row + 1] = static_cast<std::int64_t>(common);
        voted.uncertain_starts[row + 1] = static_cast<std::int64_t>(stretch.uncertain.size() - uncertain);
        for (std::size_t i = begin; i < end; ++i) {
          std::int32_t shared = 0;
          const auto items = sets.of(records[i]);
          for (const std::int32_t item : items) shared += votes[static_cast<std::size_t>(item)];
          voted.distances[i] = static_cast<std::int32_t>(common + items.size()) - 2 * shared;
        }
        for (const std::int32_t item : seen) votes[static_cast<std::size_t>(item)] = 0;
      }
    };
  });
  for (std::size_t row = 0; row < rows; ++row) {
    voted.base_starts[row + 1] += voted.base_starts[row];
    voted.uncertain_starts[row + 1] += voted.uncertain_starts[row];
  }
  voted.base.reserve(static_cast<std::size_t>(voted.base_starts.back()));
  voted.uncertain.reserve(static_cast<std::size_t>(voted.uncertain_starts.back()));
  for (const VotedRows& stretch : stretches) {
    voted.base.insert(voted.base.end(), stretch.base.begin(), stretch.base.end());
    voted.uncertain.insert(voted.uncertain.end(), stretch.uncertain.begin(), stretch.uncertain.end());
  }
  return voted;
}

}  // namespace shoal
