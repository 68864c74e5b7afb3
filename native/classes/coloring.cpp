#include "classes/coloring.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr double kAcceptedGrowth = 2.0;  // another class may grow by this multiple of what is saved
constexpr double kNever = kUnlimited;
constexpr std::size_t kWider = 6;  // factor by which more classes are tried, if the first few were not enough
constexpr std::size_t kWidest = 1024;          // the maximum number tried in this way
constexpr std::size_t kLarge = 4096;           // a table with more classes is large
constexpr std::int64_t kTriedOnEachSide = 64;  // classes tried on each side
constexpr std::int64_t kFarther = 4;           // factor by which stretches are farther apart each time
constexpr std::size_t kWays = 3;               // in which a cycle of three goes on from the second class
constexpr std::size_t kBatch = 64;  // one in this many classes has a record that searches at the same time
constexpr std::int64_t kInVain =
    256;  // failed searches of all classes in a row; where Lemma 2 holds, none fails

}  // namespace

Coloring::Coloring(Classes& classes, const Closeness& close, std::span<const std::int32_t> values,
                   std::span<const std::int32_t> allowed, std::span<const std::int32_t> owners,
                   std::int32_t least)
    : classes_(classes), close_(close), values_(values), allowed_(allowed), owners_(owners),
      least_(at(least)), neighbours_(values.size(), 0), starts_(classes.count() + 1, 0),
      of_class_(values.size()), changed_(classes.count(), 0) {
  for (std::size_t number = 0; number < classes_.count(); ++number) {
    const auto one = static_cast<std::int32_t>(number);
    starts_[number + 1] = starts_[number] + classes_.members(one).size();
    gather(one);
    count(one);
  }
}

void Coloring::gather(std::int32_t number) {
  std::size_t place = starts_[at(number)];
  for (const std::int32_t record : classes_.members(number)) of_class_[place++] = values_[at(record)];
}

bool Coloring::violates(std::int32_t record) const {
  return neighbours_[at(record)] > allowed_[at(class_of(record))];
}

// Counts the neighbours of all records of a class anew; their previous counts must be subtracted before.
void Coloring::count(std::int32_t number) {
  std::int64_t twice = 0;
  for (const std::int32_t record : classes_.members(number)) {
    neighbours_[at(record)] = neighbours_in(number, record);
    twice += neighbours_[at(record)];
    excess_ += std::max(neighbours_[at(record)] - allowed_[at(number)], 0);
  }
  potential_ += twice / 2;
}

// The record itself, if it is there, is close to its own value, but does not count.
std::int32_t Coloring::neighbours_in(std::int32_t number, std::int32_t record) const {
  const std::int32_t value = values_[at(record)];
  std::int32_t near = 0;
  for (std::size_t place = starts_[at(number)]; place < starts_[at(number) + 1]; ++place)
    near += close_(value, of_class_[place]);
  return near - (class_of(record) == number && close_(value, value));
}

// The effect on the records of a class if one leaves and another joins.
Coloring::Effect Coloring::effect(std::int32_t number, std::int32_t out, std::int32_t in) const {
  const std::int32_t gone = values_[at(out)], come = values_[at(in)], limit = allowed_[at(number)];
  const auto over = [&](std::int32_t near) { return std::max(near - limit, 0); };
  if (gone == come) return {};
  std::int32_t near = 0;
  Effect effect;
  std::size_t place = starts_[at(number)];
  for (const std::int32_t other : classes_.members(number)) {
    const std::int32_t value = of_class_[place++], now = neighbours_[at(other)];
    if (other == out) continue;
    const std::int32_t more = close_(come, value), less = close_(gone, value);
    near += more;
    effect.excess += over(now + more - less) - over(now);
  }
  effect.pairs = near - neighbours_[at(out)];
  effect.excess += over(near) - over(neighbours_[at(out)]);
  return effect;
}

// The change of the cost of a class, times its size, if one record leaves and another joins.
double Coloring::growth(std::int32_t number, std::int32_t out, std::int32_t in) const {
  return static_cast<double>(classes_.members(number).size()) *
         classes_.growth(number, classes_.codes(out), classes_.codes(in));
}

