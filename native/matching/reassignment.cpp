#include "matching/reassignment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kLooks = 96;   // other rows searched for pieces that a row might take
constexpr std::size_t kOffers = 24;  // the best of them

}  // namespace

Reassignment::Reassignment(Neighbourhood& here, QuickRandom& random)
    : here_(here), random_(random), given_(here), rest_(here), slots_(at(here.rows()) * here.degree()),
      near_(kLooks), seen_(at(here.rows())) {
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i] = i % here.degree();
}

std::int64_t Reassignment::run(std::size_t size, double temperature) {
  given_.clear(size);
  rest_.clear(here_.degree() - size);
  for (std::int32_t row = 0; row < here_.rows(); ++row) choose(row, size);
  std::fill(seen_.begin(), seen_.end(), -1);
  starts_.assign(1, 0);
  edges_.clear();
  for (std::int32_t row = 0; row < here_.rows(); ++row) {
    pause();
    offer(row);
    starts_.push_back(static_cast<std::int64_t>(edges_.size()));
  }
  if (temperature > 0.0)
    for (Edge& edge : edges_) edge.cost -= temperature * std::log(random_.unit());
  return take(solver_.solve(starts_, edges_, here_.rows(), temperature));  // there is noise already
}

// One member, and again and again the one that is nearest to those chosen before. Pieces of distant records
// would fit into no other row.
void Reassignment::choose(std::int32_t row, std::size_t size) {
  std::size_t* slots = slots_.data() + at(row) * here_.degree();
  std::swap(slots[0], slots[choose_first(row, size)]);
  given_.add(row, here_.member(row, slots[0]));
  for (std::size_t chosen = 1; chosen < size; ++chosen) {
    double least = kUnlimited;
    std::size_t best = chosen;
    for (std::size_t i = chosen; i < here_.degree(); ++i) {
      const double added = given_.added(row, here_.member(row, slots[i]));
      if (added >= least) continue;
      least = added;
      best = i;
    }
    std::swap(slots[chosen], slots[best]);
    given_.add(row, here_.member(row, slots[chosen]));
  }
  for (std::size_t i = size; i < here_.degree(); ++i) rest_.add(row, here_.member(row, slots[i]));
}

// The place of a member among the slots. A row that gives away a single one chooses a member that costs
// something ten times as likely as one that does not.
std::size_t Reassignment::choose_first(std::int32_t row, std::size_t size) {
  if (size > 1) return random_.below(static_cast<std::uint32_t>(here_.degree()));
  const std::size_t* slots = slots_.data() + at(row) * here_.degree();
  const auto weight = [&](std::size_t i) {
    return here_.saving(row, slots[i]) > kWorthwhileAlone ? 10U : 1U;
  };
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < here_.degree(); ++i) sum += weight(i);
  std::uint32_t left = random_.below(sum);
  std::size_t chosen = 0;
  while (left >= weight(chosen)) left -= weight(chosen++);
  return chosen;
}

// Whether the other piece has a record that the row keeps, or one of the same owner.
bool Reassignment::collides(std::int32_t row, std::int32_t other) const {
  const std::int32_t *kept = rest_.records(row), *coming = given_.records(other);
  return std::any_of(coming, coming + given_.size(), [&](std::int32_t record) {
    const std::int32_t owner = here_.owner(record);
    std::uint32_t found = 0;  // without branches: several at once
    for (std::size_t i = 0; i < rest_.size(); ++i)
      found |= static_cast<std::uint32_t>(here_.owner(kept[i]) == owner);
    return found != 0;
  });
}

// The cheapest pieces that the row might take, among those that near rows give away; its own first.
void Reassignment::offer(std::int32_t row) {
  const std::size_t begin = edges_.size();
  const double own = rest_.added(row, given_, row, kUnlimited);
  edges_.push_back({row, 0.0});
  seen_[at(row)] = row;
  here_.near(row, random_, near_);
  for (const std::int32_t other : near_) {
    if (seen_[at(other)] == row) continue;
    seen_[at(other)] = row;
    const bool full = edges_.size() - begin > kOffers;
    const double enough = full ? edges_.back().cost + own : kUnlimited;
    const double cost = rest_.added(row, given_, other, enough) - own;
    if (full && cost >= edges_.back().cost) continue;
    if (collides(row, other)) continue;
    if (!full) edges_.emplace_back();
    std::size_t place = edges_.size() - 1;
    for (; place > begin + 1 && edges_[place - 1].cost > cost; --place) edges_[place] = edges_[place - 1];
    edges_[place] = {other, cost};
  }
}

std::int64_t Reassignment::take(const std::vector<std::int32_t>& from) {
  std::vector<std::int32_t> changed;
  for (std::int32_t row = 0; row < here_.rows(); ++row) {
    const std::int32_t* coming = given_.records(from[at(row)]);
    if (!std::equal(coming, coming + given_.size(), given_.records(row))) changed.push_back(row);
  }
  for (const std::int32_t row : changed)
    for (std::size_t i = 0; i < given_.size(); ++i) here_.leave(row, slots_[at(row) * here_.degree() + i]);
  for (const std::int32_t row : changed)
    for (std::size_t i = 0; i < given_.size(); ++i)
      here_.put(row, slots_[at(row) * here_.degree() + i], given_.records(from[at(row)])[i]);
  for (const std::int32_t row : changed) here_.renew(row);
  return static_cast<std::int64_t>(changed.size());
}

}  // namespace shoal
