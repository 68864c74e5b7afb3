#include "trees/priced_crowd.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// How much of the cost of a crowd counts by its farthest record; the rest counts by the parts of all.
constexpr double kShares[] = {1.0, 0.5, 0.0};

}  // namespace

void PricedSearch::Highest::begin(std::size_t most) {
  room = most;
  sum = 0.0;
  heap.clear();
}

void PricedSearch::Highest::offer(double price, std::int32_t number, std::int32_t copies) {
  const auto more = std::greater<>();
  for (std::int32_t i = 0; i < copies; ++i) {
    if (full()) {
      if (heap.empty() || price <= heap.front().first) return;
      sum -= heap.front().first;
      std::pop_heap(heap.begin(), heap.end(), more);
      heap.pop_back();
    }
    heap.emplace_back(price, number);
    std::push_heap(heap.begin(), heap.end(), more);
    sum += price;
  }
}

PricedSearch::PricedSearch(const BoxTree& tree, const std::vector<Attribute>& attributes,
                           std::span<const std::int32_t> copies, std::span<const double> prices,
                           std::int64_t k, std::size_t steps)
    : tree_(tree), attributes_(attributes), copies_(copies), prices_(prices), k_(at(k)), steps_(steps),
      ladders_(attributes), reaches_(attributes.size()) {}

void PricedSearch::solve(std::int32_t record) {
  asking_ = record;
  found_ = kUnlimited;
  ladders_.begin(tree_.codes(record));
  measure_distances(record);
  find_some();
  choose_candidates();
  choices_.assign(1, {0.0, 0.0, -1, {-1, 0.0}, false, {-1, 0.0}});
  recall(0);
  assess(choices_[0]);
  open_.assign(1, {choices_[0].bound, 0});
  for (std::size_t step = 0;; ++step) {
    const auto [bound, number] = open_.front();
    const Choice choice = choices_[at(number)];
    least_ = std::min(bound, found_);
    if (bound >= found_ - kWorthwhileAlone || choice.next.ladder < 0 || step == steps_) return;
    pause_sometimes();
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
    for (Choice& child : {std::ref(up), std::ref(below)}) {
      child.bound = std::max(child.bound, bound);
      if (child.bound >= found_) continue;
      open_.emplace_back(child.bound, static_cast<std::int32_t>(choices_.size()));
      std::push_heap(open_.begin(), open_.end(), std::greater<>());
      choices_.push_back(child);
    }
    if (open_.empty()) {
      least_ = found_;
      return;
    }
  }
}

// Sorts all records by what a box around both costs.
void PricedSearch::measure_distances(std::int32_t record) {
  const std::int32_t* own = tree_.codes(record);
  const std::size_t d = attributes_.size();
  for (std::size_t a = 0; a < d; ++a) {
    const Attribute& attribute = attributes_[a];
    auto& reach = reaches_[a];
    reach.assign(at(attribute.size), 0.0);
    for (std::int32_t code = 0; code < attribute.size; ++code)
      if (code != own[a])
        reach[at(code)] = attribute.weight *
                          (attribute.kind == Kind::set
                               ? attribute.set_cost(2)
                               : attribute.interval_cost(std::min(code, own[a]), std::max(code, own[a])));
  }
  near_.clear();
  for (std::int32_t other = 0; other < tree_.rows(); ++other) {
    if (others(other) == 0) continue;
    const std::int32_t* codes = tree_.codes(other);
    double sum = 0.0;
    for (std::size_t a = 0; a < d; ++a) sum += reaches_[a][at(codes[a])];
    near_.emplace_back(sum, other);
  }
  std::sort(near_.begin(), near_.end());
}

// Finds crowds to begin with: the k - 1 that pay most among the nearest few, and among more and more.
void PricedSearch::find_some() {
  const double own = prices_[at(asking_)];
  highest_.begin(k_ - 1);
  if (highest_.full()) found_ = -own;
  std::size_t next = 0;
  for (std::size_t i = 0; i < near_.size(); ++i) {
    highest_.offer(prices_[at(near_[i].second)], near_[i].second, others(near_[i].second));
    if (!highest_.full() || i < next) continue;
    if (i > 64 * k_ && near_[i].first - own - highest_.sum >= found_) break;
    next = i + i / 4;
    needs_.clear();
    for (const auto& [_, record] : highest_.heap) ladders_.add_needs(tree_.codes(record), needs_);
    closed_.assign(ladders_.count(), 0.0);
    for (const auto& [ladder, height] : needs_) closed_[at(ladder)] = std::max(closed_[at(ladder)], height);
    found_ = std::min(found_, std::accumulate(closed_.begin(), closed_.end(), 0.0) - own - highest_.sum);
  }
}

