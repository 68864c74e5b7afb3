// What the compiled core offers for sets of items.

#include <algorithm>
#include <tuple>

#include "base/random_words.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/sets_spec.hpp"
#include "items/bit_voting.hpp"
#include "items/gray_order.hpp"
#include "items/item_sets.hpp"
#include "items/label_groups.hpp"
#include "items/label_mixing.hpp"
#include "items/near_sets.hpp"
#include "items/set_graph.hpp"
#include "items/short_paths.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

auto gray_order_py(const SetsSpec& sets) {
  return give(without_lock([&] { return gray_order(sets_of(sets)); }));
}

auto breakpoints_py(const Array<std::int32_t>& steps, std::int32_t shortest, std::int32_t longest) {
  nb::gil_scoped_release release;
  auto starts = breakpoints(view(steps), shortest, longest);
  nb::gil_scoped_acquire acquire;
  return give(std::move(starts));
}

auto shorten_py(const SetsSpec& sets, const Array<std::int32_t>& weights, const Array<std::int32_t>& order,
                const Array<std::int32_t>& starts, std::int32_t kicks) {
  std::vector<std::int32_t> shorter(order.data(), order.data() + order.shape(0));
  {
    nb::gil_scoped_release release;
    shorter = shorten(PackedSets(sets_of(sets), view(weights)), std::move(shorter), view(starts), kicks);
  }
  return give(std::move(shorter));
}

auto vote_py(const SetsSpec& sets, const Array<std::int64_t>& row_starts,
             const Array<std::int32_t>& records) {
  auto voted = without_lock([&] { return vote(sets_of(sets), view(row_starts), view(records)); });
  return std::tuple(give(std::move(voted.base_starts)), give(std::move(voted.base)),
                    give(std::move(voted.uncertain_starts)), give(std::move(voted.uncertain)),
                    give(std::move(voted.distances)));
}

auto near_sets_py(const SetsSpec& sets, const Array<std::int32_t>& weights, const Matrix& orders,
                  std::size_t count, std::int32_t rounds) {
  return give(without_lock(
      [&] { return near_sets(PackedSets(sets_of(sets), view(weights)), view(orders), count, rounds); }));
}

// A graph together with all that it refers to.
class SetGraphPy {
 public:
  SetGraphPy(SetsSpec sets, Array<std::int32_t> weights, const Matrix& graph, Matrix neighbours,
             Array<std::int32_t> labels, bool in_places, const Array<std::uint64_t>& key)
      : sets_(std::move(sets)), weights_(std::move(weights)), neighbours_(std::move(neighbours)),
        labels_(std::move(labels)), random_(view(key)),
        graph_(sets_of(sets_), view(weights_), {graph.data(), graph.data() + graph.size()}, graph.shape(1),
               view(neighbours_), view(labels_), in_places) {}

  std::int64_t reassign(std::int32_t times, double temperature) {
    nb::gil_scoped_release release;
    return graph_.reassign(times, temperature, random_);
  }
  std::int64_t cost() const {
    nb::gil_scoped_release release;
    return graph_.cost();
  }
  auto members() const { return give(graph_.members()); }

 private:
  SetsSpec sets_;
  Array<std::int32_t> weights_;
  Matrix neighbours_;
  Array<std::int32_t> labels_;
  RandomWords random_;
  SetGraph graph_;
};

auto mix_py(const Matrix& graph, const Array<std::int32_t>& assignment, const Array<std::int32_t>& labels,
            std::int64_t steps, const Array<std::uint64_t>& key) {
  std::vector<std::int32_t> mixed(assignment.data(), assignment.data() + assignment.shape(0));
  {
    nb::gil_scoped_release release;
    RandomWords random(view(key));
    mixed = mix(view(graph), graph.shape(1), std::move(mixed), view(labels), steps, random);
  }
  return give(std::move(mixed));
}

auto cut_where_diverse_py(const Array<std::int32_t>& labels, const Array<std::int64_t>& ends,
                          std::int64_t different) {
  return give(without_lock([&] { return cut_where_diverse(view(labels), view(ends), different); }));
}

auto varied_groups_py(const Matrix& labels, std::size_t different, std::size_t window) {
  return give(without_lock([&] { return varied_groups(view(labels), labels.shape(1), different, window); }));
}

}  // namespace

void bind_sets(nb::module_& module) {
  module.def("gray_order", &gray_order_py, "sets"_a);
  module.def("breakpoints", &breakpoints_py, "steps"_a, "shortest"_a, "longest"_a);
  module.def("shorten", &shorten_py, "sets"_a, "weights"_a, "order"_a, "starts"_a, "kicks"_a);
  module.def("vote", &vote_py, "sets"_a, "row_starts"_a, "records"_a);
  module.def("near_sets", &near_sets_py, "sets"_a, "weights"_a, "orders"_a, "count"_a, "rounds"_a);
  module.def("mix", &mix_py, "graph"_a, "assignment"_a, "labels"_a, "steps"_a, "key"_a);
  module.def("cut_where_diverse", &cut_where_diverse_py, "labels"_a, "ends"_a, "different"_a);
  module.def("varied_groups", &varied_groups_py, "labels"_a, "different"_a, "window"_a);
  nb::class_<SetGraphPy>(module, "SetGraph")
      .def(nb::init<SetsSpec, Array<std::int32_t>, const Matrix&, Matrix, Array<std::int32_t>, bool,
                    const Array<std::uint64_t>&>(),
           "sets"_a, "weights"_a, "graph"_a, "neighbours"_a, "labels"_a, "in_places"_a, "key"_a)
      .def("reassign", &SetGraphPy::reassign, "times"_a, "temperature"_a)
      .def("cost", &SetGraphPy::cost)
      .def("members", &SetGraphPy::members);
}

}  // namespace shoal
