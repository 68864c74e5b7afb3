// The door between Python and the compiled core: checks only that rows can be numbered in 32 bits, copies
// nothing, releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "agglomeration.hpp"
#include "arrays.hpp"
#include "assignment.hpp"
#include "box_tree.hpp"
#include "chain.hpp"
#include "cheapest_matching.hpp"
#include "classes.hpp"
#include "closeness.hpp"
#include "coloring.hpp"
#include "components.hpp"
#include "concealing.hpp"
#include "consistency.hpp"
#include "crowd.hpp"
#include "cut.hpp"
#include "diversification.hpp"
#include "exact_links.hpp"
#include "forest.hpp"
#include "greedy_matching.hpp"
#include "grouping.hpp"
#include "matching_chains.hpp"
#include "maximum_matching.hpp"
#include "mondrian.hpp"
#include "own_rows.hpp"
#include "pattern_cover.hpp"
#include "pattern_search.hpp"
#include "random_words.hpp"
#include "refinement.hpp"
#include "ring.hpp"
#include "sets_module.hpp"
#include "space.hpp"
#include "sparse_assignment.hpp"
#include "stable_matching.hpp"
#include "tightening.hpp"
#include "unification.hpp"
#include "workers.hpp"
#include "worlds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace shoal {
namespace {

std::int64_t rows_of(const Matrix& matrix) {
  if (matrix.shape(0) > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("a matrix of codes has at most 2,147,483,647 rows");
  return static_cast<std::int64_t>(matrix.shape(0));
}

auto group_rows_py(const Matrix& codes) {
  const std::int64_t rows = rows_of(codes);
  std::vector<std::int32_t> groups(codes.shape(0));
  std::vector<std::int64_t> first;
  {
    nb::gil_scoped_release release;
    first = group_rows(codes.data(), rows, static_cast<std::int64_t>(codes.shape(1)), groups.data());
  }
  return std::pair(give(std::move(groups)), give(std::move(first)));
}

// kind, weight, number of codes, table: see space.hpp
using AttributeSpec = std::tuple<int, double, std::int32_t, Array<double>>;

std::vector<Attribute> attributes_of(const std::vector<AttributeSpec>& specs) {
  std::vector<Attribute> attributes;
  for (const auto& [kind, weight, size, table] : specs)
    attributes.emplace_back(static_cast<Kind>(kind), weight, size, view(table));
  return attributes;
}

using SensitiveSpec = std::pair<Array<std::int32_t>, std::int32_t>;

auto mondrian_py(const Matrix& codes, const std::vector<AttributeSpec>& specs,
                 const std::vector<SensitiveSpec>& sensitive, std::int64_t k, double frequency_l,
                 std::int64_t distinct, double entropy, bool relaxed) {
  const auto attributes = attributes_of(specs);
  std::vector<Sensitive> columns;
  for (const auto& [values, size] : sensitive) columns.push_back({view(values), size});
  const std::int64_t rows = rows_of(codes);
  std::vector<std::int32_t> classes;
  {
    nb::gil_scoped_release release;
    classes = mondrian(view(codes), rows, attributes, columns, {k, frequency_l, distinct, entropy}, relaxed);
  }
  return give(std::move(classes));
}

// number of codes, low, high (intervals) or starts, members (sets); the others empty
using ValuesSpec = std::tuple<bool, std::int32_t, Array<std::int32_t>, Array<std::int32_t>,
                              Array<std::int64_t>, Array<std::int32_t>>;

// What is found for each of some places: where each list begins, and all of them in a row.
template <typename Search, typename Find>
auto lists(const Array<std::int32_t>& places, const Find& find) {
  std::vector<std::int64_t> starts(1, 0);
  std::vector<std::int32_t> all;
  {
    nb::gil_scoped_release release;
    std::vector<std::vector<std::int32_t>> found(places.shape(0));
    share(places.shape(0), 64, [&] {
      return [&, search = Search{}](std::size_t i) mutable { found[i] = find(places.data()[i], search); };
    });
    for (const auto& list : found) starts.push_back(starts.back() + static_cast<std::int64_t>(list.size()));
    all.reserve(static_cast<std::size_t>(starts.back()));
    for (const auto& list : found) all.insert(all.end(), list.begin(), list.end());
  }
  return std::pair(give(std::move(starts)), give(std::move(all)));
}

// A consistency graph together with all that it refers to.
class ConsistencyGraphPy {
 public:
  ConsistencyGraphPy(Matrix records, const Array<std::int64_t>& record_copies, Matrix boxes,
                     const Array<std::int64_t>& box_copies, std::vector<ValuesSpec> specs)
      : records_(std::move(records)), boxes_(std::move(boxes)), specs_(std::move(specs)) {
    rows_of(records_);
    rows_of(boxes_);
    for (const auto& [sets, size, low, high, starts, members] : specs_)
      values_.push_back({sets, size, view(low), view(high), view(starts), view(members)});
    nb::gil_scoped_release release;
    graph_.emplace(view(records_), view(record_copies), view(boxes_), view(box_copies), values_);
  }

  auto count() const {
    Counts counts;
    {
      nb::gil_scoped_release release;
      counts = graph_->count();
    }
    return std::pair(give(std::move(counts.boxes_of_record)), give(std::move(counts.records_of_box)));
  }

  // In the order of kernels.LabelCounts.
  auto count_labels(const Array<std::int32_t>& labels, std::int32_t size) const {
    LabelCounts counts;
    {
      nb::gil_scoped_release release;
      counts = graph_->count_labels(view(labels), size);
    }
    return std::tuple(give(std::move(counts.boxes)), give(std::move(counts.most)),
                      give(std::move(counts.distinct)), give(std::move(counts.logs)));
  }

  auto boxes_around(const Array<std::int32_t>& records) const {
    return lists<std::vector<std::int32_t>>(
        records, [&](std::int32_t record, auto& waiting) { return graph_->boxes_around(record, waiting); });
  }

  auto maximum_matching(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                        const Array<std::int64_t>& copies) {
    MaximumMatching found;
    {
      nb::gil_scoped_release release;
      found = shoal::maximum_matching(*graph_, matched(records, boxes, copies));
    }
    return std::tuple(give(std::move(found.matched.records)), give(std::move(found.matched.boxes)),
                      give(std::move(found.matched.copies)), found.phases, found.searches, found.visited);
  }

  auto components(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                  const Array<std::int64_t>& copies) {
    Components found;
    {
      nb::gil_scoped_release release;
      found = shoal::components(*graph_, matched(records, boxes, copies));
    }
    return std::pair(give(std::move(found.of_record)), give(std::move(found.of_box)));
  }

  auto stretches() const {
    Stretches found;
    {
      nb::gil_scoped_release release;
      found = graph_->stretches();
    }
    return std::tuple(give(std::vector(graph_->records().order())), give(std::move(found.starts)),
                      give(std::move(found.begins)), give(std::move(found.ends)));
  }

 private:
  static Matched matched(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                         const Array<std::int64_t>& copies) {
    const auto r = view(records), b = view(boxes);
    const auto c = view(copies);
    return {{r.begin(), r.end()}, {b.begin(), b.end()}, {c.begin(), c.end()}};
  }

  Matrix records_, boxes_;
  std::vector<ValuesSpec> specs_;
  std::vector<Values> values_;
  std::optional<ConsistencyGraph> graph_;
};

// copies of records, copies of boxes, starts, begins, ends: see exact_links.hpp
using NeighbourhoodsSpec = std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<std::int64_t>,
                                      Array<std::int32_t>, Array<std::int32_t>>;
using PartsSpec = std::pair<Array<std::int64_t>, Array<std::int32_t>>;

Neighbourhoods neighbourhoods(const NeighbourhoodsSpec& spec) {
  const auto& [record_copies, box_copies, starts, begins, ends] = spec;
  return {view(record_copies), view(box_copies), view(starts), view(begins), view(ends)};
}

auto exact_links_py(const NeighbourhoodsSpec& graph, const PartsSpec& components) {
  Links links;
  {
    nb::gil_scoped_release release;
    links = exact_links(neighbourhoods(graph), {view(components.first), view(components.second)});
  }
  return std::tuple(give(std::move(links.records)), give(std::move(links.boxes)),
                    give(std::move(links.expected)));
}

class MatchingChainsPy {
 public:
  MatchingChainsPy(const NeighbourhoodsSpec& graph, const PartsSpec& components, std::size_t chains,
                   const Array<std::uint64_t>& key)
      : chains_(neighbourhoods(graph), {view(components.first), view(components.second)}, chains, view(key)) {
  }

  auto run(const Array<std::int32_t>& components, std::int32_t walks, double seconds) {
    SeenLinks seen;
    {
      nb::gil_scoped_release release;
      seen = chains_.run(view(components), walks, seconds);
    }
    return std::tuple(give(std::move(seen.records)), give(std::move(seen.boxes)),
                      give(std::move(seen.shares)), give(std::move(seen.complete)), seen.steps);
  }

 private:
  MatchingChains chains_;
};

// In the order of kernels.Matching.
auto give_matching(Matching matching) {
  return std::tuple(give(std::move(matching.box_of)), give(std::move(matching.exchanged)), matching.dead_ends,
                    matching.queries, matching.visited);
}

// A box tree together with all that it refers to.
class BoxTreePy {
 public:
  BoxTreePy(Matrix codes, std::vector<AttributeSpec> specs, std::int32_t room)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    const auto rows = static_cast<std::int32_t>(rows_of(codes_));
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    tree_.emplace(view(codes_), rows, attributes_, room);
  }

  auto order() const { return give(std::vector(tree_->order())); }

  auto members() const { return give(tree_->all_members()); }

  void add(const Array<std::int32_t>& boxes, const Array<std::int32_t>& records) {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < boxes.shape(0); ++i) tree_->add_member(boxes.data()[i], records.data()[i]);
    tree_->refresh();
  }

