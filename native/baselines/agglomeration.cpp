#include "baselines/agglomeration.hpp"

#include <algorithm>
#include <limits>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {

Agglomeration::Agglomeration(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                             const ClosureCosts& costs, std::int32_t k)
    : costs_(costs), copies_(copies), k_(k), tree_(codes, static_cast<std::int32_t>(copies.size()), costs),
      members_(copies.size()), born_(static_cast<std::int64_t>(copies.size())) {
  // Copies are closest: first they form classes, and the remaining ones clusters.
  std::vector<std::int32_t> left(copies.size());
  std::vector<std::int32_t> place_of(copies.size());
  for (std::int32_t place = 0; place < tree_.places(); ++place) place_of[at(tree_.record(place))] = place;
  for (const std::int32_t place : place_of) {
    const std::int32_t all = copies[at(tree_.record(place))];
    for (std::int32_t i = 0; i < all / k; ++i) settle({{place, k}}, tree_.closure(place), k);
    left[at(place)] = all % k;
    if (all % k == 0) continue;
    members_[at(place)] = {{place, all % k}};
    ++clusters_;
  }
  tree_.set_sizes(left);
  std::vector<ClosureTree::Nearest> nearest(copies.size());
  if (clusters_ > 1)
    share(nearest.size(), 64, [&] {
      return [&, search = ClosureTree::Search{}](std::size_t place) mutable {
        if (left[place] > 0) nearest[place] = tree_.nearest(static_cast<std::int32_t>(place), {}, search);
      };
    });
  for (std::int32_t place = 0; place < tree_.places(); ++place) push(place, nearest[at(place)]);
}

std::int64_t Agglomeration::advance(std::int64_t pairs) {
  while (pairs > 0 && clusters_ > 1) {
    pause_sometimes();
    const Pair pair = closest_.top();
    closest_.pop();
    if (tree_.size(pair.asking) == 0 || tree_.age(pair.asking) != pair.asked) continue;
    const std::int64_t age = tree_.age(pair.other);
    if (tree_.size(pair.other) == 0 || (age != pair.older && age != pair.younger)) {
      ask(pair.asking);  // the other one is gone
      continue;
    }
    unite(pair.asking, pair.other);
    --pairs;
  }
  if (clusters_ == 1 && pairs > 0) {
    clusters_ = 0;
    for (std::int32_t place = 0; place < tree_.places(); ++place)
      if (tree_.size(place) > 0) distribute(members_[at(place)]);
  }
  return settled_;
}

std::vector<std::int32_t> Agglomeration::classes() const {
  std::vector<std::int64_t> next(copies_.size() + 1, 0);
  for (std::size_t record = 0; record < copies_.size(); ++record)
    next[record + 1] = next[record] + copies_[record];
  std::vector<std::int32_t> classes(at(next.back()));
  for (std::size_t number = 0; number < classes_.size(); ++number)
    for (const auto& [place, copies] : classes_[number].members)
      for (std::int32_t i = 0; i < copies; ++i)
        classes[at(next[at(tree_.record(place))]++)] = static_cast<std::int32_t>(number);
  return classes;
}

void Agglomeration::ask(std::int32_t place) {
  push(place, tree_.nearest(place, {}, search_));
}

void Agglomeration::push(std::int32_t place, const ClosureTree::Nearest& nearest) {
  if (nearest.place < 0) return;
  const std::int64_t own = tree_.age(place);
  closest_.push(
      {nearest.distance, std::min(own, nearest.age), std::max(own, nearest.age), place, nearest.place, own});
}

