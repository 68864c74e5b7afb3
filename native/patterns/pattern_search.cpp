#include "patterns/pattern_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t tried_at_once = 48;  // patterns whose targets are found before any of them is tried
std::vector<std::int32_t> all(std::size_t rows) {
  std::vector<std::int32_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::uint64_t key(std::int32_t pattern, std::uint32_t hash) {
  return (static_cast<std::uint64_t>(pattern) << 32) | hash;
}

}  // namespace

PatternSearch::PatternSearch(std::span<const std::int32_t> codes, std::size_t rows,
                             std::span<const Columns> kept, std::span<const double> costs, double beyond,
                             std::int64_t k, std::span<const std::int32_t> pattern_of, VariedRows varied)
    : projections_(codes, rows == 0 ? 0 : codes.size() / rows, all(rows)), kept_(kept.begin(), kept.end()),
      costs_(costs.begin(), costs.end()), beyond_(beyond), k_(k), varied_(std::move(varied)),
      sieve_(projections_, k, kept_.size()), class_of_(rows, 0), place_(rows), price_(rows, beyond),
      open_(kept_.size(), 0) {
  classes_.push_back({-1, all(rows)});
  place_ = classes_[0].members;
  for (std::size_t row = 0; row < rows; ++row)
    if (pattern_of[row] >= 0) {
      const auto number = static_cast<std::int32_t>(row);
      std::int32_t to = find(pattern_of[row], number);
      move({number, to >= 0 ? to : ~pattern_of[row]});
    }
}

double PatternSearch::price(const Class& group) const {
  return group.pattern < 0 ? beyond_ : costs_[at(group.pattern)];
}

std::int64_t PatternSearch::size(std::int32_t of) const {
  return of < 0 ? 0 : static_cast<std::int64_t>(classes_[at(of)].members.size());
}

double PatternSearch::cost() const {
  double sum = 0.0;
  for (const Class& group : classes_) sum += price(group) * static_cast<double>(group.members.size());
  return sum;
}

std::vector<std::int32_t> PatternSearch::pattern_of() const {
  std::vector<std::int32_t> patterns(class_of_.size());
  for (std::size_t row = 0; row < patterns.size(); ++row)
    patterns[row] = classes_[at(class_of_[row])].pattern;
  return patterns;
}

// The class of a pattern that a row would belong to, or -1.
std::int32_t PatternSearch::find(std::int32_t pattern, std::int32_t row) const {
  const Columns kept = kept_[at(pattern)];
  const auto number = at(row);
  const auto [begin, end] = known_.equal_range(key(pattern, projections_.hash(number, kept)));
  for (auto entry = begin; entry != end; ++entry) {
    const std::int32_t member = classes_[at(entry->second)].members.front();
    if (projections_.same(number, at(member), kept)) return entry->second;
  }
  return -1;
}

// The cheapest class, of those that stay, that a row could belong to instead of its own, or -1.
std::int32_t PatternSearch::home(std::int32_t row) const {
  for (const std::int32_t pattern : in_use_) {
    const std::int32_t found = find(pattern, row);
    if (found >= 0 && found != class_of_[at(row)] && !classes_[at(found)].closes) return found;
  }
  return -1;
}

// Moves a row into a class, or, for ~pattern, into a new one; an empty class is removed.
void PatternSearch::move(Move step) {
  const auto row = at(step.row);
  if (step.to < 0) {
    const std::int32_t pattern = ~step.to;
    if (vacant_.empty()) {
      vacant_.push_back(static_cast<std::int32_t>(classes_.size()));
      classes_.emplace_back();
    }
    step.to = vacant_.back();
    vacant_.pop_back();
    classes_[at(step.to)] = {pattern, {}};
    known_.emplace(key(pattern, projections_.hash(row, kept_[at(pattern)])), step.to);
    if (open_[at(pattern)]++ == 0) in_use_.insert(pattern);
  }
  const std::int32_t from = std::exchange(class_of_[row], step.to);
  price_[row] = price(classes_[at(step.to)]);
  Class& left = classes_[at(from)];
  const std::int32_t last = left.members.back();
  left.members[at(place_[row])] = last;
  place_[at(last)] = place_[row];
  left.members.pop_back();
  auto& members = classes_[at(step.to)].members;
  place_[row] = static_cast<std::int32_t>(members.size());
  members.push_back(step.row);
  if (from == 0 || !left.members.empty()) return;
  const auto pattern = at(left.pattern);
  const auto [begin, end] = known_.equal_range(key(left.pattern, projections_.hash(row, kept_[pattern])));
  known_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == from; }));
  if (--open_[pattern] == 0) in_use_.erase(left.pattern);
  vacant_.push_back(from);
}