bool Coloring::accepts(Goal goal, const Change& change) const {
  if (goal == Goal::loss && change.cost >= -kWorthwhile) return false;
  Effect sum;
  for (std::size_t i = 0; i < change.size(); ++i) {
    const std::int32_t in = change.records[i], out = change.records[(i + 1) % change.size()];
    const auto [pairs, excess] = effect(class_of(out), out, in);
    sum.pairs += pairs;
    sum.excess += excess;
  }
  switch (goal) {
    case Goal::loss:
      return sum.excess <= 0;
    case Goal::potential:
      return sum.pairs < 0;
    case Goal::careful:
      return sum.pairs < 0 && sum.excess < 0;
    default:
      return sum.excess < 0;
  }
}

// Whether no owner gets more than 1 / least of a class.
bool Coloring::keeps_apart(const Change& change) const {
  for (std::size_t i = 0; !owners_.empty() && i < change.size(); ++i) {
    const std::int32_t in = change.records[i], out = change.records[(i + 1) % change.size()];
    const auto& members = classes_.members(class_of(out));
    std::size_t own = 1;
    for (const std::int32_t other : members) own += other != out && owners_[at(other)] == owners_[at(in)];
    if (own * least_ > members.size()) return false;
  }
  return true;
}

// The change of the number of pairs of neighbours if two records change places; the first has `near_there`
// neighbours in the class of the other.
std::int64_t Coloring::pairs(std::int32_t record, std::int32_t other, std::int32_t near_there) const {
  const std::int32_t here = neighbours_in(class_of(record), other);
  const std::int32_t each_other = close_(values_[at(record)], values_[at(other)]);
  return here + near_there - 2 * each_other - neighbours_[at(record)] - neighbours_[at(other)];
}

// Tries all exchanges of a record with the records of another class.
void Coloring::try_pairs(std::int32_t record, std::int32_t to, Goal goal, Change& best) const {
  const std::int32_t from = class_of(record);
  const bool fewer = goal == Goal::potential || goal == Goal::careful;
  const std::int32_t near_there = fewer ? neighbours_in(to, record) : 0;
  // Where the record would have one neighbour too many, it may still take the place of one of them.
  const bool full = fewer && near_there > allowed_[at(to)];
  if (full && (goal == Goal::potential || near_there > allowed_[at(to)] + 1)) return;
  for (const std::int32_t other : classes_.members(to)) {
    if (full && !close_(values_[at(record)], values_[at(other)])) continue;
    Change change{growth(from, record, other), {record, other, -1}};
    if (goal == Goal::loss && change.cost >= best.cost) continue;  // the other class hardly gains
    change.cost += growth(to, other, record);
    if (std::tie(change.cost, other) >= std::tie(best.cost, best.records[1])) continue;
    if (fewer && pairs(record, other, near_there) >= 0) continue;
    if (!keeps_apart(change)) continue;
    if (goal == Goal::potential || accepts(goal, change)) best = change;
  }
}

// Tries cycles from the class of a record through another one to a third and back; of the records that could
// make room in the second class, only those whose going costs it least.
void Coloring::try_cycles(std::int32_t record, std::int32_t to, Goal goal, std::size_t few, Candidates& own,
                          Change& best) const {
  const std::int32_t from = class_of(record);
  own.ways.clear();
  for (const std::int32_t second : classes_.members(to))
    own.ways.emplace_back(growth(to, second, record), second);
  const std::size_t ways = std::min(kWays, own.ways.size());
  std::partial_sort(own.ways.begin(), own.ways.begin() + static_cast<std::ptrdiff_t>(ways), own.ways.end());
  for (std::size_t way = 0; way < ways; ++way) {
    const auto [room, second] = own.ways[way];
    classes_.tree().nearest(classes_.codes(second), few, kNever, own.further);
    for (const auto& [extra, last] : own.further.found) {
      if (last == from || last == to) continue;
      for (const std::int32_t third : classes_.members(last)) {
        Change change{room + growth(from, record, third), {record, second, third}};
        if (goal == Goal::loss && change.cost >= best.cost) continue;
        change.cost += growth(last, third, second);
        if (change.cost < best.cost && keeps_apart(change) && accepts(goal, change)) best = change;
      }
    }
  }
}

