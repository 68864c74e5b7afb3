#include "baselines/unification.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

// How many records have each label, ascending by label.
using Tally = std::vector<std::pair<std::int32_t, std::int64_t>>;

struct UnitedClass {
  Closure closure;
  std::int64_t size = 0;
  std::vector<Tally> tallies;  // per sensitive column
};

Tally sum(const Tally& a, const Tally& b) {
  Tally both;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) {
      both.push_back(a[i++]);
    } else if (i == a.size() || b[j].first < a[i].first) {
      both.push_back(b[j++]);
    } else {
      both.emplace_back(a[i].first, a[i].second + b[j].second);
      ++i, ++j;
    }
  }
  return both;
}

double diversity_of(std::int64_t size, const Tally& tally) {
  std::int64_t most = 0;
  for (const auto& [label, count] : tally) most = std::max(most, count);
  return static_cast<double>(size) / static_cast<double>(most);
}

double diversity_of(const UnitedClass& one) {
  double least = kUnlimited;
  for (const Tally& tally : one.tallies) least = std::min(least, diversity_of(one.size, tally));
  return least;
}

double joint_diversity(const UnitedClass& a, const UnitedClass& b) {
  double least = kUnlimited;
  for (std::size_t column = 0; column < a.tallies.size(); ++column)
    least = std::min(least, diversity_of(a.size + b.size, sum(a.tallies[column], b.tallies[column])));
  return least;
}

std::vector<UnitedClass> classes_of(std::span<const std::int32_t> codes,
                                    std::span<const std::int32_t> class_of, const ClosureCosts& costs,
                                    std::span<const Sensitive> sensitive) {
  const std::size_t d = costs.attributes().size();
  std::vector<UnitedClass> classes(at(*std::max_element(class_of.begin(), class_of.end())) + 1);
  std::vector<std::vector<std::map<std::int32_t, std::int64_t>>> counted(
      classes.size(), std::vector<std::map<std::int32_t, std::int64_t>>(sensitive.size()));
  for (std::size_t record = 0; record < class_of.size(); ++record) {
    const auto number = at(class_of[record]);
    UnitedClass& own = classes[number];
    Closure closure = costs.of_record(codes.data() + record * d);
    if (own.size++ == 0)
      own.closure = std::move(closure);
    else
      costs.unite(own.closure, closure);
    for (std::size_t column = 0; column < sensitive.size(); ++column)
      ++counted[number][column][sensitive[column].codes[record]];
  }
  for (std::size_t number = 0; number < classes.size(); ++number)
    for (const auto& labels : counted[number])
      classes[number].tallies.emplace_back(labels.begin(), labels.end());
  return classes;
}

// Classes in a tree by their closures, and which of them is the best to unite another one with.
class Partners {
 public:
  Partners(std::span<const std::int32_t> codes, std::span<const std::int32_t> class_of,
           const std::vector<UnitedClass>& classes, const ClosureCosts& costs, double diversity,
           double weight)
      : classes_(classes), costs_(costs), records_(static_cast<double>(class_of.size())),
        diversity_(diversity), weight_(weight), first_(first_codes(codes, class_of)),
        tree_(first_, static_cast<std::int32_t>(classes.size()), costs), place_of_(classes.size()) {
    for (std::int32_t place = 0; place < tree_.places(); ++place) {
      const std::int32_t number = tree_.record(place);
      place_of_[at(number)] = place;
      tree_.put(place, classes[at(number)].closure, static_cast<std::int32_t>(classes[at(number)].size),
                number);
    }
  }

  // The class that is best to unite a class with, the lowest number among equals; -1 if there is no other.
  std::int32_t best(std::size_t number) {
    const UnitedClass& lacking = classes_[number];
    const auto size = static_cast<double>(lacking.size);
    std::int64_t most_frequent = 1;  // no union has fewer records with this label
    for (const Tally& tally : lacking.tallies)
      for (const auto& [label, count] : tally) most_frequent = std::max(most_frequent, count);
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::pair<std::int64_t, std::int64_t> found{kNone, kNone};  // cost and number
    const auto reach = [&](const ClosureTree::Below& below) {
      const double other = below.surplus < 0.0 ? below.most : below.least;
      const double loss = size * below.growth + other * below.surplus;
      const double gap = std::max(
          diversity_ - (size + static_cast<double>(below.most)) / static_cast<double>(most_frequent), 0.0);
      // Rounding may make the cost of a union a step lower than its bound.
      return std::pair(in_steps(weight_ * (loss / records_) + (1.0 - weight_) * gap) - 2, below.oldest);
    };
    const auto is_hopeless = [&](const auto& reached) { return reached > found; };
    const auto look = [&](std::int32_t place) {
      const std::int32_t other = tree_.record(place);
      found = std::min(found, std::pair(cost(lacking, classes_[at(other)]), std::int64_t{other}));
    };
    tree_.visit(place_of_[number], stack_, reach, is_hopeless, look);
    return found.second == kNone ? -1 : static_cast<std::int32_t>(found.second);
  }

