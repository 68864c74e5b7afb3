#include "baselines/unification.hpp"

#include <algorithm>
#include <limits>
#include <map>
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

}  // namespace

std::vector<std::int32_t> unify(std::span<const std::int32_t> codes, std::span<const std::int32_t> class_of,
                                const ClosureCosts& costs, std::span<const Sensitive> sensitive,
                                double diversity, double weight) {
  std::vector<UnitedClass> classes = classes_of(codes, class_of, costs, sensitive);
  const auto records = static_cast<double>(class_of.size());
  std::vector<std::size_t> number(classes.size());  // in which class each is now
  std::vector<double> diversities;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    number[i] = i;
    diversities.push_back(diversity_of(classes[i]));
  }
  while (true) {
    const auto least = at(std::min_element(diversities.begin(), diversities.end()) - diversities.begin());
    if (diversities[least] * (1.0 + kRounding / 2.0) >= diversity) break;
    const UnitedClass& lacking = classes[least];
    std::size_t best = classes.size();
    std::int64_t cheapest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (i == least || classes[i].size == 0) continue;
      const auto a = static_cast<double>(lacking.size), b = static_cast<double>(classes[i].size);
      const double loss = (a + b) * costs.joint_cost(lacking.closure, classes[i].closure) -
                          (a * lacking.closure.cost + b * classes[i].closure.cost);
      const double gap = std::max(diversity - joint_diversity(lacking, classes[i]), 0.0);
      const std::int64_t cost = in_steps(weight * (loss / records) + (1.0 - weight) * gap);
      if (cost < cheapest) {
        cheapest = cost;
        best = i;
      }
    }
    if (best == classes.size()) break;  // all records are one class
    const std::size_t kept = std::min(least, best), gone = std::max(least, best);
    costs.unite(classes[kept].closure, classes[gone].closure);
    classes[kept].size += classes[gone].size;
    for (std::size_t column = 0; column < sensitive.size(); ++column)
      classes[kept].tallies[column] = sum(classes[kept].tallies[column], classes[gone].tallies[column]);
    diversities[kept] = diversity_of(classes[kept]);
    diversities[gone] = kUnlimited;
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