  void set_members(const Matrix& members) {
    nb::gil_scoped_release release;
    tree_->set_members(view(members));
  }

  void set_limits(const Array<double>& limits) {
    nb::gil_scoped_release release;
    tree_->set_box_limits(view(limits));
  }

  auto nearest_boxes(const Array<std::int32_t>& records) const {
    std::vector<std::int32_t> boxes(records.shape(0));
    std::vector<double> costs(records.shape(0));
    {
      nb::gil_scoped_release release;
      share(records.shape(0), 64, [&] {
        return [&, search = BoxTree::Search{}](std::size_t i) mutable {
          const Nearest found = tree_->nearest_box(records.data()[i], search);
          boxes[i] = found.box;
          costs[i] = found.cost;
        };
      });
    }
    return std::pair(give(std::move(boxes)), give(std::move(costs)));
  }

  auto nearest_records(const Array<std::int32_t>& boxes, std::size_t count) const {
    std::vector<std::int32_t> records(boxes.shape(0) * count, -1);
    std::vector<double> costs(boxes.shape(0) * count, std::numeric_limits<double>::infinity());
    {
      nb::gil_scoped_release release;
      share(boxes.shape(0), 64, [&] {
        return [&, search = BoxTree::Search{}](std::size_t i) mutable {
          std::size_t place = i * count;
          for (const auto& [cost, record] : tree_->nearest_records(boxes.data()[i], count, search)) {
            records[place] = record;
            costs[place++] = cost;
          }
        };
      });
    }
    return std::pair(give(std::move(records)), give(std::move(costs)));
  }

