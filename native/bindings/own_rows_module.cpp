// What the compiled core offers for rows that generalize one record each.

#include <optional>

#include "base/numbers.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/specs.hpp"
#include "rows/concealing.hpp"
#include "rows/narrowing.hpp"
#include "rows/own_rows.hpp"
#include "rows/places.hpp"
#include "rows/tightening.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

// Rows of their own together with all that they refer to.
class OwnRowsPy {
 public:
  OwnRowsPy(Matrix codes, std::vector<AttributeSpec> specs, const std::vector<Array<double>>& entropies,
            const Array<std::int32_t>& withheld, std::int32_t room)
      : codes_(std::move(codes)), specs_(std::move(specs)) {
    const auto count = static_cast<std::int32_t>(count_rows(codes_));
    std::vector<std::vector<double>> tables;
    for (const auto& table : entropies) tables.emplace_back(view(table).begin(), view(table).end());
    attributes_ = attributes_of(specs_);
    nb::gil_scoped_release release;
    rows_.emplace(view(codes_), count, attributes_, std::move(tables), room);
    std::vector<std::int32_t> place(at(count));
    for (std::int32_t i = 0; i < count; ++i) place[at(rows_->tree().order()[at(i)])] = i;
    for (const std::int32_t record : view(withheld)) rows_->withhold(place[at(record)]);
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
  void place(std::int32_t degree, std::int64_t widest) {
    nb::gil_scoped_release release;
    Places places(*rows_, degree);
    places.fill(widest);
    if (tightening_) tightening_->hold([&](std::int32_t row) { return places.held(row); });
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

// Rows that become narrower, together with all that they refer to.
class NarrowingPy {
 public:
  using Tree = std::vector<Array<std::int32_t>>;  // parent, first, last and leaf, or nothing

  NarrowingPy(Matrix codes, const Matrix& columns, std::vector<Tree> trees, std::int32_t knows,
              std::int64_t k)
      : codes_(std::move(codes)), trees_(std::move(trees)) {
    count_rows(codes_);
    const auto about = view(columns);  // shape, size and missing value of each
    std::vector<NarrowColumn> all;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      NarrowColumn each{
          static_cast<CellShape>(about[3 * i]), about[3 * i + 1], about[3 * i + 2], {}, {}, {}, {}};
      if (!trees_[i].empty()) {
        each.parent = view(trees_[i][0]);
        each.first = view(trees_[i][1]);
        each.last = view(trees_[i][2]);
        each.leaf = view(trees_[i][3]);
      }
      all.push_back(each);
    }
    nb::gil_scoped_release release;
    rows_.emplace(view(codes_), std::move(all), knows, k);
  }

  // For each class of rows, the codes in its cells: those of class c in a column are
  // codes[starts[c]] to codes[starts[c + 1]].
  void add(const Array<std::int64_t>& members_starts, const Array<std::int32_t>& members,
           const std::vector<std::pair<Array<std::int64_t>, Array<std::int32_t>>>& cells) {
    const auto starts = view(members_starts);
    const auto rows = view(members);
    nb::gil_scoped_release release;
    std::vector<std::vector<std::int32_t>> own(cells.size());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      for (std::size_t column = 0; column < cells.size(); ++column) {
        const auto begins = view(cells[column].first);
        const auto all = view(cells[column].second).subspan(at(begins[i]), at(begins[i + 1] - begins[i]));
        own[column].assign(all.begin(), all.end());
      }
      rows_->add(rows.subspan(at(starts[i]), at(starts[i + 1] - starts[i])), own);
    }
  }

  std::int64_t narrow(const Array<std::int64_t>& cells) {
    nb::gil_scoped_release release;
    return rows_->narrow(view(cells));
  }

  auto cells(std::size_t column) const {
    const std::size_t width = trees_.size();
    std::vector<std::int64_t> starts(1, 0);
    std::vector<std::int32_t> all;
    for (std::size_t row = 0; row < codes_.shape(0); ++row) {
      const auto& each = rows_->cell(row * width + column);
      all.insert(all.end(), each.begin(), each.end());
      starts.push_back(static_cast<std::int64_t>(all.size()));
    }
    return std::pair(give(std::move(starts)), give(std::move(all)));
  }

 private:
  Matrix codes_;
  std::vector<Tree> trees_;
  std::optional<Narrowing> rows_;
};

}  // namespace

void bind_own_rows(nb::module_& module) {
  nb::class_<NarrowingPy>(module, "Narrowing")
      .def(nb::init<Matrix, const Matrix&, std::vector<NarrowingPy::Tree>, std::int32_t, std::int64_t>(),
           "codes"_a, "columns"_a, "trees"_a, "knows"_a, "k"_a)
      .def("add", &NarrowingPy::add, "starts"_a, "members"_a, "cells"_a)
      .def("narrow", &NarrowingPy::narrow, "cells"_a)
      .def("cells", &NarrowingPy::cells, "column"_a);
  nb::class_<OwnRowsPy>(module, "OwnRows")
      .def(nb::init<Matrix, std::vector<AttributeSpec>, const std::vector<Array<double>>&,
                    const Array<std::int32_t>&, std::int32_t>(),
           "codes"_a, "attributes"_a, "entropies"_a, "withheld"_a, "room"_a)
      .def("order", &OwnRowsPy::order)
      .def("members", &OwnRowsPy::members)
      .def("expand", &OwnRowsPy::expand, "k"_a)
      .def("expand_at_random", &OwnRowsPy::expand_at_random, "k"_a, "keys"_a)
      .def("cover", &OwnRowsPy::cover, "order"_a, "k"_a)
      .def("expand_from_several", &OwnRowsPy::expand_from_several, "k"_a, "starts"_a, "keys"_a)
      .def("begin_tightening", &OwnRowsPy::begin_tightening, "k"_a, "keep_cores"_a)
      .def("cover_dearest_first", &OwnRowsPy::cover_dearest_first, "widest"_a)
      .def("relieve", &OwnRowsPy::relieve, "order"_a, "together"_a, "widest"_a)
      .def("place", &OwnRowsPy::place, "degree"_a, "widest"_a)
      .def("hold_together", &OwnRowsPy::hold_together, "components"_a)
      .def("components", &OwnRowsPy::components)
      .def("join", &OwnRowsPy::join, "components"_a)
      .def("conceal_records", &OwnRowsPy::conceal_records, "order"_a, "k"_a)
      .def("conceal_cheapest_first", &OwnRowsPy::conceal_cheapest_first, "records"_a, "k"_a)
      .def("conceal_rows", &OwnRowsPy::conceal_rows, "order"_a, "k"_a)
      .def("vary", &OwnRowsPy::vary, "order"_a, "columns"_a, "frequency_l"_a, "distinct"_a, "entropy"_a);
}

}  // namespace shoal
