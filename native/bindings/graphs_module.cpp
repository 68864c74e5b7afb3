// What the compiled core offers for regular graphs: the box tree that grows them, refinements, orders,
// assignments.

#include <optional>
#include <tuple>

#include "base/numbers.hpp"
#include "base/random_words.hpp"
#include "base/workers.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/specs.hpp"
#include "matching/assignment.hpp"
#include "matching/chain.hpp"
#include "matching/cheapest_matching.hpp"
#include "matching/diverse_draw.hpp"
#include "matching/diversification.hpp"
#include "matching/greedy_matching.hpp"
#include "matching/refinement.hpp"
#include "matching/ring.hpp"
#include "matching/row_matching.hpp"
#include "matching/sparse_assignment.hpp"
#include "matching/stable_matching.hpp"
#include "trees/box_tree.hpp"
#include "trees/crowd.hpp"
#include "trees/priced_crowd.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

// In the order of kernels.Matching.
auto give_matching(Matching matching) {
  return std::tuple(give(std::move(matching.box_of)), give(std::move(matching.exchanged)), matching.dead_ends,
                    matching.queries, matching.visited);
}

// A box tree together with all that it refers to.
class BoxTreePy {
 public:
  BoxTreePy(Matrix codes, std::vector<AttributeSpec> specs, std::int32_t room,
            const Array<std::int32_t>& owners)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    const auto rows = static_cast<std::int32_t>(count_rows(codes_));
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    tree_.emplace(view(codes_), rows, attributes_, room, view(owners));
  }

  BoxTree& tree() { return *tree_; }

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

  auto match_rows(const BoxTreePy& others) const {
    std::vector<std::int32_t> taken;
    {
      nb::gil_scoped_release release;
      taken = shoal::match_rows(*tree_, *others.tree_);
    }
    return give(std::move(taken));
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
    std::vector<double> costs(boxes.shape(0) * count, kUnlimited);
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
    return give(without_lock([&] {
      return shoal::crowd_costs(*tree_, attributes_, view(copies), view(records), k, {horizon, steps});
    }));
  }

  auto priced_crowds(const Array<std::int32_t>& records, const Array<std::int32_t>& copies,
                     const Array<double>& prices, std::int64_t k, std::size_t steps, double tolerance) const {
    PricedCrowds crowds = without_lock([&] {
      return shoal::priced_crowds(*tree_, attributes_, view(copies), view(prices), view(records), k,
                                  {steps, tolerance});
    });
    return std::pair(give(std::move(crowds.least)), give(std::move(crowds.found)));
  }

  auto match_cheapest_first(const Array<std::int32_t>& records, const Array<std::int32_t>& boxes,
                            const Array<std::int32_t>& settled_records,
                            const Array<std::int32_t>& settled_boxes) {
    auto matching = without_lock([&] {
      const auto r = view(records), b = view(boxes);
      std::vector<std::pair<std::int32_t, std::int32_t>> settled;
      for (std::size_t i = 0; i < settled_records.shape(0); ++i)
        settled.emplace_back(settled_records.data()[i], settled_boxes.data()[i]);
      return shoal::match_cheapest_first(*tree_, {r.begin(), r.end()}, {b.begin(), b.end()}, settled);
    });
    return give_matching(std::move(matching));
  }

  auto match_cheapest_together(std::size_t candidates) {
    auto matching = without_lock([&] { return shoal::match_cheapest_together(*tree_, candidates); });
    return give_matching(std::move(matching));
  }

  auto match_in_order(const Array<std::int32_t>& records, const Array<std::int32_t>& costless) {
    auto matching =
        without_lock([&] { return shoal::match_in_order(*tree_, view(records), view(costless)); });
    return give_matching(std::move(matching));
  }

 private:
  Matrix codes_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<BoxTree> tree_;
};