Coloring::Change Coloring::best_exchange(std::int32_t record, Goal goal, Scope scope, Candidates& own) const {
  const std::int32_t from = class_of(record);
  const std::int32_t* codes = classes_.codes(record);
  const auto [few, cycles, everywhere] = scope;
  const auto count = static_cast<std::int64_t>(classes_.count());
  Change best{kNever};
  double limit = kNever;
  if (goal == Goal::loss) {
    const double saved = -classes_.growth(from, codes, nullptr);
    best.cost = -kWorthwhile;
    limit = kAcceptedGrowth * saved;
    if (saved <= kWorthwhile) return best;
  }
  // In a large table very many classes are equally near. Where the first few brought nothing, the search ends
  // a few classes after the first exchange that costs nothing.
  const bool large = classes_.count() > kLarge;
  const auto look_near = [&, codes = codes, few = few](std::size_t width) {
    classes_.tree().nearest(codes, width + 1, limit, own.nearby);
    std::size_t more = 0;  // classes after the first exchange
    for (const auto& [extra, to] : own.nearby.found) {
      if (large && width > few && best.cost <= kWorthwhile && ++more > few) break;
      if (to != from) try_pairs(record, to, goal, best);
    }
  };
  look_near(few);
  if (cycles && !best.found())
    for (const auto& [extra, to] : own.nearby.found)
      if (to != from) try_cycles(record, to, goal, few, own, best);
  if (best.found() || goal == Goal::loss) return best;
  for (std::size_t width = few * kWider; !best.found() && width <= kWidest; width *= kWider) {
    if (width / kWider >= classes_.count()) break;
    look_near(width);
  }
  // Where all near classes are full, trying all of them takes long. Some classes in ever wider stretches on
  // both sides are enough.
  for (std::int64_t stride = kFarther; !best.found() && stride * kTriedOnEachSide < count; stride *= kFarther)
    for (std::int64_t step = -kTriedOnEachSide; step <= kTriedOnEachSide; ++step)
      if (step != 0)
        try_pairs(record, static_cast<std::int32_t>((from + step * stride + count) % count), goal, best);
  if (everywhere && !best.found())
    for (std::int32_t to = 0; to < count; ++to)
      if (to != from) try_pairs(record, to, goal, best);
  return best;
}

void Coloring::make(const Change& change) {
  ++now_;
  for (std::size_t i = 0; i < change.size(); ++i) {
    const std::int32_t number = class_of(change.records[i]);
    std::int64_t twice = 0;
    for (const std::int32_t record : classes_.members(number)) {
      twice += neighbours_[at(record)];
      excess_ -= std::max(neighbours_[at(record)] - allowed_[at(number)], 0);
    }
    potential_ -= twice / 2;
    changed_[at(number)] = now_;
  }
  classes_.rotate({change.records.data(), change.size()}, change.cost);
  for (std::size_t i = 0; i < change.size(); ++i) {
    gather(class_of(change.records[i]));
    count(class_of(change.records[i]));
  }
}

// Records that violate the limits, by what their class loses without them. An entry is old once its class has
// changed.
class Coloring::Waiting {
 public:
  using Entry = std::tuple<double, std::int32_t, std::int64_t>;  // loss, record, when its class had changed

  explicit Waiting(const Coloring& of) : of_(of) {
    for (std::size_t record = 0; record < of.values_.size(); ++record)
      push(static_cast<std::int32_t>(record));
  }

  void push(std::int32_t record) {
    const std::int32_t number = of_.class_of(record);
    if (!of_.violates(record)) return;
    const double loss = of_.classes_.growth(number, of_.classes_.codes(record), nullptr);
    entries_.emplace(loss, record, of_.changed_[at(number)]);
  }