  auto records_in(const Array<std::int32_t>& boxes) const {
    return lists<BoxTree::Search>(
        boxes, [&](std::int32_t box, auto& search) { return tree_->records_in(box, search); });
  }
  auto boxes_around(const Array<std::int32_t>& records) const {
    return lists<BoxTree::Search>(
        records, [&](std::int32_t record, auto& search) { return tree_->boxes_around(record, search); });
  }

  void delete_records(const Array<std::int32_t>& records) {
    for (const std::int32_t record : view(records)) tree_->delete_record(record);
  }
  void delete_boxes(const Array<std::int32_t>& boxes) {
    for (const std::int32_t box : view(boxes)) tree_->delete_box(box);
  }

  auto crowd_costs(const Array<std::int32_t>& records, const Array<std::int32_t>& copies, std::int64_t k,
                   std::size_t horizon, std::size_t steps) const {
    std::vector<double> costs;
    {
      nb::gil_scoped_release release;
      costs = shoal::crowd_costs(*tree_, attributes_, view(copies), view(records), k, {horizon, steps});
    }
    return give(std::move(costs));
  }

  auto match_cheapest_first(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                            const Array<std::int32_t>& settled_records,
                            const Array<std::int32_t>& settled_boxes) {
    Matching matching;
    {
      nb::gil_scoped_release release;
      const auto r = view(records), b = view(boxes);
      std::vector<std::pair<std::int32_t, std::int32_t>> settled;
      for (std::size_t i = 0; i < settled_records.shape(0); ++i)
        settled.emplace_back(settled_records.data()[i], settled_boxes.data()[i]);
      matching = shoal::match_cheapest_first(*tree_, {r.begin(), r.end()}, {b.begin(), b.end()}, settled);
    }
    return give_matching(std::move(matching));
  }

  auto match_cheapest_together(std::size_t candidates) {
    Matching matching;
    {
      nb::gil_scoped_release release;
      matching = shoal::match_cheapest_together(*tree_, candidates);
    }
    return give_matching(std::move(matching));
  }

  auto match_in_order(const Array<std::int32_t>& records, const Array<std::int32_t>& costless) {
    Matching matching;
    {
      nb::gil_scoped_release release;
      matching = shoal::match_in_order(*tree_, view(records), view(costless));
    }
    return give_matching(std::move(matching));
  }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<BoxTree> tree_;
};

// A diversification together with all that it refers to.
class DiversificationPy {
 public:
  DiversificationPy(Matrix codes, std::vector<AttributeSpec> specs, const Matrix& members,
                    const std::vector<SensitiveSpec>& sensitive, double frequency_l, std::int64_t distinct,
                    double entropy, const Array<std::int32_t>& record_of, std::int64_t widest)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    tree_.emplace(view(codes_), static_cast<std::int32_t>(codes_.shape(0)), attributes_,
                  static_cast<std::int32_t>(members.shape(1)));
    const auto& order = tree_->order();
    place_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      place_[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    tree_->set_members(placed(view(members)));
    std::vector<std::vector<std::int32_t>> columns;
    for (const auto& [labels, size] : sensitive) {
      columns.emplace_back();
      for (const std::int32_t record : order) columns.back().push_back(labels.data()[record]);
    }
    diversification_.emplace(*tree_, std::move(columns), Variety{frequency_l, distinct, entropy},
                             placed(view(record_of)), widest);
  }

  std::int64_t violated() const { return diversification_->violated(); }
  double shortfall() const { return diversification_->shortfall(); }
  std::int64_t swap() {
    nb::gil_scoped_release release;
    return diversification_->swap();
  }
  std::int64_t widen() {
    nb::gil_scoped_release release;
    return diversification_->widen();
  }
  void grow(const Array<std::int32_t>& rows, const Array<std::int32_t>& records) {
    nb::gil_scoped_release release;
    const auto places = placed(view(records));
    for (std::size_t i = 0; i < places.size(); ++i) diversification_->grow(rows.data()[i], places[i]);
  }
  auto record_of() const {
    std::vector<std::int32_t> records;
    for (const std::int32_t place : diversification_->record_of()) records.push_back(record(place));
    return give(std::move(records));
  }
  auto grown() const {
    std::vector<std::int32_t> rows, records;
    for (const auto& [row, place] : diversification_->grown()) {
      rows.push_back(row);
      records.push_back(record(place));
    }
    return std::pair(give(std::move(rows)), give(std::move(records)));
  }

 private:
  std::int32_t record(std::int32_t place) const { return tree_->order()[static_cast<std::size_t>(place)]; }
  std::vector<std::int32_t> placed(std::span<const std::int32_t> records) const {
    std::vector<std::int32_t> places;
    for (const std::int32_t record : records) places.push_back(place_[static_cast<std::size_t>(record)]);
    return places;
  }

  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::vector<std::int32_t> place_;
  std::optional<BoxTree> tree_;
  std::optional<Diversification> diversification_;
};

// A refinement together with all that it refers to.
class RefinementPy {
 public:
  RefinementPy(Matrix codes, std::vector<AttributeSpec> specs, const Matrix& graph,
               const Array<std::uint64_t>& key)
      : codes_(std::move(codes)), specs_(std::move(specs)), random_(view(key)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto members = view(graph);
    refinement_.emplace(view(codes_), attributes_, std::vector(members.begin(), members.end()),
                        static_cast<std::int32_t>(graph.shape(1)));
  }

