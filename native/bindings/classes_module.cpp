// What the compiled core offers for classes of records: made, improved, coloured, and suppressed by patterns.

#include <optional>
#include <tuple>

#include "base/grouping.hpp"
#include "base/numbers.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/specs.hpp"
#include "classes/classes.hpp"
#include "classes/closeness.hpp"
#include "classes/coloring.hpp"
#include "classes/cut.hpp"
#include "classes/mondrian.hpp"
#include "classes/spacing.hpp"
#include "patterns/pattern_cover.hpp"
#include "patterns/pattern_search.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

auto group_rows_py(const Matrix& codes) {
  const std::int64_t rows = count_rows(codes);
  std::vector<std::int32_t> groups(codes.shape(0));
  auto first = without_lock([&] {
    return group_rows(codes.data(), rows, static_cast<std::int64_t>(codes.shape(1)), groups.data());
  });
  return std::pair(give(std::move(groups)), give(std::move(first)));
}

// In the order of kernels.Refined.
auto refine_py(const Array<std::int32_t>& records, const Array<std::int32_t>& group, std::int64_t groups,
               const Array<std::int32_t>& codes, std::int32_t size) {
  auto refined = without_lock([&] { return refine(view(records), view(group), groups, view(codes), size); });
  return std::tuple(give(std::move(refined.records)), give(std::move(refined.group)), refined.groups,
                    refined.shared, refined.smallest);
}

auto mondrian_py(const Matrix& codes, const std::vector<AttributeSpec>& specs,
                 const std::vector<SensitiveSpec>& sensitive, std::int64_t k, double frequency_l,
                 std::int64_t distinct, double entropy, const Array<std::int32_t>& owners,
                 std::int32_t persons, bool relaxed) {
  const auto attributes = attributes_of(specs);
  auto columns = columns_of(sensitive);
  for (Sensitive& column : columns) column.asked = {frequency_l, distinct, entropy};
  if (persons > 0) columns.push_back({view(owners), persons, {static_cast<double>(k), 0, 0.0}});
  const std::int64_t rows = count_rows(codes);
  return give(
      without_lock([&] { return mondrian(view(codes), rows, attributes, std::move(columns), k, relaxed); }));
}

auto cut_py(const Matrix& codes, const std::vector<AttributeSpec>& specs, std::int32_t k,
            const Array<std::int32_t>& owners) {
  const auto attributes = attributes_of(specs);
  const auto rows = static_cast<std::int32_t>(count_rows(codes));
  return give(without_lock([&] { return cut(view(codes), rows, attributes, k, view(owners)); }));
}

auto spaced_py(const Array<std::int32_t>& owners, std::int32_t gap) {
  return give(without_lock([&] { return spaced(view(owners), gap); }));
}

// Classes together with all that they refer to.
class ClassesPy {
 public:
  ClassesPy(Matrix codes, std::vector<AttributeSpec> specs, const Array<std::int32_t>& class_of,
            std::int32_t k, Array<std::int32_t> owners)
      : codes_(std::move(codes)), owners_(std::move(owners)), specs_(std::move(specs)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto numbers = view(class_of);
    classes_.emplace(view(codes_), attributes_, std::vector(numbers.begin(), numbers.end()), k,
                     view(owners_));
  }

  std::int64_t sweep() {
    nb::gil_scoped_release release;
    return classes_->sweep();
  }
  double cost() const { return classes_->cost(); }
  auto class_of() const { return give(std::vector(classes_->class_of())); }

 private:
  Matrix codes_;
  Array<std::int32_t> owners_;
  std::vector<AttributeSpec> specs_;
  std::vector<Attribute> attributes_;
  std::optional<Classes> classes_;
};

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
    return give(without_lock([&] { return closeness_->degrees(view(counts)); }));
  }
  auto near(const Array<std::int32_t>& values, const Array<std::int64_t>& counts) const {
    return give(without_lock([&] { return closeness_->near(view(values), view(counts)); }));
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
             const ClosenessPy& closeness, Array<std::int32_t> values, Array<std::int32_t> allowed,
             Array<std::int32_t> owners, std::int32_t least)
      : codes_(std::move(codes)), specs_(std::move(specs)), values_(std::move(values)),
        allowed_(std::move(allowed)), owners_(std::move(owners)) {
    nb::gil_scoped_release release;
    attributes_ = attributes_of(specs_);
    const auto numbers = view(class_of);
    classes_.emplace(view(codes_), attributes_, std::vector(numbers.begin(), numbers.end()), 1);
    coloring_.emplace(*classes_, closeness.get(), view(values_), view(allowed_), view(owners_), least);
  }

  std::int64_t mend(int goal, std::size_t few, bool cycles, std::int64_t most) {
    nb::gil_scoped_release release;
    return coloring_->mend(static_cast<Coloring::Goal>(goal), few, cycles, most);
  }
  std::int64_t mend_as_printed(std::int64_t most) {
    nb::gil_scoped_release release;
    return coloring_->mend_as_printed(most);
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
  Array<std::int32_t> values_, allowed_, owners_;
  std::vector<Attribute> attributes_;
  std::optional<Classes> classes_;
  std::optional<Coloring> coloring_;
};

// What is asked of the labels of all sensitive columns: frequency_l, distinct, entropy.
using Asked = std::tuple<double, std::int64_t, double>;

