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

constexpr double kGrowth = 1.5;           // of what boxes cost, from one root of the search to the next
constexpr double kLeastSpan = 1.0 / 128;  // of the first one, as a part of what everything costs
constexpr std::size_t kRungs = 128;       // at most, of a ladder
constexpr int kSweeps = 12;
constexpr double kStalled = 2e-5;  // a sweep that raises the bound by less is the last one

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
                           std::int64_t k, PricedEffort effort)
    : tree_(tree), attributes_(attributes), copies_(copies), prices_(prices), k_(at(k)), effort_(effort),
      ladders_(attributes), reaches_(attributes.size()) {}

void PricedSearch::solve(std::int32_t record) {
  asking_ = record;
  found_ = left_out_ = kUnlimited;
  ladders_.begin(tree_.codes(record));
  measure_distances(record);
  find_some();
  list_candidates();
  list_rungs();
  begin_choices();
  for (std::size_t step = 0; !open_.empty(); ++step) {
    const auto [bound, number] = open_.front();
    if (good(bound) || choices_[at(number)].next.ladder < 0 || step == effort_.steps) {
      left_out_ = std::min(left_out_, bound);
      break;
    }
    pause_sometimes();
    std::pop_heap(open_.begin(), open_.end(), std::greater<>());
    open_.pop_back();
    expand(number);
  }
  least_ = std::min(left_out_, found_);
}

// Begins with all boxes, divided by what they cost.
void PricedSearch::begin_choices() {
  choices_.clear();
  open_.clear();
  std::fill(heights_.begin(), heights_.end(), 0.0);
  std::fill(limits_.begin(), limits_.end(), kUnlimited);
  std::vector<std::int32_t> all(candidates_.size());
  std::iota(all.begin(), all.end(), 0);
  double everything = 0.0;
  for (std::size_t ladder = 0; ladder < heights_.size(); ++ladder)
    if (firsts_[ladder] < firsts_[ladder + 1]) everything += edges_[firsts_[ladder + 1] - 1];
  double low = 0.0;  // a box costs no less than the distance of the (k - 1)-th nearest
  std::size_t wanted = k_ - 1;
  for (auto one = near_.begin(); wanted > 0; ++one) {
    wanted -= std::min(wanted, at(others(one->second)));
    low = one->first;
  }
  double high = low;
  for (bool last = false; !last;) {
    high = kGrowth * std::max(high, everything * kLeastSpan);
    last = high >= everything;
    if (last) high = kUnlimited;
    const auto end = std::partition_point(all.begin(), all.end(), [&](std::int32_t number) {
      return candidates_[at(number)].distance <= high + kRounding;
    });
    Choice choice{-kUnlimited, 0.0, low, high, -1, {-1, 0.0}, false, {-1, 0.0}, {}};
    assess(choice, {all.begin(), end});
    open(std::move(choice));
    low = high;
  }
}

// Decides the next step of a choice, both ways.
void PricedSearch::expand(std::int32_t number) {
  const std::vector<std::int32_t> from = std::exchange(choices_[at(number)].candidates, {});
  const Choice& choice = choices_[at(number)];
  const Need next = choice.next;
  recall(number);
  double& height = heights_[at(next.ladder)];
  const double old_height = std::exchange(height, next.height);
  Choice up{choice.bound,
            choice.cost + height - old_height,
            choice.low,
            choice.high,
            number,
            next,
            true,
            {-1, 0.0},
            {}};
  Choice below{choice.bound, choice.cost, choice.low, choice.high, number, next, false, {-1, 0.0}, {}};
  assess(up, from);
  height = old_height;
  limits_[at(next.ladder)] = next.height;
  assess(below, from);
  open(std::move(up));
  open(std::move(below));
}