  std::int64_t exchange(double foresight) {
    nb::gil_scoped_release release;
    return refinement_->exchange(foresight, random_);
  }
  std::int64_t reassign(std::int32_t times, double temperature) {
    nb::gil_scoped_release release;
    return refinement_->reassign(times, temperature, random_);
  }
  double cost() const { return refinement_->cost(); }
  auto members() const { return give(std::vector(refinement_->members())); }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  RandomWords random_;
  std::vector<Attribute> attributes_;
  std::optional<Refinement> refinement_;
};

auto cheapest_assignment_py(const Array<std::int64_t>& starts, const Array<std::int32_t>& columns,
                            const Array<double>& costs, std::int32_t count) {
  std::vector<std::int32_t> column_of;
  {
    nb::gil_scoped_release release;
    std::vector<Edge> edges(columns.shape(0));
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = {columns.data()[i], costs.data()[i]};
    column_of = SparseAssignment().solve(view(starts), edges, count);
  }
  return give(std::move(column_of));
}

auto chain_py(const Matrix& codes, const Array<std::int32_t>& copies, const Array<double>& elsewhere,
              const std::vector<AttributeSpec>& specs, std::int32_t k) {
  const auto attributes = attributes_of(specs);
  rows_of(codes);
  std::vector<std::int32_t> order;
  {
    nb::gil_scoped_release release;
    order = chain(view(codes), view(copies), view(elsewhere), attributes, k);
  }
  return give(std::move(order));
}

auto cut_py(const Matrix& codes, const std::vector<AttributeSpec>& specs, std::int32_t k) {
  const auto attributes = attributes_of(specs);
  const auto rows = static_cast<std::int32_t>(rows_of(codes));
  std::vector<std::int32_t> starts;
  {
    nb::gil_scoped_release release;
    starts = cut(view(codes), rows, attributes, k);
  }
  return give(std::move(starts));
}

// Classes together with all that they refer to.
class ClassesPy {
 public:
  ClassesPy(Matrix codes, std::vector<AttributeSpec> specs, const Array<std::int32_t>& class_of,
            std::int32_t k)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto numbers = view(class_of);
    classes_.emplace(view(codes_), attributes_, std::vector(numbers.begin(), numbers.end()), k);
  }

  std::int64_t sweep() {
    nb::gil_scoped_release release;
    return classes_->sweep();
  }
  double cost() const { return classes_->cost(); }
  auto class_of() const { return give(std::vector(classes_->class_of())); }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<Classes> classes_;
};

std::vector<std::span<const double>> views(const std::vector<Array<double>>& arrays) {
  std::vector<std::span<const double>> views;
  for (const auto& array : arrays) views.push_back(view(array));
  return views;
}

// An agglomeration together with all that it refers to.
class AgglomerationPy {
 public:
  AgglomerationPy(Matrix codes, Array<std::int32_t> copies, std::vector<AttributeSpec> specs,
                  const std::vector<Array<double>>& counts, std::int32_t k)
      : codes_(std::move(codes)), copies_(std::move(copies)), specs_(std::move(specs)) {
    rows_of(codes_);
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    costs_.emplace(attributes_, views(counts));
    agglomeration_.emplace(view(codes_), view(copies_), *costs_, k);
  }

  std::int64_t advance(std::int64_t pairs) {
    nb::gil_scoped_release release;
    return agglomeration_->advance(pairs);
  }
  auto classes() const { return give(agglomeration_->classes()); }

 private:
  Matrix codes_;
  Array<std::int32_t> copies_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<ClosureCosts> costs_;
  std::optional<Agglomeration> agglomeration_;
};

auto forest_py(const Matrix& codes, const Array<std::int32_t>& copies,
               const std::vector<AttributeSpec>& specs, const std::vector<Array<double>>& counts,
               std::int32_t k) {
  rows_of(codes);
  std::vector<std::int32_t> classes;
  {
    nb::gil_scoped_release release;
    const auto attributes = attributes_of(specs);
    classes = forest(view(codes), view(copies), ClosureCosts(attributes, views(counts)), k);
  }
  return give(std::move(classes));
}

auto unify_py(const Matrix& codes, const Array<std::int32_t>& class_of,
              const std::vector<AttributeSpec>& specs, const std::vector<Array<double>>& counts,
              const std::vector<SensitiveSpec>& sensitive, double diversity, double weight) {
  rows_of(codes);
  std::vector<std::int32_t> classes;
  {
    nb::gil_scoped_release release;
    const auto attributes = attributes_of(specs);
    std::vector<Sensitive> columns;
    for (const auto& [values, size] : sensitive) columns.push_back({view(values), size});
    classes = unify(view(codes), view(class_of), ClosureCosts(attributes, views(counts)), columns, diversity,
                    weight);
  }
  return give(std::move(classes));
}

using RankedSpec = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>>;
// kind, weight, diameter, numbers, steps: see closeness.hpp
using ComponentSpec = std::tuple<int, double, double, Array<double>, Array<double>>;

// A closeness together with all that it refers to.
class ClosenessPy {
 public:
  explicit ClosenessPy(std::vector<RankedSpec> ranked) : ranked_(std::move(ranked)) {
    std::vector<Closeness::Ranked> views;
    for (const auto& [rank, low, high] : ranked_) views.push_back({view(rank), view(low), view(high)});
    closeness_.emplace(std::move(views));
  }
  ClosenessPy(std::vector<ComponentSpec> components, double power, double limit)
      : components_(std::move(components)) {
    std::vector<Closeness::Component> views;
    for (const auto& [kind, weight, diameter, numbers, steps] : components_)
      views.push_back({static_cast<Kind>(kind), weight, diameter, view(numbers), view(steps)});
    closeness_.emplace(views, power, limit);
  }
  ClosenessPy(Array<std::uint8_t> bits, std::size_t size) : bits_(std::move(bits)) {
    closeness_.emplace(view(bits_), size);
  }

  const Closeness& get() const { return *closeness_; }