  // After two classes were united: the first has the records of both.
  void unite(std::size_t kept, std::size_t gone) {
    tree_.put(place_of_[kept], classes_[kept].closure, static_cast<std::int32_t>(classes_[kept].size),
              static_cast<std::int64_t>(kept));
    tree_.take_away(place_of_[gone]);
  }

 private:
  // The codes of one record of each class, row-major.
  std::vector<std::int32_t> first_codes(std::span<const std::int32_t> codes,
                                        std::span<const std::int32_t> class_of) const {
    const std::size_t d = costs_.attributes().size();
    std::vector<std::int32_t> first(classes_.size() * d);
    for (std::size_t record = class_of.size(); record-- > 0;)
      std::copy_n(codes.begin() + static_cast<std::ptrdiff_t>(record * d), d,
                  first.begin() + static_cast<std::ptrdiff_t>(at(class_of[record]) * d));
    return first;
  }

  std::int64_t cost(const UnitedClass& lacking, const UnitedClass& other) const {
    const auto a = static_cast<double>(lacking.size), b = static_cast<double>(other.size);
    const double loss = (a + b) * costs_.joint_cost(lacking.closure, other.closure) -
                        (a * lacking.closure.cost + b * other.closure.cost);
    const double gap = std::max(diversity_ - joint_diversity(lacking, other), 0.0);
    return in_steps(weight_ * (loss / records_) + (1.0 - weight_) * gap);
  }

  const std::vector<UnitedClass>& classes_;
  const ClosureCosts& costs_;
  double records_, diversity_, weight_;
  std::vector<std::int32_t> first_;
  ClosureTree tree_;
  std::vector<std::int32_t> place_of_;
  std::vector<WaitingNode<std::pair<std::int64_t, std::int64_t>>> stack_;
};

}  // namespace

std::vector<std::int32_t> unify(std::span<const std::int32_t> codes, std::span<const std::int32_t> class_of,
                                const ClosureCosts& costs, std::span<const Sensitive> sensitive,
                                double diversity, double weight) {
  std::vector<UnitedClass> classes = classes_of(codes, class_of, costs, sensitive);
  Partners partners(codes, class_of, classes, costs, diversity, weight);
  std::vector<std::size_t> number(classes.size());         // in which class each is now
  std::set<std::pair<double, std::size_t>> least_diverse;  // all classes, by their diversity
  for (std::size_t i = 0; i < classes.size(); ++i) {
    number[i] = i;
    least_diverse.emplace(diversity_of(classes[i]), i);
  }
  while (least_diverse.begin()->first * (1.0 + kRounding / 2.0) < diversity) {
    const std::size_t least = least_diverse.begin()->second;
    const std::int32_t best = partners.best(least);
    if (best < 0) break;  // all records are one class
    const std::size_t kept = std::min(least, at(best)), gone = std::max(least, at(best));
    for (const std::size_t each : {kept, gone}) least_diverse.erase({diversity_of(classes[each]), each});
    costs.unite(classes[kept].closure, classes[gone].closure);
    classes[kept].size += classes[gone].size;
    for (std::size_t column = 0; column < sensitive.size(); ++column)
      classes[kept].tallies[column] = sum(classes[kept].tallies[column], classes[gone].tallies[column]);
    partners.unite(kept, gone);
    least_diverse.emplace(diversity_of(classes[kept]), kept);
    classes[gone] = {};
    number[gone] = kept;
  }
  std::vector<std::int32_t> renumbered(classes.size());
  std::int32_t count = 0;
  for (std::size_t i = 0; i < classes.size(); ++i)
    renumbered[i] = number[i] == i ? count++ : renumbered[number[i]];  // into a lower number, done already
  std::vector<std::int32_t> unified;
  for (const std::int32_t old : class_of) unified.push_back(renumbered[at(old)]);
  return unified;
}

}  // namespace shoal