// Remembers a choice, unless what becomes of it is known well enough.
void PricedSearch::open(Choice choice) {
  if (good(choice.bound)) {
    left_out_ = std::min(left_out_, choice.bound);
    return;
  }
  open_.emplace_back(choice.bound, static_cast<std::int32_t>(choices_.size()));
  std::push_heap(open_.begin(), open_.end(), std::greater<>());
  choices_.push_back(std::move(choice));
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

// Lists the records with what they need, without those that are in no crowd better than the one that was
// found. A crowd with a record and others no farther than D costs at least D, and pays no more than the
// record itself, the one that asks, and the k - 2 that pay most up to D. `ahead_` has the least of D minus
// the latter, from each distance on.
void PricedSearch::list_candidates() {
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
  stages_.clear();
  starts_.assign(1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& [distance, record] = near_[i];
    if (ahead_[i] - prices_[at(record)] >= found_) continue;
    candidates_.push_back({record, others(record), prices_[at(record)], distance});
    needs_.clear();
    ladders_.add_needs(tree_.codes(record), needs_);
    for (const Need& need : needs_) stages_.push_back({need, 0});
    starts_.push_back(stages_.size());
  }
  heights_.resize(ladders_.count());
  limits_.resize(ladders_.count());
}

// Divides each ladder into rungs, one for each height that a record needs, or fewer if there are too many.
void PricedSearch::list_rungs() {
  std::vector<std::vector<double>> ends(ladders_.count());
  for (const Stage& stage : stages_) ends[at(stage.need.ladder)].push_back(stage.need.height);
  edges_.clear();
  firsts_.assign(1, 0);
  for (auto& heights : ends) {
    std::sort(heights.begin(), heights.end());
    heights.erase(std::unique(heights.begin(), heights.end()), heights.end());
    const std::size_t rungs = std::min(heights.size(), kRungs);
    for (std::size_t i = 1; i <= rungs; ++i) edges_.push_back(heights[i * heights.size() / rungs - 1]);
    firsts_.push_back(edges_.size());
  }
  for (Stage& stage : stages_) {
    const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(firsts_[at(stage.need.ladder)]);
    const auto end = edges_.begin() + static_cast<std::ptrdiff_t>(firsts_[at(stage.need.ladder) + 1]);
    stage.rungs = static_cast<std::int32_t>(std::upper_bound(begin, end, stage.need.height) - begin);
  }
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

// Bounds what becomes of a choice: by the prices alone, and by prices minus charges.
void PricedSearch::assess(Choice& choice, std::span<const std::int32_t> from) {
  if (choice.cost > choice.high + kRounding || !collect(choice, from)) {
    choice.bound = kUnlimited;
    return;
  }
  const double base = choice.cost - prices_[at(asking_)];
  const double paid = choose(values_);
  choice.bound = std::max(choice.bound, std::max(base, choice.low - prices_[at(asking_)]) - paid);
  close_up(choice.cost);
  if (good(choice.bound)) return;
  divide();
  choice.bound = std::max(choice.bound, raise(base));
  if (good(choice.bound)) return;
  keep(choice, base);
  decide_next(choice);
}

// Finds the candidates that are still possible, and whether they are enough.
bool PricedSearch::collect(const Choice& choice, std::span<const std::int32_t> from) {
  alive_.clear();
  values_.clear();
  own_copies_.clear();
  std::size_t enough = 0;
  for (const std::int32_t number : from) {
    double extra = choice.cost;
    for (std::size_t i = starts_[at(number)]; i < starts_[at(number) + 1]; ++i) {
      const auto [ladder, height] = stages_[i].need;
      if (height >= limits_[at(ladder)]) extra = kUnlimited;
      extra += std::max(0.0, height - heights_[at(ladder)]);
    }
    if (extra == kUnlimited || extra > choice.high + kRounding) continue;
    const Candidate& candidate = candidates_[at(number)];
    alive_.push_back(number);
    values_.push_back(candidate.price);
    own_copies_.push_back(static_cast<double>(candidate.copies));
    enough += at(candidate.copies);
  }
  return enough + 1 >= k_;
}

// Lists which rungs the candidates need that the box does not reach yet.
void PricedSearch::divide() {
  costs_.assign(edges_.size(), 0.0);
  for (std::size_t ladder = 0; ladder < heights_.size(); ++ladder) {
    double from = heights_[ladder];
    for (std::size_t rung = firsts_[ladder]; rung < firsts_[ladder + 1]; ++rung) {
      costs_[rung] = std::max(0.0, edges_[rung] - from);
      from = std::max(from, edges_[rung]);
    }
  }
  uses_.clear();
  for (std::size_t place = 0; place < alive_.size(); ++place)
    for (std::size_t i = starts_[at(alive_[place])]; i < starts_[at(alive_[place]) + 1]; ++i) {
      const std::size_t first = firsts_[at(stages_[i].need.ladder)];
      for (std::size_t rung = first + at(stages_[i].rungs); rung-- > first && costs_[rung] > 0.0;)
        uses_.emplace_back(static_cast<std::int32_t>(rung), static_cast<std::int32_t>(place));
    }
  charges_.begin(values_, own_copies_, costs_, uses_, static_cast<double>(k_ - 1));
}

// Charges the candidates, again and again, as long as that raises the bound.
double PricedSearch::raise(double base) {
  double best = -kUnlimited, last = -kUnlimited;
  threshold_ -= 0.5 * std::abs(threshold_);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    charges_.sweep(threshold_, sweep % 2 == 1);
    const double bound = base - choose(charges_.values());
    threshold_ -= 0.1 * std::abs(threshold_);
    if (bound > best) {
      best = bound;
      best_values_ = charges_.values();
    }
    close_up(base + prices_[at(asking_)]);
    if (good(best) || (sweep > 2 && bound < last + kStalled)) break;
    last = bound;
  }
  return best;
}

// Chooses the candidates with the highest values, and returns their sum.
double PricedSearch::choose(const std::vector<double>& values) {
  const auto higher = [&](std::size_t one, std::size_t other) { return values[one] > values[other]; };
  order_.resize(values.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(std::min(order_.size(), k_ - 1));
  std::partial_sort(order_.begin(), end, order_.end(), higher);
  chosen_.clear();
  threshold_ = 0.0;
  double sum = 0.0;
  auto left = static_cast<std::int32_t>(k_ - 1);
  for (auto place = order_.begin(); place != end && left > 0; ++place) {
    const std::int32_t times = std::min(left, candidates_[at(alive_[*place])].copies);
    chosen_.emplace_back(*place, times);
    threshold_ = values[*place];
    sum += times * threshold_;
    left -= times;
  }
  return sum;
}

// Computes what the chosen candidates cost together.
void PricedSearch::close_up(double cost) {
  closed_ = heights_;
  double value = cost - prices_[at(asking_)];
  for (const auto& [place, times] : chosen_) {
    value -= times * candidates_[at(alive_[place])].price;
    for (std::size_t i = starts_[at(alive_[place])]; i < starts_[at(alive_[place]) + 1]; ++i) {
      const auto [ladder, height] = stages_[i].need;
      value += std::max(0.0, height - closed_[at(ladder)]);
      closed_[at(ladder)] = std::max(closed_[at(ladder)], height);
    }
  }
  found_ = std::min(found_, value);
}

// Keeps the candidates that may be in a better crowd: one with a low value would take the place of a higher
// one.
void PricedSearch::keep(Choice& choice, double base) {
  const double bound = base - choose(best_values_);
  for (std::size_t place = 0; place < alive_.size(); ++place) {
    const double with = bound + std::max(0.0, threshold_ - best_values_[place]);
    if (good(with))
      left_out_ = std::min(left_out_, with);
    else
      choice.candidates.push_back(alive_[place]);
  }
}

// What to decide next: where both answers raise the bound most. If the box goes up to what a chosen candidate
// needs on a ladder, it costs what was not charged; if it stays below, those that need as much drop out.
void PricedSearch::decide_next(Choice& choice) {
  times_.assign(alive_.size(), 0.0);
  asked_.clear();
  for (const auto& [place, times] : chosen_) {
    times_[place] = times;
    for (std::size_t i = starts_[at(alive_[place])]; i < starts_[at(alive_[place]) + 1]; ++i)
      if (stages_[i].need.height > heights_[at(stages_[i].need.ladder)])
        asked_.emplace_back(stages_[i], times * candidates_[at(alive_[place])].price);
  }
  charges_.charged(times_, charged_);
  std::sort(asked_.begin(), asked_.end(), [](const auto& one, const auto& other) {
    const Need &a = one.first.need, &b = other.first.need;
    return a.ladder != b.ladder ? a.ladder < b.ladder : a.height > b.height;
  });
  double best = -kUnlimited, lost = 0.0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const auto& [stage, paid] = asked_[i];
    const auto [ladder, height] = stage.need;
    const bool first = i == 0 || asked_[i - 1].first.need.ladder != ladder;
    lost = first ? paid : lost + paid;
    if (i + 1 < asked_.size() && asked_[i + 1].first.need.ladder == ladder &&
        asked_[i + 1].first.need.height == height)
      continue;
    const auto rungs = charged_.begin() + static_cast<std::ptrdiff_t>(firsts_[at(ladder)]);
    const double missing = height - heights_[at(ladder)] - std::accumulate(rungs, rungs + stage.rungs, 0.0);
    if (std::min(missing, lost) <= best) continue;
    best = std::min(missing, lost);
    choice.next = stage.need;
  }
}

PricedCrowds priced_crowds(const BoxTree& tree, const std::vector<Attribute>& attributes,
                           std::span<const std::int32_t> copies, std::span<const double> prices,
                           std::span<const std::int32_t> records, std::int64_t k, PricedEffort effort) {
  PricedCrowds crowds{std::vector<double>(records.size()), std::vector<double>(records.size())};
  share(records.size(), 2, [&] {
    return [&, search = PricedSearch(tree, attributes, copies, prices, k, effort)](std::size_t i) mutable {
      search.solve(records[i]);
      crowds.least[i] = search.least();
      crowds.found[i] = search.found();
    };
  });
  return crowds;
}

}  // namespace shoal