// Leaves out the records that are in no crowd better than the one that was found. A crowd with a record and
// others no farther than D costs at least D, and pays no more than the record itself, the one that asks, and
// the k - 2 that pay most up to D. `ahead_` has the least of D minus the latter, from each distance on.
void PricedSearch::choose_candidates() {
  const std::size_t n = near_.size();
  ahead_.assign(n + 1, kUnlimited);
  highest_.begin(k_ < 2 ? 0 : k_ - 2);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& [distance, record] = near_[i];
    highest_.offer(prices_[at(record)], record, others(record));
    if (highest_.full()) ahead_[i] = distance - prices_[at(asking_)] - highest_.sum;
  }
  for (std::size_t i = n; i-- > 0;) ahead_[i] = std::min(ahead_[i], ahead_[i + 1]);
  candidates_.clear();
  needs_.clear();
  starts_.assign(1, 0);
  highest_.begin(k_ - 1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t record = near_[i].second;
    const double price = prices_[at(record)];
    if (ahead_[i] - price >= found_) continue;
    candidates_.push_back({record, others(record), price});
    highest_.offer(price, record, others(record));
    ladders_.add_needs(tree_.codes(record), needs_);
    starts_.push_back(needs_.size());
  }
  most_paid_ = highest_.sum + prices_[at(asking_)];
  heights_.resize(ladders_.count());
  limits_.resize(ladders_.count());
}

// Sets heights and limits to what a choice and those it comes from decided.
void PricedSearch::recall(std::int32_t number) {
  std::fill(heights_.begin(), heights_.end(), 0.0);
  std::fill(limits_.begin(), limits_.end(), kUnlimited);
  for (const Choice* choice = &choices_[at(number)]; choice->parent >= 0;
       choice = &choices_[at(choice->parent)]) {
    const auto [ladder, height] = choice->decided;
    double& known = choice->goes_up ? heights_[at(ladder)] : limits_[at(ladder)];
    known = choice->goes_up ? std::max(known, height) : std::min(known, height);
  }
}

// Bounds what becomes of a choice, in several ways.
void PricedSearch::assess(Choice& choice) {
  divide(choice.cost);
  choice.bound = -kUnlimited;
  Threshold best{};
  for (const double share : kShares) {
    const Threshold threshold = least_at(choice.cost, share);
    if (threshold.bound > choice.bound) {
      choice.bound = threshold.bound;
      best = threshold;
    }
    if (choice.bound >= found_) return;
    if (threshold.within == 0) break;  // no record that is not covered improves it
  }
  if (best.within == 0) return;
  gather(best.share, best.within);
  close_up();
  decide_next(choice);
}

// Finds the extra cost of each candidate, and its part of what several would cost together: each ladder is
// shared by the candidates that need it, by k - 1 of them if there are more.
void PricedSearch::divide(double cost) {
  covered_.clear();
  within_.clear();
  users_.assign(heights_.size(), 0);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    double extra = 0.0;
    for (std::size_t need = starts_[i]; need < starts_[i + 1]; ++need) {
      const auto [ladder, height] = needs_[need];
      if (height >= limits_[at(ladder)]) extra = kUnlimited;
      extra += std::max(0.0, height - heights_[at(ladder)]);
    }
    const auto number = static_cast<std::int32_t>(i);
    if (extra <= 0.0) {
      covered_.push_back(number);
    } else if (cost + extra - most_paid_ < found_) {
      within_.emplace_back(extra, number);
      for (std::size_t need = starts_[i]; need < starts_[i + 1]; ++need)
        if (needs_[need].height > heights_[at(needs_[need].ladder)])
          users_[at(needs_[need].ladder)] += candidates_[i].copies;
    }
  }
  std::sort(within_.begin(), within_.end());
  parts_.resize(candidates_.size());
  const auto most = static_cast<std::int64_t>(k_) - 1;
  for (const auto& [_, number] : within_) {
    double part = 0.0;
    for (std::size_t need = starts_[at(number)]; need < starts_[at(number) + 1]; ++need) {
      const auto [ladder, height] = needs_[need];
      const double missing = height - heights_[at(ladder)];
      if (missing > 0.0) part += missing / static_cast<double>(std::min(users_[at(ladder)], most));
    }
    parts_[at(number)] = part;
  }
}

