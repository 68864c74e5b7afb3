#include "baselines/closure_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr double kSteps = 4294967296.0;  // in a distance of 1
constexpr double kDoubt = 0.05;          // steps by which a bound may be wrong through rounding

}  // namespace

ClosureCosts::ClosureCosts(const std::vector<Attribute>& attributes,
                           const std::vector<std::span<const double>>& counts)
    : attributes_(attributes) {
  for (std::size_t a = 0; a < attributes.size(); ++a)
    each_.emplace_back(attributes[a], counts.empty() ? std::span<const double>{} : counts[a]);
}

Closure ClosureCosts::of_record(const std::int32_t* codes) const {
  Closure closure;
  for (std::size_t a = 0; a < each_.size(); ++a) {
    closure.cells.emplace_back(attributes_[a], codes[a]);
    if (each_[a].wide()) closure.wide.push_back({codes[a]});
  }
  return closure;
}

void ClosureCosts::unite(Closure& closure, const Closure& other) const {
  closure.cost = joint_cost(closure, other);
  for (std::size_t a = 0; a < each_.size(); ++a) closure.cells[a].unite(attributes_[a], other.cells[a]);
  for (std::size_t w = 0; w < closure.wide.size(); ++w) {
    std::vector<std::int32_t> both;
    std::set_union(closure.wide[w].begin(), closure.wide[w].end(), other.wide[w].begin(), other.wide[w].end(),
                   std::back_inserter(both));
    closure.wide[w] = std::move(both);
  }
}

double ClosureCosts::joint_cost(const Closure& a, const Closure& b, double enough) const {
  thread_local std::vector<std::int32_t> both;
  double sum = 0.0;
  for (std::size_t i = 0, w = 0; i < each_.size() && sum <= enough; ++i) {
    if (each_[i].wide()) {
      both.clear();
      std::set_union(a.wide[w].begin(), a.wide[w].end(), b.wide[w].begin(), b.wide[w].end(),
                     std::back_inserter(both));
      sum += attributes_[i].weight * each_[i].cost(both);
      ++w;
      continue;
    }
    Cell cell = a.cells[i];
    cell.unite(attributes_[i], b.cells[i]);
    sum += attributes_[i].weight * each_[i].cost(cell);
  }
  return sum;
}

std::int64_t in_steps(double distance) {
  return static_cast<std::int64_t>(std::floor(distance * kSteps + 0.5));
}

ClosureTree::ClosureTree(std::span<const std::int32_t> codes, std::int32_t records, const ClosureCosts& costs)
    : costs_(costs), boxes_(codes, records, costs.attributes(), 1), sizes_(at(records), 1),
      loose_(at(records), 0.0), unions_(boxes_.nodes().size() * costs.attributes().size()),
      marks_(unions_.size()), summaries_(boxes_.nodes().size()) {
  for (std::int32_t place = 0; place < records; ++place) {
    closures_.push_back(costs.of_record(boxes_.codes(place)));
    ages_.push_back(record(place));
  }
  for (auto node = static_cast<std::int32_t>(boxes_.nodes().size()); node-- > 0;) {
    summarize(node);
  }
}

void ClosureTree::put(std::int32_t place, Closure closure, std::int32_t size, std::int64_t age) {
  closures_[at(place)] = std::move(closure);
  sizes_[at(place)] = size;
  ages_[at(place)] = age;
  const std::vector<double> costs = costs_of(closures_[at(place)]);
  loose_[at(place)] = 0.0;
  for (std::size_t a = 0; a < costs.size(); ++a)
    if (costs_.each()[a].loose()) loose_[at(place)] += costs_.attributes()[a].weight * costs[a];
  summarize_above(place);
}

void ClosureTree::take_away(std::int32_t place) {
  sizes_[at(place)] = 0;
  summarize_above(place);
}

void ClosureTree::set_sizes(std::span<const std::int32_t> sizes) {
  sizes_.assign(sizes.begin(), sizes.end());
  for (auto node = static_cast<std::int32_t>(boxes_.nodes().size()); node-- > 0;) summarize(node);
}

ClosureTree::Nearest ClosureTree::nearest(std::int32_t place, std::span<const std::int32_t> group,
                                          Search& search) const {
  const Closure& asking = closures_[at(place)];
  const std::int32_t size = sizes_[at(place)];
  Nearest best;
  search.own = costs_of(asking);
  const auto reach = [&](std::int32_t node) {
    const Summary& summary = summaries_[at(node)];
    return std::pair(summary.most > 0 ? bound(node, asking, size, search.own) : 0, summary.oldest);
  };
  const auto is_hopeless = [&](std::int32_t node, const auto& reached) {
    return summaries_[at(node)].most == 0 || reached > std::pair(best.distance, best.age);
  };
  const auto look = [&](std::int32_t leaf, const auto&) {
    const TreeNode& node = boxes_.nodes()[at(leaf)];
    for (std::int32_t other = node.begin; other < node.end; ++other)
      if (sizes_[at(other)] > 0 && other != place && (group.empty() || group[at(other)] != group[at(place)]))
        best = std::min(best, distance_to(asking, size, other, best));
  };
  search.visited += visit_nearer_first(boxes_.nodes(), search.stack, 0, reach, is_hopeless, look);
  return best;
}

