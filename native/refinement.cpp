#include "refinement.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace shoal {
namespace {

constexpr int kCandidates = 64;   // records looked at for each member of a row
constexpr double kWorth = 1e-12;  // a change of less is rounding

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Refinement::Refinement(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                       std::vector<std::int32_t> members, std::int32_t degree)
    : codes_(codes), attributes_(attributes), members_(std::move(members)), degree_(at(degree)) {
  const std::size_t n = members_.size() / degree_;
  rows_of_.resize(members_.size());
  std::vector<std::size_t> filled(n, 0);
  for (std::size_t place = 0; place < members_.size(); ++place) {
    const std::int32_t record = members_[place];
    rows_of_[at(record) * degree_ + filled[at(record)]++] = static_cast<std::int32_t>(place / degree_);
  }
  costs_.resize(n);
  savings_.resize(members_.size());
  seen_.assign(n, 0);
  for (std::size_t r = 0; r < n; ++r) renew(static_cast<std::int32_t>(r));
}

std::int64_t Refinement::sweep(RandomWords& random) {
  std::int64_t made = 0;
  std::vector<std::size_t> slots(degree_);
  for (std::size_t r = 0; r < costs_.size(); ++r) {
    const auto mine = static_cast<std::int32_t>(r);
    std::iota(slots.begin(), slots.end(), std::size_t{0});
    const double* savings = savings_.data() + r * degree_;
    std::sort(slots.begin(), slots.end(),
              [&](std::size_t x, std::size_t y) { return savings[x] > savings[y]; });
    for (const std::size_t slot : slots) {
      if (savings[slot] <= kWorth) continue;  // nothing to gain by giving this one away
      const Exchange best = best_exchange(mine, slot, random);
      if (best.change >= -kWorth) continue;
      exchange(mine, slot, best.other_row, best.other_slot);
      ++made;
    }
  }
  return made;
}

double Refinement::cost() const {
  return std::accumulate(costs_.begin(), costs_.end(), 0.0);
}

bool Refinement::has(std::int32_t r, std::int32_t record) const {
  return std::find(row(r), row(r) + degree_, record) != row(r) + degree_;
}

double Refinement::cost_with(std::int32_t r, std::size_t slot, std::int32_t record) const {
  scratch_.assign(row(r), row(r) + degree_);
  scratch_[slot] = record;
  return cost_of(scratch_.data(), degree_);
}

double Refinement::cost_without(std::int32_t r, std::size_t slot) const {
  scratch_.assign(row(r), row(r) + degree_);
  std::swap(scratch_[slot], scratch_.back());
  return cost_of(scratch_.data(), degree_ - 1);
}

double Refinement::cost_of(const std::int32_t* records, std::size_t count) const {
  const std::size_t d = attributes_.size();
  double sum = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const auto& attribute = attributes_[a];
    const auto code = [&](std::size_t i) { return codes_[at(records[i]) * d + a]; };
    if (attribute.kind != Kind::set) {
      std::int32_t low = code(0), high = low;
      for (std::size_t i = 1; i < count; ++i) {
        low = std::min(low, code(i));
        high = std::max(high, code(i));
      }
      sum += attribute.weight * attribute.interval_cost(low, high);
    } else if (attribute.size <= 64) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < count; ++i) bits |= std::uint64_t{1} << code(i);
      sum += attribute.weight * attribute.set_cost(std::popcount(bits));
    } else {
      distinct_.clear();
      for (std::size_t i = 0; i < count; ++i) distinct_.push_back(code(i));
      std::sort(distinct_.begin(), distinct_.end());
      const auto end = std::unique(distinct_.begin(), distinct_.end());
      sum += attribute.weight * attribute.set_cost(end - distinct_.begin());
    }
  }
  return sum;
}

// The member in `slot` of row r goes to another row, which gives a record in return.
Refinement::Exchange Refinement::best_exchange(std::int32_t r, std::size_t slot, RandomWords& random) {
  const std::int32_t given = row(r)[slot];
  const auto pick = [&] {
    return at(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(degree_))));
  };
  Exchange best{0.0, -1, 0};
  ++searches_;
  for (int tries = 0; tries < kCandidates; ++tries) {
    // From a member of this row to one of its rows, and to a member of that: a near record.
    const std::int32_t between = rows_of_[at(row(r)[pick()]) * degree_ + pick()];
    const std::int32_t taken = row(between)[pick()];
    if (seen_[at(taken)] == searches_ || has(r, taken)) continue;
    seen_[at(taken)] = searches_;
    const double change = cost_with(r, slot, taken) - costs_[at(r)];
    if (change >= 0.0) continue;  // the other row can hardly gain by a record that came from afar
    for (std::size_t i = 0; i < degree_; ++i) {
      const std::int32_t other = rows_of_[at(taken) * degree_ + i];
      const auto other_slot =
          static_cast<std::size_t>(std::find(row(other), row(other) + degree_, taken) - row(other));
      if (has(other, given)) continue;
      if (change - savings_[at(other) * degree_ + other_slot] >= best.change) continue;  // at the very best
      const double both = change + cost_with(other, other_slot, given) - costs_[at(other)];
      if (both < best.change) best = {both, other, other_slot};
    }
  }
  return best;
}

void Refinement::exchange(std::int32_t r, std::size_t slot, std::int32_t other, std::size_t other_slot) {
  std::int32_t& given = row(r)[slot];
  std::int32_t& taken = row(other)[other_slot];
  const auto moves = [&](std::int32_t record, std::int32_t from, std::int32_t to) {
    std::int32_t* rows = rows_of_.data() + at(record) * degree_;
    *std::find(rows, rows + degree_, from) = to;
  };
  moves(given, r, other);
  moves(taken, other, r);
  std::swap(given, taken);
  renew(r);
  renew(other);
}

void Refinement::renew(std::int32_t r) {
  costs_[at(r)] = cost_of(row(r), degree_);
  for (std::size_t slot = 0; slot < degree_; ++slot)
    savings_[at(r) * degree_ + slot] = degree_ > 1 ? costs_[at(r)] - cost_without(r, slot) : 0.0;
}

}  // namespace shoal
