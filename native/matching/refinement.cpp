#include "matching/refinement.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"
#include "matching/neighbourhood.hpp"
#include "matching/parts.hpp"
#include "matching/reassignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kPart = kDivideAlways ? 16 : 4096;  // rows
constexpr std::size_t kMany = 13;  // records of a row, from which on it first asks which rows suit a record
constexpr std::size_t kNoPlace = ~std::size_t{0};

// Every row in turn gives away its members, the most expensive first.
class Exchanges {
 public:
  Exchanges(Neighbourhood& here, QuickRandom& random, std::int32_t looks)
      : here_(here), random_(random), near_(at(looks)) {}

  std::int64_t run() {
    std::int64_t made = 0;
    std::vector<std::pair<double, std::int32_t>> dearest;
    for (std::int32_t row = 0; row < here_.rows(); ++row) {
      pause();
      dearest.clear();
      for (std::size_t slot = 0; slot < here_.degree(); ++slot)
        if (here_.saving(row, slot) > kWorthwhileAlone)
          dearest.emplace_back(-here_.saving(row, slot), here_.member(row, slot));
      if (dearest.empty()) continue;
      std::sort(dearest.begin(), dearest.end());
      look_around(row, -dearest.front().first);
      for (const auto& [_, record] : dearest) {
        const std::size_t slot = here_.slot_of(row, record);
        if (slot < here_.degree() && here_.saving(row, slot) > kWorthwhileAlone) made += give_away(row, slot);
      }
    }
    return made;
  }

 private:
  struct Candidate {
    double fit;     // what it costs the row to take it in, about the least, whichever member leaves
    double saving;  // the most that one of its rows saves without it; below 0 if that is unknown
    std::int32_t record;
  };

  // Finds records of near rows that the row might take: those that cost less than `most`.
  void look_around(std::int32_t row, double most) {
    candidates_.clear();
    const auto degree = static_cast<std::uint32_t>(here_.degree());
    here_.near(row, random_, near_);
    for (std::int32_t& one : near_) one = here_.member(one, random_.below(degree));
    for (const std::int32_t record : near_) {
      const double fit = here_.fit(row, record);
      if (fit < most && !here_.has(row, record)) candidates_.push_back({fit, -1.0, record});
    }
  }

  double most_saved(std::int32_t record) const {
    double most = 0.0;
    const auto [first, end] = here_.places_of(record);
    for (std::size_t place = first; place < end; ++place) most = std::max(most, here_.saving(place));
    return most;
  }

  // Looks at the candidates, and at all rows that have them.
  bool give_away(std::int32_t row, std::size_t slot) {
    const std::int32_t given = here_.member(row, slot);
    const double saved = here_.saving(row, slot);
    double best = -kWorthwhileAlone;
    std::size_t chosen = kNoPlace;
    const bool many = here_.degree() >= kMany;
    homes_.clear();
    for (Candidate& one : candidates_) {
      if (one.fit >= saved) continue;
      const double mine = here_.extra(row, slot, one.record, saved) - saved;
      if (mine >= 0.0) continue;  // a distant record hardly helps
      if (one.saving < 0.0) one.saving = most_saved(one.record);
      if (mine - one.saving >= best || here_.has_beside(row, slot, one.record)) continue;
      if (many && homes_.empty()) here_.find_homes(given, homes_);
      const auto [first, end] = here_.places_of(one.record);
      for (std::size_t place = first; place < end; ++place) {
        const std::int32_t other = here_.row_of(place);
        if (many && (homes_[at(other) / 64] >> at(other) % 64 & 1U) == 0) continue;
        const double least = mine - here_.saving(place);
        if (least >= best) continue;  // even if its row takes the other for nothing
        const double most = best - least;
        if (here_.fit(other, given) >= most) continue;
        const std::size_t other_slot = here_.slot_at(place);
        const double both = least + here_.extra(other, other_slot, given, most);
        if (both >= best || here_.has_beside(other, other_slot, given)) continue;
        best = both;
        chosen = place;
      }
    }
    if (chosen == kNoPlace) return false;
    exchange(row, slot, here_.row_of(chosen), here_.slot_at(chosen));
    return true;
  }