// A diversification of a tree, which must outlive it and belongs to it from then on.
class DiversificationPy {
 public:
  DiversificationPy(BoxTreePy& tree, const Matrix& members, const std::vector<SensitiveSpec>& sensitive,
                    double frequency_l, std::int64_t distinct, double entropy,
                    const Array<std::int32_t>& owners, double least, const Array<std::int32_t>& record_of,
                    std::int64_t widest)
      : order_(tree.tree().order()) {
    nb::gil_scoped_release release;
    place_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) place_[at(order_[i])] = static_cast<std::int32_t>(i);
    tree.tree().set_members(placed(view(members)));
    std::vector<std::vector<std::int32_t>> columns;
    for (const auto& [labels, size] : sensitive) {
      columns.emplace_back();
      for (const std::int32_t record : order_) columns.back().push_back(labels.data()[record]);
    }
    std::vector<std::int32_t> whose;
    if (owners.shape(0) > 0)
      for (const std::int32_t record : order_) whose.push_back(owners.data()[record]);
    diversification_.emplace(tree.tree(), std::move(columns), Variety{frequency_l, distinct, entropy},
                             std::move(whose), least, placed(view(record_of)), widest);
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
  void allow_wider() { diversification_->allow_wider(); }
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
  std::int32_t record(std::int32_t place) const { return order_[at(place)]; }
  std::vector<std::int32_t> placed(std::span<const std::int32_t> records) const {
    std::vector<std::int32_t> places;
    for (const std::int32_t record : records) places.push_back(place_[at(record)]);
    return places;
  }

  const std::vector<std::int32_t>& order_;
  std::vector<std::int32_t> place_;
  std::optional<Diversification> diversification_;
};

// A sensitive column: labels, frequency_l, distinct, entropy, and where the labels that count begin and what
// they are, for each crowd; empty if all count.
using DrawnSpec =
    std::tuple<Array<std::int32_t>, double, std::int64_t, double, Array<std::int64_t>, Array<std::int32_t>>;

// The type of each record, where the units of each type begin, these units, and shares.
using SharesSpec = std::tuple<Array<std::int32_t>, Array<std::int64_t>, Array<std::int32_t>, Array<double>>;

// A draw together with all that it refers to.
class DiverseDrawPy {
 public:
  DiverseDrawPy(const SharesSpec& shares, Array<std::int32_t> units, Array<std::int64_t> starts,
                Array<std::int32_t> crowds, Array<double> weights, Array<std::int32_t> around,
                std::vector<DrawnSpec> columns, const Array<std::int32_t>& record_of,
                const Array<std::uint64_t>& key)
      : shares_(shares), units_(std::move(units)), starts_(std::move(starts)), crowds_(std::move(crowds)),
        weights_(std::move(weights)), around_(std::move(around)), columns_(std::move(columns)),
        random_(view(key)) {
    nb::gil_scoped_release release;
    std::vector<DrawnColumn> drawn;
    for (const auto& [labels, frequency_l, distinct, entropy, own_starts, own] : columns_)
      drawn.push_back({view(labels), Variety{frequency_l, distinct, entropy}, view(own_starts), view(own)});
    const auto& [types, type_starts, type_units, type_shares] = shares_;
    draw_.emplace(Shares{view(types), view(type_starts), view(type_units), view(type_shares)}, view(units_),
                  Incidence{view(starts_), view(crowds_), view(weights_), view(around_)}, std::move(drawn),
                  view(record_of));
  }

  std::int64_t violated() const { return draw_->violated(); }
  auto violated_crowds() const { return give(std::vector(draw_->violated_crowds())); }
  double shortfall() const { return draw_->shortfall(); }
  std::int64_t search(std::int64_t steps) {
    nb::gil_scoped_release release;
    return draw_->search(steps, random_);
  }
  void mix(std::int64_t steps, double price) {
    nb::gil_scoped_release release;
    draw_->mix(steps, price, random_);
  }
  auto record_of() const { return give(std::vector(draw_->record_of())); }