  auto degrees(const Array<std::int64_t>& counts) const {
    std::vector<std::int64_t> degrees;
    {
      nb::gil_scoped_release release;
      degrees = closeness_->degrees(view(counts));
    }
    return give(std::move(degrees));
  }
  auto near(const Array<std::int32_t>& values, const Array<std::int64_t>& counts) const {
    std::vector<std::int64_t> sums;
    {
      nb::gil_scoped_release release;
      sums = closeness_->near(view(values), view(counts));
    }
    return give(std::move(sums));
  }

 private:
  std::vector<RankedSpec> ranked_;
  std::vector<ComponentSpec> components_;
  Array<std::uint8_t> bits_;
  std::optional<Closeness> closeness_;
};

// A coloring together with all that it refers to but the closeness, which Python keeps.
class ColoringPy {
 public:
  ColoringPy(Matrix codes, std::vector<AttributeSpec> specs, const Array<std::int32_t>& class_of,
             const ClosenessPy& closeness, Array<std::int32_t> values, Array<std::int32_t> allowed)
      : codes_(std::move(codes)), specs_(std::move(specs)), values_(std::move(values)),
        allowed_(std::move(allowed)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto numbers = view(class_of);
    classes_.emplace(view(codes_), attributes_, std::vector(numbers.begin(), numbers.end()), 1);
    coloring_.emplace(*classes_, closeness.get(), view(values_), view(allowed_));
  }

  std::int64_t mend(int goal, std::size_t few, bool cycles, std::int64_t most) {
    nb::gil_scoped_release release;
    return coloring_->mend(static_cast<Coloring::Goal>(goal), few, cycles, most);
  }
  std::int64_t sweep(std::size_t few, bool cycles) {
    nb::gil_scoped_release release;
    return coloring_->sweep(few, cycles);
  }
  std::int64_t part(const Array<std::int32_t>& classes, std::size_t few) {
    nb::gil_scoped_release release;
    return coloring_->part(view(classes), few);
  }
  std::int64_t potential() const { return coloring_->potential(); }
  std::int64_t excess() const { return coloring_->excess(); }
  auto neighbours() const { return give(std::vector(coloring_->neighbours())); }
  double cost() const { return classes_->cost(); }
  auto class_of() const { return give(std::vector(classes_->class_of())); }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  Array<std::int32_t> values_, allowed_;
  std::vector<Attribute> attributes_;
  std::optional<Classes> classes_;
  std::optional<Coloring> coloring_;
};

// A ring together with all that it refers to.
class RingPy {
 public:
  RingPy(Matrix codes, Array<std::int32_t> copies, std::vector<AttributeSpec> specs, std::int32_t k)
      : codes_(std::move(codes)), copies_(std::move(copies)), specs_(std::move(specs)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    ring_.emplace(view(codes_), view(copies_), attributes_, k);
  }

  std::int64_t sweep() {
    nb::gil_scoped_release release;
    return ring_->sweep();
  }
  double cost() const { return ring_->cost(); }
  auto order() const { return give(ring_->order()); }

 private:
  Matrix codes_;
  Array<std::int32_t> copies_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<Ring> ring_;
};

// Rows of their own together with all that they refer to.
class OwnRowsPy {
 public:
  OwnRowsPy(Matrix codes, std::vector<AttributeSpec> specs, const std::vector<Array<double>>& entropies,
            const Array<std::int32_t>& withheld, std::int32_t room)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    const auto count = static_cast<std::int32_t>(rows_of(codes_));
    std::vector<std::vector<double>> tables;
    for (const auto& table : entropies) tables.emplace_back(view(table).begin(), view(table).end());
    attributes_ = attributes_of(specs_);
    nb::gil_scoped_release release;
    rows_.emplace(view(codes_), count, attributes_, std::move(tables), room);
    std::vector<std::int32_t> place(static_cast<std::size_t>(count));
    for (std::int32_t i = 0; i < count; ++i)
      place[static_cast<std::size_t>(rows_->tree().order()[static_cast<std::size_t>(i)])] = i;
    for (const std::int32_t record : view(withheld)) rows_->withhold(place[static_cast<std::size_t>(record)]);
  }

  auto order() const { return give(std::vector(rows_->tree().order())); }

  auto members() const {
    std::vector<std::int64_t> starts(1, 0);
    std::vector<std::int32_t> all;
    for (std::int32_t row = 0; row < rows_->count(); ++row) {
      const auto& each = rows_->members(row);
      all.insert(all.end(), each.begin(), each.end());
      starts.push_back(static_cast<std::int64_t>(all.size()));
    }
    return std::pair(give(std::move(starts)), give(std::move(all)));
  }

  void expand(std::int64_t k) {
    nb::gil_scoped_release release;
    rows_->expand(k);
  }
  void expand_at_random(std::int64_t k, const Array<std::uint64_t>& keys) {
    nb::gil_scoped_release release;
    rows_->expand_at_random(k, view(keys));
  }
  std::int64_t cover(const Array<std::int32_t>& order, std::int64_t k) {
    nb::gil_scoped_release release;
    return rows_->cover(view(order), k);
  }
  void expand_from_several(std::int64_t k, std::size_t starts, const Array<std::uint64_t>& keys) {
    nb::gil_scoped_release release;
    rows_->expand_from_several(k, starts, view(keys));
  }
  void begin_tightening(std::int64_t k, bool keep_cores) {
    nb::gil_scoped_release release;
    tightening_.emplace(*rows_, k, keep_cores);
  }
  void cover_dearest_first(std::int64_t widest) {
    nb::gil_scoped_release release;
    tightening_->cover(widest);
  }
  double relieve(const Array<std::int32_t>& order, std::int32_t together, std::int64_t widest) {
    nb::gil_scoped_release release;
    return tightening_->relieve(view(order), together, widest);
  }
  void hold_together(const Array<std::int32_t>& components) {
    nb::gil_scoped_release release;
    tightening_->hold_together(view(components));
  }
  auto components() {
    std::vector<std::int32_t> of_row;
    for (std::int32_t row = 0; row < rows_->count(); ++row) of_row.push_back(concealing_->component(row));
    return give(std::move(of_row));
  }
  void join(const Array<std::int32_t>& components) {
    nb::gil_scoped_release release;
    concealing_.emplace(*rows_, view(components));
  }
  std::int64_t conceal_records(const Array<std::int32_t>& order, std::int64_t k) {
    nb::gil_scoped_release release;
    return concealing_->conceal_records(view(order), k);
  }
  std::int64_t conceal_cheapest_first(const Array<std::int32_t>& records, std::int64_t k) {
    nb::gil_scoped_release release;
    return concealing_->conceal_cheapest_first(view(records), k);
  }
  std::int64_t conceal_rows(const Array<std::int32_t>& order, std::int64_t k) {
    nb::gil_scoped_release release;
    return concealing_->conceal_rows(view(order), k);
  }
  std::int64_t vary(const Array<std::int32_t>& order, const std::vector<Array<std::int32_t>>& columns,
                    double frequency_l, std::int64_t distinct, double entropy) {
    std::vector<std::vector<std::int32_t>> labels;
    for (const auto& column : columns) labels.emplace_back(view(column).begin(), view(column).end());
    nb::gil_scoped_release release;
    return concealing_->vary(view(order), labels, {frequency_l, distinct, entropy});
  }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<OwnRows> rows_;
  std::optional<Tightening> tightening_;
  std::optional<Concealing> concealing_;
};