std::int64_t PatternSearch::sweep(std::size_t begin, std::size_t end) {
  std::int64_t saved = 0;
  std::vector<std::vector<Target>> found(tried_at_once);
  for (; begin < end; begin += tried_at_once) {
    const std::size_t count = std::min(tried_at_once, end - begin);
    share(count, 1, [&] {
      return [&, counter = Counter()](std::size_t i) mutable {
        found[i] = targets(static_cast<std::int32_t>(begin + i), counter);
      };
    });
    for (std::size_t i = 0; i < count; ++i)
      for (const Target& target : found[i]) saved += attempt(target) ? 1 : 0;
  }
  return saved;
}

// Groups of at least k rows in which some row gains.
std::vector<PatternSearch::Target> PatternSearch::targets(std::int32_t pattern, Counter& counter) const {
  const Columns kept = kept_[at(pattern)];
  const double cost = costs_[at(pattern)];
  const auto gains = [&](std::int32_t row) { return price_[at(row)] > cost + kWorthwhile; };
  const auto rows = counter.frequent(projections_, kept, k_, sieve_.rows(kept), gains);
  std::vector<std::int32_t> group_of;
  const auto sizes = group(projections_, kept, rows, group_of);
  std::vector<bool> wanted(sizes.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (gains(rows[i])) wanted[at(group_of[i])] = true;
  std::vector<Target> found;
  std::vector<std::int32_t> target_of(sizes.size(), -1);
  for (std::size_t g = 0; g < sizes.size(); ++g)
    if (wanted[g] && sizes[g] >= k_) {
      target_of[g] = static_cast<std::int32_t>(found.size());
      found.push_back({pattern, {}});
    }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t target = target_of[at(group_of[i])];
    if (target >= 0) found[at(target)].rows.push_back(rows[i]);
  }
  return found;
}

bool PatternSearch::attempt(const Target& target) {
  const double cost = costs_[at(target.pattern)];
  const std::int32_t own = find(target.pattern, target.rows.front());
  auto giving = sources(target, own);
  std::vector<Move> homes;
  const double saved =
      hope(giving, cost, size(own)) > kWorthwhile ? plan(giving, cost, size(own), homes) : 0.0;
  for (const Source& source : giving) {
    classes_[at(source.of)].closes = false;
    source_of_[at(source.of)] = -1;
  }
  for (const Move& step : homes) classes_[at(step.to)].receives = false;
  if (!(saved > kWorthwhile)) return false;
  if (varied_.any() && !stay_varied(giving, homes, own)) return false;
  for (const Move& step : homes) move(step);
  std::int32_t to = own >= 0 ? own : ~target.pattern;
  for (const Source& source : giving)
    for (std::size_t i = 0; i < source.taken; ++i) {
      move({source.rows[i], to});
      to = class_of_[at(source.rows[i])];
    }
  return true;
}

// Whether all classes are varied as asked after a planned move: those that give, those that receive, and the
// one that opens or grows.
bool PatternSearch::stay_varied(const std::vector<Source>& giving, const std::vector<Move>& homes,
                                std::int32_t own) const {
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> after;  // the rows of each class that changes
  const auto rows_of = [&](std::int32_t of) -> std::vector<std::int32_t>& {
    return after.try_emplace(of, of < 0 ? std::vector<std::int32_t>{} : classes_[at(of)].members)
        .first->second;
  };
  std::vector<std::int32_t> moved;
  for (const Source& source : giving) {
    moved.assign(source.rows.begin(), source.rows.begin() + static_cast<std::ptrdiff_t>(source.taken));
    auto& target = rows_of(own);
    target.insert(target.end(), moved.begin(), moved.end());
    for (const Move& step : homes)
      if (class_of_[at(step.row)] == source.of) {
        moved.push_back(step.row);
        rows_of(step.to).push_back(step.row);
      }
    if (moved.empty() || source.of == 0) continue;  // rows that are left over need not be varied
    std::sort(moved.begin(), moved.end());
    std::erase_if(rows_of(source.of),
                  [&](std::int32_t row) { return std::binary_search(moved.begin(), moved.end(), row); });
  }
  return std::all_of(after.begin(), after.end(),
                     [&](const auto& each) { return each.second.empty() || varied_.holds(each.second); });
}

// An upper bound of what is saved: all rows that gain join, and the rows they leave behind find a class at
// no cost.
double PatternSearch::hope(std::vector<Source>& giving, double cost, std::int64_t rows) {
  double saved = 0.0;
  for (const Source& source : giving) {
    const double gain = price(classes_[at(source.of)]) - cost;
    if (gain <= kWorthwhile) continue;
    saved += gain * static_cast<double>(source.rows.size());
    rows += static_cast<std::int64_t>(source.rows.size());
  }
  return rows < k_ ? saved - fill_up(giving, cost, k_ - rows) : saved;
}