// The least over all thresholds of the extra cost. A share of the cost counts by the threshold, and the rest
// by the parts of the candidates.
PricedSearch::Threshold PricedSearch::least_at(double cost, double share) {
  const double base = cost - prices_[at(asking_)];
  gather(share, 0);
  Threshold least{kUnlimited, share, 0};
  if (chosen_.full()) {
    least.bound = base - chosen_.sum;
    found_ = std::min(found_, least.bound);
  }
  for (std::size_t i = 0; i < within_.size(); ++i) {
    offer(within_[i].second, share);
    if (!chosen_.full()) continue;
    const double bound = base + share * within_[i].first - chosen_.sum;
    if (bound < least.bound) least = {bound, share, i + 1};
  }
  return least;
}

// Chooses among the candidates that are covered and the nearest others those that pay most, minus their
// parts.
void PricedSearch::gather(double share, std::size_t within) {
  chosen_.begin(k_ - 1);
  for (const std::int32_t number : covered_)
    chosen_.offer(candidates_[at(number)].price, number, candidates_[at(number)].copies);
  for (std::size_t i = 0; i < within; ++i) offer(within_[i].second, share);
}

void PricedSearch::offer(std::int32_t number, double share) {
  const Candidate& one = candidates_[at(number)];
  chosen_.offer(one.price - (1.0 - share) * parts_[at(number)], number, one.copies);
}

// What to decide next: where both answers raise the bound most. If the box goes up to what the chosen
// candidates need on a ladder, it costs so much more; if it stays below, those that need as much drop out.
void PricedSearch::decide_next(Choice& choice) {
  lost_.assign(heights_.size(), 0.0);
  for (const auto& [_, number] : chosen_.heap)
    for (std::size_t need = starts_[at(number)]; need < starts_[at(number) + 1]; ++need)
      if (needs_[need].height >= closed_[at(needs_[need].ladder)])
        lost_[at(needs_[need].ladder)] += candidates_[at(number)].price;
  double best = -kUnlimited;
  for (std::size_t ladder = 0; ladder < heights_.size(); ++ladder) {
    const double missing = closed_[ladder] - heights_[ladder];
    if (missing <= 0.0 || std::min(missing, lost_[ladder]) <= best) continue;
    best = std::min(missing, lost_[ladder]);
    choice.next = {static_cast<std::int32_t>(ladder), closed_[ladder]};
  }
}

// Computes what the chosen candidates need and cost together.
void PricedSearch::close_up() {
  closed_.assign(heights_.size(), 0.0);
  double paid = prices_[at(asking_)];
  for (const auto& [_, number] : chosen_.heap) {
    paid += candidates_[at(number)].price;
    for (std::size_t need = starts_[at(number)]; need < starts_[at(number) + 1]; ++need)
      closed_[at(needs_[need].ladder)] = std::max(closed_[at(needs_[need].ladder)], needs_[need].height);
  }
  found_ = std::min(found_, std::accumulate(closed_.begin(), closed_.end(), 0.0) - paid);
}

PricedCrowds priced_crowds(const BoxTree& tree, const std::vector<Attribute>& attributes,
                           std::span<const std::int32_t> copies, std::span<const double> prices,
                           std::span<const std::int32_t> records, std::int64_t k, std::size_t steps) {
  PricedCrowds crowds{std::vector<double>(records.size()), std::vector<double>(records.size())};
  share(records.size(), 2, [&] {
    return [&, search = PricedSearch(tree, attributes, copies, prices, k, steps)](std::size_t i) mutable {
      search.solve(records[i]);
      crowds.least[i] = search.least();
      crowds.found[i] = search.found();
    };
  });
  return crowds;
}

}  // namespace shoal