// starts, values: see worlds.hpp
using ListsSpec = std::pair<Array<std::int64_t>, Array<std::int32_t>>;

ListsView lists_of(const ListsSpec& lists) {
  return {view(lists.first), view(lists.second)};
}

auto give_lists(Lists lists) {
  return std::pair(give(std::move(lists.starts)), give(std::move(lists.values)));
}

auto smallest_worlds_py(const ListsSpec& sets, const ListsSpec& groups, std::int32_t width) {
  Worlds worlds;
  {
    nb::gil_scoped_release release;
    worlds = smallest_worlds(lists_of(sets), lists_of(groups), width);
  }
  return std::tuple(give_lists(std::move(worlds.base)), give_lists(std::move(worlds.uncertain)),
                    give(std::move(worlds.most_errors)));
}

auto differences_py(const ListsSpec& left, const ListsSpec& right, const Array<std::int32_t>& lefts,
                    const Array<std::int32_t>& rights) {
  std::vector<std::int32_t> found;
  {
    nb::gil_scoped_release release;
    found = differences(lists_of(left), lists_of(right), view(lefts), view(rights));
  }
  return give(std::move(found));
}

auto sets_among_worlds_py(const ListsSpec& sets, const ListsSpec& base, const ListsSpec& uncertain,
                          const Array<std::int32_t>& most_errors, std::int32_t width) {
  Lists found;
  {
    nb::gil_scoped_release release;
    found =
        sets_among_worlds(lists_of(sets), {lists_of(base), lists_of(uncertain), view(most_errors)}, width);
  }
  return give_lists(std::move(found));
}

auto walk_py(const Matrix& members, std::int32_t which, const Array<std::uint64_t>& key, bool backtracking,
             double seconds) {
  Walked walked;
  {
    nb::gil_scoped_release release;
    RandomWords random(view(key));
    const auto degree = static_cast<std::int32_t>(members.shape(1));
    walked = backtracking ? backtracking_assignment(view(members), degree, which, random, seconds)
                          : random_assignment(view(members), degree, which, random);
  }
  return std::tuple(give(std::move(walked.assignment)), walked.steps, walked.assigned);
}

auto cover_py(const Matrix& codes, const Array<std::uint64_t>& kept, std::int64_t k, bool shared) {
  const std::int64_t rows = rows_of(codes);
  Cover found;
  {
    nb::gil_scoped_release release;
    found = cover(view(codes), static_cast<std::size_t>(rows), view(kept), k, shared);
  }
  return std::pair(give(std::move(found.pattern_of)), found.counted);
}

class PatternSearchPy {
 public:
  PatternSearchPy(const Matrix& codes, const Array<std::uint64_t>& kept, const Array<double>& costs,
                  double beyond, std::int64_t k, const Array<std::int32_t>& pattern_of) {
    const auto rows = static_cast<std::size_t>(rows_of(codes));
    nb::gil_scoped_release release;
    search_.emplace(view(codes), rows, view(kept), view(costs), beyond, k, view(pattern_of));
  }

  std::int64_t sweep(std::size_t begin, std::size_t end) {
    nb::gil_scoped_release release;
    return search_->sweep(begin, end);
  }
  double cost() const { return search_->cost(); }
  auto pattern_of() const { return give(search_->pattern_of()); }

 private:
  std::optional<PatternSearch> search_;
};

}  // namespace
}  // namespace shoal