// Decides how many rows each source gives, and where its other rows go if too few are left. Returns what is
// saved.
double PatternSearch::plan(std::vector<Source>& giving, double cost, std::int64_t rows,
                           std::vector<Move>& homes) {
  double saved = 0.0;
  for (Source& source : giving) {
    Class& from = classes_[at(source.of)];
    source.taken = 0;
    if (price(from) <= cost + kWorthwhile) continue;
    const auto fits = static_cast<std::int64_t>(source.rows.size());
    from.closes = source.of != 0 && fits == size(source.of);
    source.taken =
        at(source.of == 0 || from.closes ? fits : std::clamp<std::int64_t>(size(source.of) - k_, 0, fits));
    saved += static_cast<double>(source.taken) * (price(from) - cost);
  }
  for (Source& source : giving) {
    const Class& from = classes_[at(source.of)];
    if (price(from) > cost + kWorthwhile && source.taken < source.rows.size() && !from.receives)
      saved += take_all(source, price(from) - cost, homes);
    rows += static_cast<std::int64_t>(source.taken);
  }
  return rows < k_ ? saved - fill_up(giving, cost, k_ - rows) : saved;
}

// The classes of the rows of a target, but for its own, in the order in which they appear.
std::vector<PatternSearch::Source> PatternSearch::sources(const Target& target, std::int32_t own) {
  source_of_.resize(classes_.size(), -1);
  std::vector<Source> found;
  for (const std::int32_t row : target.rows) {
    const std::int32_t of = class_of_[at(row)];
    if (of == own) continue;
    std::int32_t& source = source_of_[at(of)];
    if (source < 0) {
      source = static_cast<std::int32_t>(found.size());
      found.push_back({of, {}});
    }
    found[at(source)].rows.push_back(row);
  }
  return found;
}

// Plans to take all fitting rows of a source, and to find classes for its other rows, if that saves cost;
// returns how much more it saves than taking only the rows that the source can spare.
double PatternSearch::take_all(Source& source, double saved, std::vector<Move>& homes) {
  Class& from = classes_[at(source.of)];
  const auto& fits = source.rows;
  double gain = saved * static_cast<double>(fits.size() - source.taken);
  auto others = static_cast<double>(from.members.size() - fits.size());
  const std::size_t planned = homes.size();
  from.closes = true;
  for (const std::int32_t row : from.members) {
    if (std::binary_search(fits.begin(), fits.end(), row)) continue;
    const bool hopeless = gain + others * (price(from) - costs_.front()) <= kWorthwhile;
    const std::int32_t to = hopeless ? -1 : home(row);
    if (to < 0) {
      gain = -1.0;
      break;
    }
    gain += price(from) - price(classes_[at(to)]);
    others -= 1.0;
    homes.push_back({row, to});
  }
  if (gain > kWorthwhile) {
    for (std::size_t i = planned; i < homes.size(); ++i) classes_[at(homes[i].to)].receives = true;
    source.taken = source.rows.size();
    return gain;
  }
  from.closes = false;
  homes.resize(planned);
  return 0.0;
}

// Plans to take more rows from classes that do not gain: what the cheapest can spare, or one of them as a
// whole. Returns the cost, infinity if it is impossible.
double PatternSearch::fill_up(std::vector<Source>& sources, double cost, std::int64_t need) {
  constexpr double never = kUnlimited;
  std::vector<std::pair<double, std::size_t>> spare;
  double whole_cost = never;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Class& from = classes_[at(sources[i].of)];
    const double loss = cost - price(from);
    if (loss < -kWorthwhile) continue;
    if (size(sources[i].of) > k_) spare.emplace_back(loss, i);
    const auto fits = static_cast<double>(sources[i].rows.size());
    if (sources[i].rows.size() == from.members.size() && !from.receives && fits * loss < whole_cost) {
      whole_cost = fits * loss;
      whole = i;
    }
  }
  std::sort(spare.begin(), spare.end());
  double spare_cost = 0.0;
  std::int64_t missing = need;
  for (const auto& [loss, i] : spare) {
    const std::int64_t most = size(sources[i].of) - k_;
    const auto taken = std::min({missing, most, static_cast<std::int64_t>(sources[i].rows.size())});
    spare_cost += loss * static_cast<double>(taken);
    sources[i].taken = at(taken);
    missing -= taken;
  }
  if (missing == 0 && spare_cost <= whole_cost) return spare_cost;
  for (const auto& [loss, i] : spare) sources[i].taken = 0;
  if (whole_cost == never) return never;
  sources[whole].taken = sources[whole].rows.size();
  return whole_cost;
}

}  // namespace shoal