// Merges two clusters. With k records or more it is a class, and the records above k start again as
// clusters.
void Agglomeration::unite(std::int32_t place, std::int32_t other) {
  if (tree_.size(place) < tree_.size(other)) std::swap(place, other);
  Members both;
  const auto by_record = [&](const auto& a, const auto& b) {
    return tree_.record(a.first) < tree_.record(b.first);
  };
  std::merge(members_[at(place)].begin(), members_[at(place)].end(), members_[at(other)].begin(),
             members_[at(other)].end(), std::back_inserter(both), by_record);
  members_[at(other)].clear();
  std::int32_t size = tree_.size(place) + tree_.size(other);
  Closure closure = tree_.closure(place);
  costs_.unite(closure, tree_.closure(other));
  tree_.take_away(other);
  --clusters_;
  if (size < k_) {
    members_[at(place)] = std::move(both);
    tree_.put(place, std::move(closure), size, born_++);
    if (clusters_ > 1) ask(place);
    return;
  }
  tree_.take_away(place);
  members_[at(place)].clear();
  --clusters_;
  Members expelled;
  for (; size > k_; --size) {
    const std::size_t i = farthest(both);
    const std::int32_t gone = both[i].first;
    if (--both[i].second == 0) both.erase(both.begin() + static_cast<std::ptrdiff_t>(i));
    const auto known =
        std::find_if(expelled.begin(), expelled.end(), [&](const auto& pair) { return pair.first == gone; });
    if (known == expelled.end())
      expelled.emplace_back(gone, 1);
    else
      ++known->second;
  }
  if (!expelled.empty()) closure = closure_of(both);
  settle(std::move(both), std::move(closure), k_);
  // The place of its record is free: the cluster there contains the record.
  std::sort(expelled.begin(), expelled.end(), by_record);
  for (const auto& member : expelled) {
    members_[at(member.first)] = {member};
    tree_.put(member.first, costs_.of_record(tree_.codes(member.first)), member.second, born_++);
    ++clusters_;
  }
  if (clusters_ > 1)
    for (const auto& member : expelled) ask(member.first);
}

void Agglomeration::settle(Members members, Closure closure, std::int64_t size) {
  classes_.push_back({std::move(members), std::move(closure), size});
  settled_ += size;
}

Closure Agglomeration::closure_of(const Members& members) const {
  Closure closure = costs_.of_record(tree_.codes(members[0].first));
  for (std::size_t i = 1; i < members.size(); ++i)
    costs_.unite(closure, costs_.of_record(tree_.codes(members[i].first)));
  return closure;
}

// The first member without which the others cost least.
std::size_t Agglomeration::farthest(const Members& members) const {
  if (members.size() == 1) return 0;
  std::vector<Closure> after;  // of the last member, the last two, ...
  for (std::size_t i = members.size(); i-- > 1;) {
    Closure closure = costs_.of_record(tree_.codes(members[i].first));
    if (!after.empty()) costs_.unite(closure, after.back());
    after.push_back(std::move(closure));
  }
  std::size_t best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  Closure before;
  const Closure first = costs_.of_record(tree_.codes(members[0].first));
  const double all = costs_.joint_cost(first, after.back());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool last = i + 1 == members.size();
    double cost = all;
    if (members[i].second == 1) {
      if (i == 0)
        cost = after.back().cost;
      else
        cost = last ? before.cost : costs_.joint_cost(before, after[members.size() - 2 - i]);
    }
    if (in_steps(cost) < least) {
      least = in_steps(cost);
      best = i;
    }
    const Closure own = costs_.of_record(tree_.codes(members[i].first));
    if (i == 0)
      before = own;
    else
      costs_.unite(before, own);
  }
  return best;
}

// Adds each record, one after the other, to the class where it costs least, summed over the class.
void Agglomeration::distribute(const Members& members) {
  for (const auto& [place, copies] : members)
    for (std::int32_t i = 0; i < copies; ++i) {
      const Closure own = costs_.of_record(tree_.codes(place));
      std::size_t best = 0;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (std::size_t number = 0; number < classes_.size(); ++number) {
        const Class& candidate = classes_[number];
        const auto size = static_cast<double>(candidate.size);
        const std::int64_t cost = in_steps((size + 1.0) * costs_.joint_cost(candidate.closure, own) -
                                           size * candidate.closure.cost);
        if (cost < least) {
          least = cost;
          best = number;
        }
      }
      Class& chosen = classes_[best];
      costs_.unite(chosen.closure, own);
      chosen.members.emplace_back(place, 1);
      ++chosen.size;
      ++settled_;
    }
}

}  // namespace shoal
