// What the compiled core offers for the attacker: which rows cover which records, in which matchings, and
// with which probability.

#include <optional>
#include <tuple>

#include "attacks/components.hpp"
#include "attacks/consistency.hpp"
#include "attacks/exact_links.hpp"
#include "attacks/least_chance.hpp"
#include "attacks/matching_chains.hpp"
#include "attacks/maximum_matching.hpp"
#include "attacks/person_counts.hpp"
#include "attacks/worlds.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/specs.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

// number of codes, low, high (intervals) or starts, members (sets); the others empty
using ValuesSpec = std::tuple<bool, std::int32_t, Array<std::int32_t>, Array<std::int32_t>,
                              Array<std::int64_t>, Array<std::int32_t>>;

// Where the persons of each record or box start, and these persons.
using PersonListsSpec = std::pair<Array<std::int64_t>, Array<std::int32_t>>;

// A consistency graph together with all that it refers to.
class ConsistencyGraphPy {
 public:
  ConsistencyGraphPy(Matrix records, const Array<std::int64_t>& record_copies, Matrix boxes,
                     const Array<std::int64_t>& box_copies, std::vector<ValuesSpec> specs)
      : records_(std::move(records)), boxes_(std::move(boxes)), specs_(std::move(specs)) {
    count_rows(records_);
    count_rows(boxes_);
    for (const auto& [sets, size, low, high, starts, members] : specs_)
      values_.push_back({sets, size, view(low), view(high), view(starts), view(members)});
    nb::gil_scoped_release release;
    graph_.emplace(view(records_), view(record_copies), view(boxes_), view(box_copies), values_);
  }

  // A negative number stands for no unknown attribute.
  auto count(std::int32_t unknown) const {
    auto counts = without_lock(
        [&] { return unknown < 0 ? graph_->count() : graph_->count(static_cast<std::size_t>(unknown)); });
    return std::pair(give(std::move(counts.boxes_of_record)), give(std::move(counts.records_of_box)));
  }

  // In the order of kernels.LabelCounts.
  auto count_labels(const Array<std::int32_t>& labels, std::int32_t size) const {
    auto counts = without_lock([&] { return graph_->count_labels(view(labels), size); });
    return std::tuple(give(std::move(counts.boxes)), give(std::move(counts.most)),
                      give(std::move(counts.distinct)), give(std::move(counts.logs)));
  }

  auto count_persons(const PersonListsSpec& owners, std::int32_t persons,
                     const Array<std::int32_t>& of_record, const Array<std::int32_t>& of_box,
                     const PersonListsSpec& carried) const {
    const auto lists = [](const PersonListsSpec& spec) {
      return PersonLists{view(spec.first), view(spec.second)};
    };
    auto found = without_lock([&] {
      return shoal::count_persons(*graph_, lists(owners), persons, view(of_record), view(of_box),
                                  lists(carried));
    });
    return std::tuple(give(std::move(found.covering.persons_of_box)),
                      give(std::move(found.covering.boxes_of_person)),
                      give(std::move(found.matching.persons_of_box)),
                      give(std::move(found.matching.boxes_of_person)), give(std::move(found.carrying)));
  }

  auto boxes_around(const Array<std::int32_t>& records) const {
    return lists<std::vector<std::int32_t>>(
        records, [&](std::int32_t record, auto& waiting) { return graph_->boxes_around(record, waiting); });
  }

  auto maximum_matching(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                        const Array<std::int64_t>& copies) {
    auto found =
        without_lock([&] { return shoal::maximum_matching(*graph_, matched(records, boxes, copies)); });
    return std::tuple(give(std::move(found.matched.records)), give(std::move(found.matched.boxes)),
                      give(std::move(found.matched.copies)), found.phases, found.searches, found.visited);
  }

  auto components(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                  const Array<std::int64_t>& copies) {
    auto found = without_lock([&] { return shoal::components(*graph_, matched(records, boxes, copies)); });
    return std::pair(give(std::move(found.of_record)), give(std::move(found.of_box)));
  }