  bool empty() const { return entries_.empty(); }

  Entry pop() {
    const Entry first = entries_.top();
    entries_.pop();
    return first;
  }

 private:
  const Coloring& of_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

std::int64_t Coloring::mend(Goal goal, std::size_t few, bool cycles, std::int64_t most) {
  Waiting waiting(*this);
  const std::size_t together = 1 + classes_.count() / kBatch;
  std::vector<std::int32_t> batch, stuck;
  std::vector<Change> changes;
  std::int64_t made = 0, before = 0, in_vain = 0;
  while (made < most) {
    batch.clear();
    while (!waiting.empty() && batch.size() < std::min<std::size_t>(together, at(most - made))) {
      const auto [gain, record, stamp] = waiting.pop();
      if (changed_[at(class_of(record))] == stamp && violates(record)) batch.push_back(record);
    }
    if (batch.empty()) {
      if (made == before) break;  // nothing has changed since all that is stuck was tried
      before = made;
      std::sort(stuck.begin(), stuck.end());
      stuck.erase(std::unique(stuck.begin(), stuck.end()), stuck.end());
      for (const std::int32_t record : stuck) waiting.push(record);
      stuck.clear();
      continue;
    }
    changes.resize(batch.size());
    const Scope scope{few, cycles, in_vain < kInVain};
    share(batch.size(), 1, [&] {
      return [&, own = Candidates{}](std::size_t i) mutable {
        changes[i] = best_exchange(batch[i], goal, scope, own);
      };
    });
    const std::int64_t begun = now_;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Change& change = changes[i];
      if (!change.found()) {
        stuck.push_back(batch[i]);
        in_vain += scope.everywhere;
        continue;
      }
      in_vain = 0;
      bool old = false;  // a class has changed since it was looked at
      for (std::size_t j = 0; j < change.size(); ++j)
        old |= changed_[at(class_of(change.records[j]))] > begun;
      if (old) {
        if (changed_[at(class_of(batch[i]))] <= begun) waiting.push(batch[i]);
        continue;
      }
      make(change);
      ++made;
      for (std::size_t j = 0; j < change.size(); ++j)
        for (const std::int32_t member : classes_.members(class_of(change.records[j]))) waiting.push(member);
    }
  }
  return made;
}

// The exchange of a record by line 8 of Algorithm 2. The loss of a class does not count its size there.
Coloring::Change Coloring::printed_exchange(std::int32_t record) const {
  const std::int32_t from = class_of(record);
  const std::int32_t* codes = classes_.codes(record);
  Change best{kNever};
  double least = kNever;
  for (std::int32_t to = 0; to < static_cast<std::int32_t>(classes_.count()); ++to) {
    const std::int32_t near_there = to == from ? 0 : neighbours_in(to, record);
    if (to == from || near_there > allowed_[at(to)]) continue;  // not movable
    for (const std::int32_t other : classes_.members(to)) {
      if (pairs(record, other, near_there) >= 0) continue;
      const double loss = classes_.growth(from, codes, classes_.codes(other)) +
                          classes_.growth(to, classes_.codes(other), codes);
      if (std::tie(loss, other) >= std::tie(least, best.records[1])) continue;
      least = loss;
      best = {growth(from, record, other) + growth(to, other, record), {record, other, -1}};
    }
  }
  return best;
}

std::int64_t Coloring::mend_as_printed(std::int64_t most) {
  Waiting waiting(*this);
  std::int64_t made = 0;
  while (made < most && !waiting.empty()) {
    pause_sometimes();
    const auto [loss, record, stamp] = waiting.pop();
    if (changed_[at(class_of(record))] != stamp) continue;  // an old entry; there is a new one
    const Change change = printed_exchange(record);
    if (!change.found()) break;
    make(change);
    ++made;
    for (const std::int32_t moved : {change.records[0], change.records[1]})
      for (const std::int32_t member : classes_.members(class_of(moved))) waiting.push(member);
  }
  return made;
}