 private:
  SharesSpec shares_;
  Array<std::int32_t> units_;
  Array<std::int64_t> starts_;
  Array<std::int32_t> crowds_;
  Array<double> weights_;
  Array<std::int32_t> around_;
  std::vector<DrawnSpec> columns_;
  RandomWords random_;
  std::optional<DiverseDraw> draw_;
};

// A refinement together with all that it refers to.
class RefinementPy {
 public:
  RefinementPy(Matrix codes, std::vector<AttributeSpec> specs, const Matrix& graph,
               const Array<std::uint64_t>& key, Array<std::int32_t> owners)
      : codes_(std::move(codes)), owners_(std::move(owners)), specs_(std::move(specs)), random_(view(key)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto members = view(graph);
    refinement_.emplace(view(codes_), attributes_, std::vector(members.begin(), members.end()),
                        static_cast<std::int32_t>(graph.shape(1)), view(owners_));
  }

  std::int64_t exchange(double foresight, std::int32_t looks) {
    nb::gil_scoped_release release;
    return refinement_->exchange(foresight, looks, random_);
  }
  std::int64_t reassign(std::int32_t times, double temperature, std::int32_t most) {
    nb::gil_scoped_release release;
    return refinement_->reassign(times, temperature, most, random_);
  }
  double cost() const { return refinement_->cost(); }
  auto members() const { return give(std::vector(refinement_->members())); }

 private:
  Matrix codes_;
  Array<std::int32_t> owners_;
  std::vector<AttributeSpec> specs_;
  RandomWords random_;
  std::vector<Attribute> attributes_;
  std::optional<Refinement> refinement_;
};

auto cheapest_assignment_py(const Array<std::int64_t>& starts, const Array<std::int32_t>& columns,
                            const Array<double>& costs, std::int32_t count, double slack) {
  return give(without_lock([&] {
    std::vector<Edge> edges(columns.shape(0));
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = {columns.data()[i], costs.data()[i]};
    return SparseAssignment().solve(view(starts), edges, count, slack);
  }));
}

auto chain_py(const Matrix& codes, const Array<std::int32_t>& copies, const Array<double>& elsewhere,
              const std::vector<AttributeSpec>& specs, std::int32_t k) {
  const auto attributes = attributes_of(specs);
  count_rows(codes);
  return give(without_lock([&] { return chain(view(codes), view(copies), view(elsewhere), attributes, k); }));
}

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