NB_MODULE(_native, module) {
  module.def("group_rows", &shoal::group_rows_py, "codes"_a);
  module.def("mondrian", &shoal::mondrian_py, "codes"_a, "attributes"_a, "sensitive"_a, "k"_a,
             "frequency_l"_a, "distinct"_a, "entropy"_a, "relaxed"_a);
  module.def("exact_links", &shoal::exact_links_py, "graph"_a, "components"_a);
  nb::class_<shoal::MatchingChainsPy>(module, "MatchingChains")
      .def(nb::init<const shoal::NeighbourhoodsSpec&, const shoal::PartsSpec&, std::size_t,
                    const shoal::Array<std::uint64_t>&>(),
           "graph"_a, "components"_a, "chains"_a, "key"_a)
      .def("run", &shoal::MatchingChainsPy::run, "components"_a, "walks"_a, "seconds"_a);
  module.def("cheapest_assignment", &shoal::cheapest_assignment_py, "starts"_a, "columns"_a, "costs"_a,
             "count"_a);
  module.def("smallest_worlds", &shoal::smallest_worlds_py, "sets"_a, "groups"_a, "width"_a);
  module.def("differences", &shoal::differences_py, "left"_a, "right"_a, "lefts"_a, "rights"_a);
  module.def("sets_among_worlds", &shoal::sets_among_worlds_py, "sets"_a, "base"_a, "uncertain"_a,
             "most_errors"_a, "width"_a);
  module.def("walk", &shoal::walk_py, "members"_a, "which"_a, "key"_a, "backtracking"_a, "seconds"_a);
  module.def("chain", &shoal::chain_py, "codes"_a, "copies"_a, "elsewhere"_a, "attributes"_a, "k"_a);
  module.def("cover", &shoal::cover_py, "codes"_a, "kept"_a, "k"_a, "shared"_a);
  nb::class_<shoal::PatternSearchPy>(module, "PatternSearch")
      .def(nb::init<const shoal::Matrix&, const shoal::Array<std::uint64_t>&, const shoal::Array<double>&,
                    double, std::int64_t, const shoal::Array<std::int32_t>&>(),
           "codes"_a, "kept"_a, "costs"_a, "beyond"_a, "k"_a, "pattern_of"_a)
      .def("sweep", &shoal::PatternSearchPy::sweep, "begin"_a, "end"_a)
      .def("cost", &shoal::PatternSearchPy::cost)
      .def("pattern_of", &shoal::PatternSearchPy::pattern_of);
  module.def("cut", &shoal::cut_py, "codes"_a, "attributes"_a, "k"_a);
  nb::class_<shoal::ConsistencyGraphPy>(module, "ConsistencyGraph")
      .def(nb::init<shoal::Matrix, const shoal::Array<std::int64_t>&, shoal::Matrix,
                    const shoal::Array<std::int64_t>&, std::vector<shoal::ValuesSpec>>(),
           "records"_a, "record_copies"_a, "boxes"_a, "box_copies"_a, "attributes"_a)
      .def("count", &shoal::ConsistencyGraphPy::count)
      .def("count_labels", &shoal::ConsistencyGraphPy::count_labels, "labels"_a, "size"_a)
      .def("boxes_around", &shoal::ConsistencyGraphPy::boxes_around, "records"_a)
      .def("maximum_matching", &shoal::ConsistencyGraphPy::maximum_matching, "records"_a, "boxes"_a,
           "copies"_a)
      .def("components", &shoal::ConsistencyGraphPy::components, "records"_a, "boxes"_a, "copies"_a)
      .def("stretches", &shoal::ConsistencyGraphPy::stretches);
  nb::class_<shoal::BoxTreePy>(module, "BoxTree")
      .def(nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, std::int32_t>(), "codes"_a,
           "attributes"_a, "room"_a)
      .def("order", &shoal::BoxTreePy::order)
      .def("members", &shoal::BoxTreePy::members)
      .def("add", &shoal::BoxTreePy::add, "boxes"_a, "records"_a)
      .def("set_members", &shoal::BoxTreePy::set_members, "members"_a)
      .def("set_limits", &shoal::BoxTreePy::set_limits, "limits"_a)
      .def("nearest_boxes", &shoal::BoxTreePy::nearest_boxes, "records"_a)
      .def("nearest_records", &shoal::BoxTreePy::nearest_records, "boxes"_a, "count"_a)
      .def("records_in", &shoal::BoxTreePy::records_in, "boxes"_a)
      .def("boxes_around", &shoal::BoxTreePy::boxes_around, "records"_a)
      .def("delete_records", &shoal::BoxTreePy::delete_records, "records"_a)
      .def("delete_boxes", &shoal::BoxTreePy::delete_boxes, "boxes"_a)
      .def("crowd_costs", &shoal::BoxTreePy::crowd_costs, "records"_a, "copies"_a, "k"_a, "horizon"_a,
           "steps"_a)
      .def("match_cheapest_first", &shoal::BoxTreePy::match_cheapest_first, "records"_a, "boxes"_a,
           "settled_records"_a, "settled_boxes"_a)
      .def("match_cheapest_together", &shoal::BoxTreePy::match_cheapest_together, "candidates"_a)
      .def("match_in_order", &shoal::BoxTreePy::match_in_order, "records"_a, "costless"_a);
  nb::class_<shoal::DiversificationPy>(module, "Diversification")
      .def(nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, const shoal::Matrix&,
                    const std::vector<shoal::SensitiveSpec>&, double, std::int64_t, double,
                    const shoal::Array<std::int32_t>&, std::int64_t>(),
           "codes"_a, "attributes"_a, "members"_a, "sensitive"_a, "frequency_l"_a, "distinct"_a, "entropy"_a,
           "record_of"_a, "widest"_a)
      .def("violated", &shoal::DiversificationPy::violated)
      .def("shortfall", &shoal::DiversificationPy::shortfall)
      .def("swap", &shoal::DiversificationPy::swap)
      .def("widen", &shoal::DiversificationPy::widen)
      .def("grow", &shoal::DiversificationPy::grow, "rows"_a, "records"_a)
      .def("record_of", &shoal::DiversificationPy::record_of)
      .def("grown", &shoal::DiversificationPy::grown);
  nb::class_<shoal::OwnRowsPy>(module, "OwnRows")
      .def(
          nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, const std::vector<shoal::Array<double>>&,
                   const shoal::Array<std::int32_t>&, std::int32_t>(),
          "codes"_a, "attributes"_a, "entropies"_a, "withheld"_a, "room"_a)
      .def("order", &shoal::OwnRowsPy::order)
      .def("members", &shoal::OwnRowsPy::members)
      .def("expand", &shoal::OwnRowsPy::expand, "k"_a)
      .def("expand_at_random", &shoal::OwnRowsPy::expand_at_random, "k"_a, "keys"_a)
      .def("cover", &shoal::OwnRowsPy::cover, "order"_a, "k"_a)
      .def("expand_from_several", &shoal::OwnRowsPy::expand_from_several, "k"_a, "starts"_a, "keys"_a)
      .def("begin_tightening", &shoal::OwnRowsPy::begin_tightening, "k"_a, "keep_cores"_a)
      .def("cover_dearest_first", &shoal::OwnRowsPy::cover_dearest_first, "widest"_a)
      .def("relieve", &shoal::OwnRowsPy::relieve, "order"_a, "together"_a, "widest"_a)
      .def("hold_together", &shoal::OwnRowsPy::hold_together, "components"_a)
      .def("components", &shoal::OwnRowsPy::components)
      .def("join", &shoal::OwnRowsPy::join, "components"_a)
      .def("conceal_records", &shoal::OwnRowsPy::conceal_records, "order"_a, "k"_a)
      .def("conceal_cheapest_first", &shoal::OwnRowsPy::conceal_cheapest_first, "records"_a, "k"_a)
      .def("conceal_rows", &shoal::OwnRowsPy::conceal_rows, "order"_a, "k"_a)
      .def("vary", &shoal::OwnRowsPy::vary, "order"_a, "columns"_a, "frequency_l"_a, "distinct"_a,
           "entropy"_a);
  nb::class_<shoal::RefinementPy>(module, "Refinement")
      .def(nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, const shoal::Matrix&,
                    const shoal::Array<std::uint64_t>&>(),
           "codes"_a, "attributes"_a, "graph"_a, "key"_a)
      .def("exchange", &shoal::RefinementPy::exchange, "foresight"_a)
      .def("reassign", &shoal::RefinementPy::reassign, "times"_a, "temperature"_a)
      .def("cost", &shoal::RefinementPy::cost)
      .def("members", &shoal::RefinementPy::members);
  nb::class_<shoal::AgglomerationPy>(module, "Agglomeration")
      .def(nb::init<shoal::Matrix, shoal::Array<std::int32_t>, std::vector<shoal::AttributeSpec>,
                    const std::vector<shoal::Array<double>>&, std::int32_t>(),
           "codes"_a, "copies"_a, "attributes"_a, "counts"_a, "k"_a)
      .def("advance", &shoal::AgglomerationPy::advance, "pairs"_a)
      .def("classes", &shoal::AgglomerationPy::classes);
  module.def("forest", &shoal::forest_py, "codes"_a, "copies"_a, "attributes"_a, "counts"_a, "k"_a);
  module.def("unify", &shoal::unify_py, "codes"_a, "class_of"_a, "attributes"_a, "counts"_a, "sensitive"_a,
             "diversity"_a, "weight"_a);
  nb::class_<shoal::ClassesPy>(module, "Classes")
      .def(nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, const shoal::Array<std::int32_t>&,
                    std::int32_t>(),
           "codes"_a, "attributes"_a, "class_of"_a, "k"_a)
      .def("sweep", &shoal::ClassesPy::sweep)
      .def("cost", &shoal::ClassesPy::cost)
      .def("class_of", &shoal::ClassesPy::class_of);
  nb::class_<shoal::ClosenessPy>(module, "Closeness")
      .def(nb::init<std::vector<shoal::RankedSpec>>(), "ranked"_a)
      .def(nb::init<std::vector<shoal::ComponentSpec>, double, double>(), "components"_a, "power"_a,
           "limit"_a)
      .def(nb::init<shoal::Array<std::uint8_t>, std::size_t>(), "bits"_a, "size"_a)
      .def("degrees", &shoal::ClosenessPy::degrees, "counts"_a)
      .def("near", &shoal::ClosenessPy::near, "values"_a, "counts"_a);
  nb::class_<shoal::ColoringPy>(module, "Coloring")
      .def(nb::init<shoal::Matrix, std::vector<shoal::AttributeSpec>, const shoal::Array<std::int32_t>&,
                    const shoal::ClosenessPy&, shoal::Array<std::int32_t>, shoal::Array<std::int32_t>>(),
           "codes"_a, "attributes"_a, "class_of"_a, "closeness"_a, "values"_a, "allowed"_a,
           nb::keep_alive<1, 5>())
      .def("mend", &shoal::ColoringPy::mend, "goal"_a, "few"_a, "cycles"_a, "most"_a)
      .def("sweep", &shoal::ColoringPy::sweep, "few"_a, "cycles"_a)
      .def("part", &shoal::ColoringPy::part, "classes"_a, "few"_a)
      .def("potential", &shoal::ColoringPy::potential)
      .def("excess", &shoal::ColoringPy::excess)
      .def("neighbours", &shoal::ColoringPy::neighbours)
      .def("cost", &shoal::ColoringPy::cost)
      .def("class_of", &shoal::ColoringPy::class_of);
  nb::class_<shoal::RingPy>(module, "Ring")
      .def(nb::init<shoal::Matrix, shoal::Array<std::int32_t>, std::vector<shoal::AttributeSpec>,
                    std::int32_t>(),
           "codes"_a, "copies"_a, "attributes"_a, "k"_a)
      .def("sweep", &shoal::RingPy::sweep)
      .def("cost", &shoal::RingPy::cost)
      .def("order", &shoal::RingPy::order);
  shoal::bind_sets(module);
}
