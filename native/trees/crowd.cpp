#include "trees/crowd.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {

CrowdSearch::CrowdSearch(const BoxTree& tree, const std::vector<Attribute>& attributes,
                         std::span<const std::int32_t> copies, std::int64_t k, CrowdEffort effort)
    : tree_(tree), copies_(copies), k_(k), effort_(effort), ladders_(attributes) {}

double CrowdSearch::least_cost(std::int32_t record) {
  if (copies_[at(record)] >= k_) return 0.0;
  collect(record);
  choices_.assign(1, {0.0, 0.0, -1, {-1, 0.0}, false, {-1, 0.0}});
  recall(0);
  assess(choices_[0]);
  open_.assign(1, {choices_[0].bound, 0});
  for (std::size_t step = 0; !open_.empty(); ++step) {
    const auto [bound, number] = open_.front();
    const Choice choice = choices_[at(number)];
    if (bound >= beyond_ || choice.next.ladder < 0 || step == effort_.steps) return std::min(bound, beyond_);
    std::pop_heap(open_.begin(), open_.end(), std::greater<>());
    open_.pop_back();
    recall(number);
    double& height = heights_[at(choice.next.ladder)];
    double& limit = limits_[at(choice.next.ladder)];
    const double old_height = std::exchange(height, choice.next.height);
    Choice up{0.0, choice.cost + height - old_height, number, choice.next, true, {-1, 0.0}};
    assess(up);
    height = old_height;
    limit = choice.next.height;
    Choice below{0.0, choice.cost, number, choice.next, false, {-1, 0.0}};
    assess(below);
    for (const Choice& child : {up, below}) {
      if (child.bound >= beyond_) continue;
      open_.emplace_back(child.bound, static_cast<std::int32_t>(choices_.size()));
      std::push_heap(open_.begin(), open_.end(), std::greater<>());
      choices_.push_back(child);
    }
  }
  return beyond_;
}

// Finds the candidates and what each of them needs.
void CrowdSearch::collect(std::int32_t record) {
  ladders_.begin(tree_.codes(record));
  needs_.clear();
  candidates_.assign(1, record);
  ends_.assign(1, 0);
  const auto near = tree_.nearest_records(record, effort_.horizon, search_);
  beyond_ = near.size() < effort_.horizon ? kUnlimited : near.back().cost;
  for (const NearRecord& other : near) {
    if (other.cost >= beyond_) break;
    ladders_.add_needs(tree_.codes(other.record), needs_);
    ends_.push_back(needs_.size());
    candidates_.push_back(other.record);
  }
  heights_.resize(ladders_.count());
  limits_.resize(ladders_.count());
}

// Sets heights and limits to what a choice and those it comes from decided.
void CrowdSearch::recall(std::int32_t number) {
  std::fill(heights_.begin(), heights_.end(), 0.0);
  std::fill(limits_.begin(), limits_.end(), kUnlimited);
  for (const Choice* choice = &choices_[at(number)]; choice->parent >= 0;
       choice = &choices_[at(choice->parent)]) {
    const auto [ladder, height] = choice->decided;
    double& known = choice->goes_up ? heights_[at(ladder)] : limits_[at(ladder)];
    known = choice->goes_up ? std::max(known, height) : std::min(known, height);
  }
}

// Bounds what becomes of a choice by the k-th nearest candidate that is still possible. What to decide next
// is the dearest thing that this candidate needs: without it the bound rises, and with it for all others.
void CrowdSearch::assess(Choice& choice) {
  std::int64_t wanted = k_;
  within_.clear();
  for (std::size_t i = 0, need = 0; i < candidates_.size(); ++i) {
    double extra = 0.0;
    for (; need < ends_[i]; ++need) {
      const auto [ladder, height] = needs_[need];
      if (height >= limits_[at(ladder)]) extra = kUnlimited;
      extra += std::max(0.0, height - heights_[at(ladder)]);
    }
    if (extra <= 0.0)
      wanted -= copies_[at(candidates_[i])];
    else if (choice.cost + extra < beyond_)
      within_.emplace_back(extra, i);
  }
  choice.bound = wanted <= 0 ? choice.cost : beyond_;
  if (wanted <= 0) return;
  std::sort(within_.begin(), within_.end());
  for (const auto& [extra, i] : within_) {
    wanted -= copies_[at(candidates_[i])];
    if (wanted > 0) continue;
    choice.bound = choice.cost + extra;
    double dearest = 0.0;
    for (std::size_t need = i == 0 ? 0 : ends_[i - 1]; need < ends_[i]; ++need) {
      const double missing = needs_[need].height - heights_[at(needs_[need].ladder)];
      if (missing <= dearest) continue;
      dearest = missing;
      choice.next = needs_[need];
    }
    return;
  }
}

std::vector<double> crowd_costs(const BoxTree& tree, const std::vector<Attribute>& attributes,
                                std::span<const std::int32_t> copies, std::span<const std::int32_t> records,
                                std::int64_t k, CrowdEffort effort) {
  std::vector<double> costs(records.size());
  share(records.size(), 16, [&] {
    return [&, search = CrowdSearch(tree, attributes, copies, k, effort)](std::size_t i) mutable {
      costs[i] = search.least_cost(records[i]);
    };
  });
  return costs;
}

}  // namespace shoal