auto walk_py(const Matrix& members, std::int32_t which, const Array<std::uint64_t>& key) {
  return give(without_lock([&] {
    RandomWords random(view(key));
    return random_assignment(view(members), static_cast<std::int32_t>(members.shape(1)), which, random);
  }));
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("cheapest_assignment", &cheapest_assignment_py, "starts"_a, "columns"_a, "costs"_a, "count"_a,
             "slack"_a);
  module.def("walk", &walk_py, "members"_a, "which"_a, "key"_a);
  module.def("chain", &chain_py, "codes"_a, "copies"_a, "elsewhere"_a, "attributes"_a, "k"_a);
  nb::class_<BoxTreePy>(module, "BoxTree")
      .def(nb::init<Matrix, std::vector<AttributeSpec>, std::int32_t, const Array<std::int32_t>&>(),
           "codes"_a, "attributes"_a, "room"_a, "owners"_a)
      .def("order", &BoxTreePy::order)
      .def("members", &BoxTreePy::members)
      .def("add", &BoxTreePy::add, "boxes"_a, "records"_a)
      .def("set_members", &BoxTreePy::set_members, "members"_a)
      .def("set_limits", &BoxTreePy::set_limits, "limits"_a)
      .def("nearest_boxes", &BoxTreePy::nearest_boxes, "records"_a)
      .def("nearest_records", &BoxTreePy::nearest_records, "boxes"_a, "count"_a)
      .def("records_in", &BoxTreePy::records_in, "boxes"_a)
      .def("boxes_around", &BoxTreePy::boxes_around, "records"_a)
      .def("delete_records", &BoxTreePy::delete_records, "records"_a)
      .def("delete_boxes", &BoxTreePy::delete_boxes, "boxes"_a)
      .def("crowd_costs", &BoxTreePy::crowd_costs, "records"_a, "copies"_a, "k"_a, "horizon"_a, "steps"_a)
      .def("priced_crowds", &BoxTreePy::priced_crowds, "records"_a, "copies"_a, "prices"_a, "k"_a, "steps"_a,
           "tolerance"_a)
      .def("match_cheapest_first", &BoxTreePy::match_cheapest_first, "records"_a, "boxes"_a,
           "settled_records"_a, "settled_boxes"_a)
      .def("match_cheapest_together", &BoxTreePy::match_cheapest_together, "candidates"_a)
      .def("match_rows", &BoxTreePy::match_rows, "others"_a)
      .def("match_in_order", &BoxTreePy::match_in_order, "records"_a, "costless"_a);
  nb::class_<DiversificationPy>(module, "Diversification")
      .def(nb::init<BoxTreePy&, const Matrix&, const std::vector<SensitiveSpec>&, double, std::int64_t,
                    double, const Array<std::int32_t>&, double, const Array<std::int32_t>&, std::int64_t>(),
           nb::keep_alive<1, 2>(), "tree"_a, "members"_a, "sensitive"_a, "frequency_l"_a, "distinct"_a,
           "entropy"_a, "owners"_a, "least"_a, "record_of"_a, "widest"_a)
      .def("violated", &DiversificationPy::violated)
      .def("shortfall", &DiversificationPy::shortfall)
      .def("swap", &DiversificationPy::swap)
      .def("widen", &DiversificationPy::widen)
      .def("allow_wider", &DiversificationPy::allow_wider)
      .def("grow", &DiversificationPy::grow, "rows"_a, "records"_a)
      .def("record_of", &DiversificationPy::record_of)
      .def("grown", &DiversificationPy::grown);
  nb::class_<DiverseDrawPy>(module, "DiverseDraw")
      .def(nb::init<const SharesSpec&, Array<std::int32_t>, Array<std::int64_t>, Array<std::int32_t>,
                    Array<double>, Array<std::int32_t>, std::vector<DrawnSpec>, const Array<std::int32_t>&,
                    const Array<std::uint64_t>&>(),
           "shares"_a, "units"_a, "starts"_a, "crowds"_a, "weights"_a, "around"_a, "columns"_a, "record_of"_a,
           "key"_a)
      .def("violated", &DiverseDrawPy::violated)
      .def("violated_crowds", &DiverseDrawPy::violated_crowds)
      .def("shortfall", &DiverseDrawPy::shortfall)
      .def("search", &DiverseDrawPy::search, "steps"_a)
      .def("mix", &DiverseDrawPy::mix, "steps"_a, "price"_a)
      .def("record_of", &DiverseDrawPy::record_of);
  nb::class_<RefinementPy>(module, "Refinement")
      .def(nb::init<Matrix, std::vector<AttributeSpec>, const Matrix&, const Array<std::uint64_t>&,
                    Array<std::int32_t>>(),
           "codes"_a, "attributes"_a, "graph"_a, "key"_a, "owners"_a)
      .def("exchange", &RefinementPy::exchange, "foresight"_a, "looks"_a)
      .def("reassign", &RefinementPy::reassign, "times"_a, "temperature"_a, "most"_a = 1)
      .def("cost", &RefinementPy::cost)
      .def("members", &RefinementPy::members);
  nb::class_<RingPy>(module, "Ring")
      .def(nb::init<Matrix, Array<std::int32_t>, std::vector<AttributeSpec>, std::int32_t>(), "codes"_a,
           "copies"_a, "attributes"_a, "k"_a)
      .def("sweep", &RingPy::sweep)
      .def("cost", &RingPy::cost)
      .def("order", &RingPy::order);
}

}  // namespace shoal
