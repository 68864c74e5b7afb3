#include "items/near_sets.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kFew = 4096;  // sets that are compared all with all
constexpr std::size_t kGrain = 64;  // sets that one thread takes at a time

using Found = std::pair<std::int32_t, std::int32_t>;  // distance, set

// The nearest sets among those that are offered. Each thread needs its own.
class NearestSets {
 public:
  NearestSets(const PackedSets& sets, std::size_t count)
      : compare_(sets), count_(count), seen_(at(sets.sets().size()), -1) {}

  void begin(std::int32_t set) {
    compare_.take(set);
    set_ = set;
    seen_[at(set)] = set;
    heap_.clear();
  }
  void show(std::int32_t other) {
    if (seen_[at(other)] == set_) return;
    seen_[at(other)] = set_;
    keep({compare_.weighted(other), other});
  }
  void show_known(const Found& found) {
    if (seen_[at(found.second)] == set_) return;
    seen_[at(found.second)] = set_;
    keep(found);
  }
  void end(Found* nearest) {
    std::sort_heap(heap_.begin(), heap_.end());
    std::copy(heap_.begin(), heap_.end(), nearest);
  }

 private:
  void keep(const Found& found) {
    if (heap_.size() == count_) {
      if (!(found < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = found;
    } else {
      heap_.push_back(found);
    }
    std::push_heap(heap_.begin(), heap_.end());
  }

  Comparison compare_;
  std::size_t count_;
  std::int32_t set_ = -1;
  std::vector<std::int32_t> seen_;  // per set: the last it was shown to
  std::vector<Found> heap_;
};

// Up to `count` sets that have each set as a neighbour, and how many these are.
std::pair<std::vector<std::int32_t>, std::vector<std::size_t>> turned(const std::vector<Found>& nearest,
                                                                      std::size_t count) {
  const std::size_t n = nearest.size() / count;
  std::vector<std::int32_t> whose(nearest.size());
  std::vector<std::size_t> filled(n, 0);
  for (std::size_t rank = 0; rank < count; ++rank)  // nearest first, as they help most
    for (std::size_t set = 0; set < n; ++set) {
      const std::size_t other = at(nearest[set * count + rank].second);
      if (filled[other] < count) whose[other * count + filled[other]++] = static_cast<std::int32_t>(set);
    }
  return {std::move(whose), std::move(filled)};
}

}  // namespace

std::vector<std::int32_t> near_sets(const PackedSets& sets, std::span<const std::int32_t> orders,
                                    std::size_t count, std::int32_t rounds) {
  const std::size_t n = at(sets.sets().size());
  std::vector<Found> nearest(n * count);
  const bool few = n <= kFew;
  std::vector<std::int32_t> places(few ? 0 : orders.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i / n * n + at(orders[i])] = static_cast<std::int32_t>(i % n);
  share(n, kGrain, [&] {
    return [&, search = NearestSets(sets, count)](std::size_t set) mutable {
      search.begin(static_cast<std::int32_t>(set));
      if (few) {
        for (std::size_t other = 0; other < n; ++other) search.show(static_cast<std::int32_t>(other));
      } else {
        for (std::size_t first = 0; first < orders.size(); first += n)
          for (std::size_t step = 1; step <= count; ++step) {
            const std::size_t place = at(places[first + set]);
            search.show(orders[first + (place + step) % n]);
            search.show(orders[first + (place + n - step) % n]);
          }
      }
      search.end(nearest.data() + set * count);
    };
  });
  for (std::int32_t round = 0; round < rounds && !few; ++round) {
    const std::vector<Found> before = nearest;
    const auto [whose, filled] = turned(before, count);
    share(n, kGrain, [&, &whose = whose, &filled = filled] {
      return [&, search = NearestSets(sets, count)](std::size_t set) mutable {
        search.begin(static_cast<std::int32_t>(set));
        const auto mine = std::span(before).subspan(set * count, count);
        for (const Found& found : mine) search.show_known(found);
        const auto show_around = [&](std::int32_t other) {
          search.show(other);
          for (const auto& [_, next] : std::span(before).subspan(at(other) * count, count)) search.show(next);
        };
        for (const auto& [_, other] : mine) show_around(other);
        for (std::size_t i = 0; i < filled[set]; ++i) show_around(whose[set * count + i]);
        search.end(nearest.data() + set * count);
      };
    });
  }
  std::vector<std::int32_t> numbers(nearest.size());
  std::transform(nearest.begin(), nearest.end(), numbers.begin(), [](const Found& f) { return f.second; });
  return numbers;
}

}  // namespace shoal