  void exchange(std::int32_t row, std::size_t slot, std::int32_t other, std::size_t other_slot) {
    const std::int32_t given = here_.member(row, slot), taken = here_.member(other, other_slot);
    here_.leave(row, slot);
    here_.leave(other, other_slot);
    here_.put(row, slot, taken);
    here_.put(other, other_slot, given);
    here_.renew(row);
    here_.renew(other);
    for (Candidate& one : candidates_) {
      one.fit = here_.fit(row, one.record);
      one.saving = -1.0;
    }
  }

  Neighbourhood& here_;
  QuickRandom& random_;
  std::vector<std::int32_t> near_;  // rows, then a record of each
  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> homes_;  // rows that suit the member that is given away
};

}  // namespace

Refinement::Refinement(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                       std::vector<std::int32_t> members, std::int32_t degree,
                       std::span<const std::int32_t> owners)
    : codes_(codes), owners_(owners), attributes_(attributes), members_(std::move(members)),
      degree_(at(degree)), costs_(members_.size() / degree_) {
  std::vector<std::int32_t> rows(costs_.size());
  std::iota(rows.begin(), rows.end(), 0);
  const std::span<const std::int32_t> all(rows);
  std::vector<std::int32_t> numbers(costs_.size(), Neighbourhood::kUnknown);
  for (std::size_t begin = 0; begin < rows.size(); begin += kPart) {
    const auto some = all.subspan(begin, std::min(kPart, rows.size() - begin));
    const Neighbourhood here(codes_, attributes_, members_, degree_, some, 0.0, numbers);
    for (std::int32_t row = 0; row < here.rows(); ++row) costs_[begin + at(row)] = here.cost(row);
  }
}

double Refinement::cost() const {
  return std::accumulate(costs_.begin(), costs_.end(), 0.0);
}

std::int64_t Refinement::exchange(double foresight, std::int32_t looks, RandomWords& random) {
  return refine_parts(foresight, random, [&](Neighbourhood& here, QuickRandom& quick) {
    return Exchanges(here, quick, looks).run();
  });
}

std::int64_t Refinement::reassign(std::int32_t times, double temperature, std::int32_t most,
                                  RandomWords& random) {
  if (degree_ == 1) return 0;  // such rows cost nothing
  const auto larger = static_cast<std::uint32_t>(std::min(at(most), (degree_ + 1) / 2)) - 1U;
  return refine_parts(0.0, random, [&](Neighbourhood& here, QuickRandom& quick) {
    Reassignment reassignment(here, quick);
    std::int64_t moved = 0;
    for (std::int32_t i = 0; i < times; ++i) {
      const bool is_single = larger == 0 || quick.below(2) == 0;
      moved += reassignment.run(is_single ? 1 : 2 + quick.below(larger), temperature);
    }
    return moved;
  });
}

template <typename Work>
std::int64_t Refinement::refine_parts(double foresight, RandomWords& random, const Work& work) {
  const auto cut = parts(members_, degree_, kPart, random);
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < cut.size(); ++i)
    seeds.push_back(std::uint64_t{random.below(0xffffffffU)} << 32U | random.below(0xffffffffU));
  std::atomic<std::int64_t> sum{0};
  share_parts(cut.size(), [&] {
    return [&, numbers =
                   std::vector<std::int32_t>(costs_.size(), Neighbourhood::kUnknown)](std::size_t i) mutable {
      Neighbourhood here(codes_, attributes_, members_, degree_, cut[i], foresight, numbers, owners_);
      QuickRandom quick(seeds[i]);
      sum += work(here, quick);
      for (std::int32_t row = 0; row < here.rows(); ++row) {
        const std::size_t outer = at(cut[i][at(row)]);
        costs_[outer] = here.cost(row);
        for (std::size_t slot = 0; slot < degree_; ++slot)
          members_[outer * degree_ + slot] = here.outer_member(row, slot);
      }
    };
  });
  return sum;
}

}  // namespace shoal