  auto stretches() const {
    auto found = without_lock([&] { return graph_->stretches(); });
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
  auto links = without_lock(
      [&] { return exact_links(neighbourhoods(graph), {view(components.first), view(components.second)}); });
  return std::tuple(give(std::move(links.records)), give(std::move(links.boxes)),
                    give(std::move(links.expected)));
}

// The numerator and the denominator of each component's least chance.
auto least_chances_py(const NeighbourhoodsSpec& graph, const PartsSpec& components) {
  const auto found = without_lock([&] {
    return least_chances(neighbourhoods(graph), {view(components.first), view(components.second)});
  });
  std::vector<std::int64_t> numerators, denominators;
  for (const Fraction& each : found) {
    numerators.push_back(each.numerator);
    denominators.push_back(each.denominator);
  }
  return std::pair(give(std::move(numerators)), give(std::move(denominators)));
}

auto evenest_links_py(const NeighbourhoodsSpec& graph, const PartsSpec& components) {
  auto links = without_lock([&] {
    return evenest_links(neighbourhoods(graph), {view(components.first), view(components.second)});
  });
  return std::tuple(give(std::move(links.records)), give(std::move(links.boxes)),
                    give(std::move(links.expected)));
}

auto draw_assignment_py(const NeighbourhoodsSpec& graph, const PartsSpec& components,
                        const Array<std::uint64_t>& key) {
  auto drawn = without_lock([&] {
    RandomWords random(view(key));
    return draw_assignment(neighbourhoods(graph), {view(components.first), view(components.second)}, random);
  });
  return std::tuple(give(std::move(drawn.records)), give(std::move(drawn.boxes)),
                    give(std::move(drawn.copies)));
}

class MatchingChainsPy {
 public:
  MatchingChainsPy(const NeighbourhoodsSpec& graph, const PartsSpec& components, std::size_t chains,
                   const Array<std::uint64_t>& key)
      : chains_(neighbourhoods(graph), {view(components.first), view(components.second)}, chains, view(key)) {
  }

  auto run(const Array<std::int32_t>& components, std::int32_t walks, double seconds) {
    auto seen = without_lock([&] { return chains_.run(view(components), walks, seconds); });
    return std::tuple(give(std::move(seen.records)), give(std::move(seen.boxes)),
                      give(std::move(seen.shares)), give(std::move(seen.complete)), seen.steps);
  }

 private:
  MatchingChains chains_;
};

// starts, values: see worlds.hpp
using ListsSpec = std::pair<Array<std::int64_t>, Array<std::int32_t>>;

ListsView lists_of(const ListsSpec& lists) {
  return {view(lists.first), view(lists.second)};
}

auto give_lists(Lists lists) {
  return std::pair(give(std::move(lists.starts)), give(std::move(lists.values)));
}

auto differences_py(const ListsSpec& left, const ListsSpec& right, const Array<std::int32_t>& lefts,
                    const Array<std::int32_t>& rights) {
  return give(
      without_lock([&] { return differences(lists_of(left), lists_of(right), view(lefts), view(rights)); }));
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

}  // namespace

void bind_consistency(nb::module_& module) {
  module.def("exact_links", &exact_links_py, "graph"_a, "components"_a);
  module.def("least_chances", &least_chances_py, "graph"_a, "components"_a);
  module.def("evenest_links", &evenest_links_py, "graph"_a, "components"_a);
  module.def("draw_assignment", &draw_assignment_py, "graph"_a, "components"_a, "key"_a);
  nb::class_<MatchingChainsPy>(module, "MatchingChains")
      .def(nb::init<const NeighbourhoodsSpec&, const PartsSpec&, std::size_t, const Array<std::uint64_t>&>(),
           "graph"_a, "components"_a, "chains"_a, "key"_a)
      .def("run", &MatchingChainsPy::run, "components"_a, "walks"_a, "seconds"_a);
  module.def("differences", &differences_py, "left"_a, "right"_a, "lefts"_a, "rights"_a);
  module.def("sets_among_worlds", &sets_among_worlds_py, "sets"_a, "base"_a, "uncertain"_a, "most_errors"_a,
             "width"_a);
  nb::class_<ConsistencyGraphPy>(module, "ConsistencyGraph")
      .def(nb::init<Matrix, const Array<std::int64_t>&, Matrix, const Array<std::int64_t>&,
                    std::vector<ValuesSpec>>(),
           "records"_a, "record_copies"_a, "boxes"_a, "box_copies"_a, "attributes"_a)
      .def("count", &ConsistencyGraphPy::count, "unknown"_a)
      .def("count_labels", &ConsistencyGraphPy::count_labels, "labels"_a, "size"_a)
      .def("count_persons", &ConsistencyGraphPy::count_persons, "owners"_a, "persons"_a, "of_record"_a,
           "of_box"_a, "carried"_a)
      .def("boxes_around", &ConsistencyGraphPy::boxes_around, "records"_a)
      .def("maximum_matching", &ConsistencyGraphPy::maximum_matching, "records"_a, "boxes"_a, "copies"_a)
      .def("components", &ConsistencyGraphPy::components, "records"_a, "boxes"_a, "copies"_a)
      .def("stretches", &ConsistencyGraphPy::stretches);
}

}  // namespace shoal