// The cluster at a place as the nearest one; `best` if it is surely more distant.
ClosureTree::Nearest ClosureTree::distance_to(const Closure& asking, std::int32_t size, std::int32_t other,
                                              const Nearest& best) const {
  const Closure& closure = closures_[at(other)];
  const double logarithm = log_of(std::int64_t{size} + sizes_[at(other)]);
  const double apart = asking.cost + closure.cost;
  const double enough =
      best.place < 0 ? kUnlimited : apart + static_cast<double>(best.distance + 1) / kSteps * logarithm;
  const double together = costs_.joint_cost(asking, closure, enough);
  if (together > enough) return best;
  return {in_steps((together - apart) / logarithm), ages_[at(other)], other};
}

// Of at least two.
double ClosureTree::log_of(std::int64_t size) const {
  return std::log2(static_cast<double>(size));
}

// In each attribute.
std::vector<double> ClosureTree::costs_of(const Closure& closure) const {
  std::vector<double> costs;
  for (std::size_t a = 0, w = 0; a < costs_.each().size(); ++a) {
    const ClosureCost& each = costs_.each()[a];
    costs.push_back(each.wide() ? each.cost(closure.wide[w++]) : each.cost(closure.cells[a]));
  }
  return costs;
}

ClosureTree::Below ClosureTree::below(std::int32_t node, const Closure& asking,
                                      const std::vector<double>& own) const {
  const Summary& summary = summaries_[at(node)];
  const Cell* cells = unions_.data() + at(node) * costs_.each().size();
  const std::uint64_t* marks = marks_.data() + at(node) * costs_.each().size();
  double growth = 0.0, surplus = -summary.dearest_loose;
  for (std::size_t a = 0; a < costs_.each().size(); ++a) {
    const double weight = costs_.attributes()[a].weight;
    const std::uint64_t own_mark = mark(a, asking.cells[a]);
    const bool unlike = own_mark != 0 && (own_mark & marks[a]) == 0;
    growth += weight * costs_.each()[a].least_growth(asking.cells[a], own[a], cells[a], unlike);
    surplus += weight * costs_.each()[a].least_surplus(asking.cells[a], cells[a]);
  }
  return {growth, surplus, summary.least, summary.most, summary.oldest};
}

// A lower bound for the distance of all clusters below a node.
std::int64_t ClosureTree::bound(std::int32_t node, const Closure& asking, std::int32_t size,
                                const std::vector<double>& own) const {
  const auto [growth, surplus, least, most, oldest] = below(node, asking, own);
  const double apart = std::max(growth - summaries_[at(node)].dearest, surplus - asking.cost);
  const double distance = apart / log_of(std::int64_t{size} + (apart < 0.0 ? least : most));
  return static_cast<std::int64_t>(std::floor(distance * kSteps + 0.5 - kDoubt));
}

// A bit for a closure of one code of a tree, none for others. By entropy, two different codes of a tree may
// be far apart wherever they lie; the bounds of other attributes do without.
std::uint64_t ClosureTree::mark(std::size_t attribute, Cell cell) const {
  const ClosureCost& each = costs_.each()[attribute];
  if (!each.by_entropy() || each.loose() || cell.low() != cell.high()) return 0;
  return std::uint64_t{1} << (static_cast<std::uint32_t>(cell.low()) * 0x9e3779b1U >> 26U);
}

void ClosureTree::summarize(std::int32_t node) {
  const std::size_t d = costs_.each().size();
  const auto& [begin, end, left, parent, equal] = boxes_.nodes()[at(node)];
  Summary summary{std::numeric_limits<std::int32_t>::max(), 0, std::numeric_limits<std::int64_t>::max(), 0.0,
                  0.0};
  Cell* cells = unions_.data() + at(node) * d;
  std::uint64_t* marks = marks_.data() + at(node) * d;
  std::fill(marks, marks + d, 0);
  const auto add = [&](const Summary& part, const Cell* own) {
    if (part.most == 0) return;
    for (std::size_t a = 0; a < d; ++a) {
      if (summary.most == 0)
        cells[a] = own[a];
      else
        cells[a].unite(costs_.attributes()[a], own[a]);
    }
    summary = {std::min(summary.least, part.least), std::max(summary.most, part.most),
               std::min(summary.oldest, part.oldest), std::max(summary.dearest, part.dearest),
               std::max(summary.dearest_loose, part.dearest_loose)};
  };
  if (left >= 0) {
    for (const std::int32_t child : {left, left + 1}) {
      add(summaries_[at(child)], unions_.data() + at(child) * d);
      if (summaries_[at(child)].most > 0)
        for (std::size_t a = 0; a < d; ++a) marks[a] |= marks_[at(child) * d + a];
    }
  } else {
    for (std::int32_t place = begin; place < end; ++place) {
      const Closure& closure = closures_[at(place)];
      const std::int32_t size = sizes_[at(place)];
      add({size, size, ages_[at(place)], closure.cost, loose_[at(place)]}, closure.cells.data());
      if (size > 0)
        for (std::size_t a = 0; a < d; ++a) marks[a] |= mark(a, closure.cells[a]);
    }
  }
  summaries_[at(node)] = summary;
}

void ClosureTree::summarize_above(std::int32_t place) {
  for (std::int32_t node = boxes_.leaf_of(place); node >= 0; node = boxes_.nodes()[at(node)].parent)
    summarize(node);
}

}  // namespace shoal
