#include "trees/charges.hpp"

#include <algorithm>
#include <numeric>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr int kNewton = 30;  // maximum number of steps to level values; a few are enough
constexpr int kHalvings = 12;

}  // namespace

void Charges::begin(std::span<const double> prices, std::span<const double> copies,
                    std::span<const double> costs,
                    std::span<const std::pair<std::int32_t, std::int32_t>> uses, double most) {
  most_ = most;
  values_.assign(prices.begin(), prices.end());
  copies_.assign(copies.begin(), copies.end());
  costs_.assign(costs.begin(), costs.end());
  starts_.assign(costs.size() + 1, 0);
  for (const auto& [rung, _] : uses) ++starts_[at(rung) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  users_.resize(uses.size());
  for (const auto& [rung, record] : uses) users_[starts_[at(rung)]++] = record;
  std::rotate(starts_.begin(), starts_.end() - 1, starts_.end());
  starts_[0] = 0;
  charges_.assign(uses.size(), 0.0);
}

void Charges::sweep(double threshold, bool backwards) {
  const std::size_t rungs = costs_.size();
  for (std::size_t i = 0; i < rungs; ++i) charge(backwards ? rungs - 1 - i : i, threshold);
}

void Charges::charged(std::span<const double> times, std::vector<double>& sums) const {
  sums.assign(costs_.size(), 0.0);
  for (std::size_t rung = 0; rung < costs_.size(); ++rung)
    for (std::size_t use = starts_[rung]; use < starts_[rung + 1]; ++use)
      sums[rung] += times[at(users_[use])] * charges_[use];
}

// Charges the users of a rung anew: all that is above the threshold, if the rung costs as much.
void Charges::charge(std::size_t rung, double threshold) {
  const std::size_t begin = starts_[rung], end = starts_[rung + 1];
  excess_.clear();
  double sum = 0.0;
  for (std::size_t use = begin; use < end; ++use) {
    const std::size_t user = at(users_[use]);
    const double excess = std::max(0.0, values_[user] + charges_[use] - threshold);
    excess_.emplace_back(excess, copies_[user]);
    sum += excess * copies_[user];
  }
  const auto [each, above] = sum <= costs_[rung] ? Level{0.0, 0.0} : level(costs_[rung]);
  double spent = most_ * each;  // no less than what any `most` users are charged
  for (const auto& [excess, copies] : excess_) spent += copies * std::max(0.0, excess - each - above);
  const double scale = spent > costs_[rung] ? costs_[rung] / spent : 1.0;
  for (std::size_t use = begin; use < end; ++use) {
    const double excess = excess_[use - begin].first;
    const double charge = scale * (std::min(excess, each) + std::max(0.0, excess - each - above));
    values_[at(users_[use])] += charges_[use] - charge;
    charges_[use] = charge;
  }
}

// Charges the highest, so that they become equal. If so many users are left with a part of it that it is
// cheaper to charge all of them, a crowd's worth at a time, it does both.
Charges::Level Charges::level(double cost) const {
  double alone = 0.0;
  for (int step = 0; step < kNewton; ++step) {
    double sum = -cost, count = 0.0;
    for (const auto& [excess, copies] : excess_)
      if (excess > alone) {
        sum += copies * (excess - alone);
        count += copies;
      }
    if (sum <= cost * kRounding || count == 0.0) break;
    alone += sum / count;
  }
  double left = 0.0;
  for (const auto& [excess, copies] : excess_) left += copies * std::min(excess, alone);
  return left <= most_ * alone ? Level{0.0, alone} : shared_level(cost, alone);
}

// Finds e and a such that charging each up to e, and besides what is above e + a, uses up the cost, and
// what is left is as much as `most` records with a would have.
Charges::Level Charges::shared_level(double cost, double alone) const {
  Level best{0.0, alone};
  double low = alone, high = alone;
  for (const auto& [excess, _] : excess_) high = std::max(high, excess);
  for (int step = 0; step < kHalvings; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0.0;
    for (const auto& [excess, copies] : excess_) sum += copies * std::max(0.0, excess - middle);
    const double each = (cost - sum) / most_;
    double left = most_ * (each - middle);
    if (left < 0.0)
      for (const auto& [excess, copies] : excess_)
        left += copies * std::max(0.0, std::min(excess, middle) - each);
    if (left > 0.0 && each < middle) {
      low = middle;
      if (each >= 0.0) best = {each, middle - each};
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace shoal