std::int64_t Coloring::sweep(std::size_t few, bool cycles) {
  std::int64_t made = 0, begun = now_;
  const auto finder = [&] {
    return [&, own = Candidates{}](std::int32_t record) mutable {
      return best_exchange(record, Goal::loss, {few, cycles, false}, own);
    };
  };
  const auto act = [&](bool first, std::int32_t, const Change& change) {
    if (first) begun = now_;
    if (!change.found()) return;
    for (std::size_t i = 0; i < change.size(); ++i)
      if (changed_[at(class_of(change.records[i]))] > begun) return;  // it was tried before that
    make(change);
    ++made;
  };
  in_batches<Change>(values_.size(), 1 + classes_.count() / 16, finder, act);
  return made;
}

// Groups the records of a class by their quasi-identifiers.
void Coloring::alike(std::int32_t number, std::vector<std::vector<std::int32_t>>& groups) const {
  groups.clear();
  for (const std::int32_t record : classes_.members(number)) {
    const std::int32_t* codes = classes_.codes(record);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return std::equal(codes, codes + classes_.width(), classes_.codes(group.front()));
    });
    if (found == groups.end())
      groups.push_back({record});
    else
      found->push_back(record);
  }
}

// Two records of two classes that can change places without raising the excess; -1 if there are none.
std::pair<std::int32_t, std::int32_t> Coloring::harmless(const std::vector<std::int32_t>& some,
                                                         const std::vector<std::int32_t>& others) const {
  for (const std::int32_t record : some)
    for (const std::int32_t other : others)
      if (keeps_apart({0.0, {record, other, -1}}) &&
          effect(class_of(record), record, other).excess + effect(class_of(other), other, record).excess <= 0)
        return {record, other};
  return {-1, -1};
}

std::int64_t Coloring::part(std::span<const std::int32_t> classes, std::size_t few) {
  std::unordered_map<std::uint64_t, std::size_t> showing;  // how many classes show the same
  std::vector<std::uint64_t> shown(classes_.count());
  for (std::size_t number = 0; number < shown.size(); ++number)
    ++showing[shown[number] = classes_.shown(static_cast<std::int32_t>(number))];
  const auto alone = [&](std::uint64_t what) {
    const auto found = showing.find(what);
    return found == showing.end() || found->second == 0;
  };
  std::int64_t made = 0;
  UnionTree::Nearby nearby;
  std::vector<std::vector<std::int32_t>> own_groups, their_groups;
  for (const std::int32_t number : classes) {
    pause_sometimes();
    const std::size_t same = showing[shown[at(number)]];
    if (same < 2) continue;
    Change best{kNever};
    alike(number, own_groups);
    // Classes that show the same are all as near as possible, but of no use.
    for (std::size_t width = few + same; !best.found() && width / kWider < classes_.count(); width *= kWider)
      for (const auto& leaving : own_groups) {
        const std::int32_t* gone = classes_.codes(leaving.front());
        classes_.tree().nearest(gone, width, kNever, nearby);
        for (const auto& [extra, to] : nearby.found) {
          if (shown[at(to)] == shown[at(number)]) continue;
          alike(to, their_groups);
          for (const auto& coming : their_groups) {
            const std::int32_t* come = classes_.codes(coming.front());
            const double cost =
                growth(number, leaving.front(), coming.front()) + growth(to, coming.front(), leaving.front());
            if (cost >= best.cost) continue;
            const std::uint64_t own = classes_.shown(number, gone, come);
            const std::uint64_t then = classes_.shown(to, come, gone);
            if (!alone(own) || then == own || (then != shown[at(to)] && !alone(then))) continue;
            if (const auto pair = harmless(leaving, coming); pair.first >= 0)
              best = {cost, {pair.first, pair.second, -1}};
          }
        }
      }
    if (!best.found()) continue;
    const std::int32_t other = class_of(best.records[1]);
    make(best);
    for (const std::int32_t changed : {number, other}) {
      --showing[shown[at(changed)]];
      ++showing[shown[at(changed)] = classes_.shown(changed)];
    }
    ++made;
  }
  return made;
}

}  // namespace shoal