VariedRows varied_rows(const std::vector<SensitiveSpec>& sensitive, const Asked& asked) {
  auto columns = columns_of(sensitive);
  for (Sensitive& column : columns)
    column.asked = {std::get<0>(asked), std::get<1>(asked), std::get<2>(asked)};
  return VariedRows(std::move(columns));
}

auto cover_py(const Matrix& codes, const Array<std::uint64_t>& kept, std::int64_t k, bool shared,
              const std::vector<SensitiveSpec>& sensitive, const Asked& asked) {
  const std::int64_t rows = count_rows(codes);
  const VariedRows varied = varied_rows(sensitive, asked);
  auto found = without_lock([&] { return cover(view(codes), at(rows), view(kept), k, shared, varied); });
  return std::pair(give(std::move(found.pattern_of)), found.counted);
}

class PatternSearchPy {
 public:
  PatternSearchPy(const Matrix& codes, const Array<std::uint64_t>& kept, const Array<double>& costs,
                  double beyond, std::int64_t k, const Array<std::int32_t>& pattern_of,
                  std::vector<SensitiveSpec> sensitive, const Asked& asked)
      : sensitive_(std::move(sensitive)) {
    const auto rows = at(count_rows(codes));
    VariedRows varied = varied_rows(sensitive_, asked);
    nb::gil_scoped_release release;
    search_.emplace(view(codes), rows, view(kept), view(costs), beyond, k, view(pattern_of),
                    std::move(varied));
  }

  std::int64_t sweep(std::size_t begin, std::size_t end) {
    nb::gil_scoped_release release;
    return search_->sweep(begin, end);
  }
  double cost() const { return search_->cost(); }
  auto pattern_of() const { return give(search_->pattern_of()); }

 private:
  std::vector<SensitiveSpec> sensitive_;
  std::optional<PatternSearch> search_;
};

}  // namespace

void bind_classes(nb::module_& module) {
  module.def("group_rows", &group_rows_py, "codes"_a);
  module.def("refine", &refine_py, "records"_a, "group"_a, "groups"_a, "codes"_a, "size"_a);
  module.def("mondrian", &mondrian_py, "codes"_a, "attributes"_a, "sensitive"_a, "k"_a, "frequency_l"_a,
             "distinct"_a, "entropy"_a, "owners"_a, "persons"_a, "relaxed"_a);
  module.def("cover", &cover_py, "codes"_a, "kept"_a, "k"_a, "shared"_a, "sensitive"_a, "asked"_a);
  nb::class_<PatternSearchPy>(module, "PatternSearch")
      .def(nb::init<const Matrix&, const Array<std::uint64_t>&, const Array<double>&, double, std::int64_t,
                    const Array<std::int32_t>&, std::vector<SensitiveSpec>, const Asked&>(),
           "codes"_a, "kept"_a, "costs"_a, "beyond"_a, "k"_a, "pattern_of"_a, "sensitive"_a, "asked"_a)
      .def("sweep", &PatternSearchPy::sweep, "begin"_a, "end"_a)
      .def("cost", &PatternSearchPy::cost)
      .def("pattern_of", &PatternSearchPy::pattern_of);
  module.def("cut", &cut_py, "codes"_a, "attributes"_a, "k"_a, "owners"_a);
  module.def("spaced", &spaced_py, "owners"_a, "gap"_a);
  nb::class_<ClassesPy>(module, "Classes")
      .def(nb::init<Matrix, std::vector<AttributeSpec>, const Array<std::int32_t>&, std::int32_t,
                    Array<std::int32_t>>(),
           "codes"_a, "attributes"_a, "class_of"_a, "k"_a, "owners"_a)
      .def("sweep", &ClassesPy::sweep)
      .def("cost", &ClassesPy::cost)
      .def("class_of", &ClassesPy::class_of);
  nb::class_<ClosenessPy>(module, "Closeness")
      .def(nb::init<std::vector<RankedSpec>>(), "ranked"_a)
      .def(nb::init<std::vector<ComponentSpec>, double, double>(), "components"_a, "power"_a, "limit"_a)
      .def(nb::init<Array<std::uint8_t>, std::size_t>(), "bits"_a, "size"_a)
      .def("degrees", &ClosenessPy::degrees, "counts"_a)
      .def("near", &ClosenessPy::near, "values"_a, "counts"_a);
  nb::class_<ColoringPy>(module, "Coloring")
      .def(nb::init<Matrix, std::vector<AttributeSpec>, const Array<std::int32_t>&, const ClosenessPy&,
                    Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>, std::int32_t>(),
           "codes"_a, "attributes"_a, "class_of"_a, "closeness"_a, "values"_a, "allowed"_a, "owners"_a,
           "least"_a, nb::keep_alive<1, 5>())
      .def("mend", &ColoringPy::mend, "goal"_a, "few"_a, "cycles"_a, "most"_a)
      .def("mend_as_printed", &ColoringPy::mend_as_printed, "most"_a)
      .def("sweep", &ColoringPy::sweep, "few"_a, "cycles"_a)
      .def("part", &ColoringPy::part, "classes"_a, "few"_a)
      .def("potential", &ColoringPy::potential)
      .def("excess", &ColoringPy::excess)
      .def("neighbours", &ColoringPy::neighbours)
      .def("cost", &ColoringPy::cost)
      .def("class_of", &ColoringPy::class_of);
}

}  // namespace shoal
