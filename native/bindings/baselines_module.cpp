// What the compiled core offers for comparison only: algorithms from the literature.

#include <optional>

#include "base/random_words.hpp"
#include "baselines/agglomeration.hpp"
#include "baselines/backtracking.hpp"
#include "baselines/cahd.hpp"
#include "baselines/closed_walk.hpp"
#include "baselines/forest.hpp"
#include "baselines/greedy_extraction.hpp"
#include "baselines/unification.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/sets_spec.hpp"
#include "bindings/specs.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

// An agglomeration together with all that it refers to.
class AgglomerationPy {
 public:
  AgglomerationPy(Matrix codes, Array<std::int32_t> copies, std::vector<AttributeSpec> specs,
                  const std::vector<Array<double>>& counts, std::int32_t k)
      : codes_(std::move(codes)), copies_(std::move(copies)), specs_(std::move(specs)) {
    count_rows(codes_);
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
  count_rows(codes);
  return give(without_lock([&] {
    const auto attributes = attributes_of(specs);
    return forest(view(codes), view(copies), ClosureCosts(attributes, views(counts)), k);
  }));
}

auto unify_py(const Matrix& codes, const Array<std::int32_t>& class_of,
              const std::vector<AttributeSpec>& specs, const std::vector<Array<double>>& counts,
              const std::vector<SensitiveSpec>& sensitive, double diversity, double weight) {
  count_rows(codes);
  return give(without_lock([&] {
    const auto attributes = attributes_of(specs);
    return unify(view(codes), view(class_of), ClosureCosts(attributes, views(counts)), columns_of(sensitive),
                 diversity, weight);
  }));
}

auto greedy_extraction_py(const SetsSpec& sets, const Array<std::int32_t>& order,
                          const Array<std::int32_t>& labels, const Matrix& starts, std::int64_t most) {
  return give(without_lock([&] {
    const PackedSets packed(sets_of(sets), {});
    return greedy_extraction(packed, view(order), view(labels), view(starts), most);
  }));
}

auto cahd_py(const SetsSpec& sets, const Array<std::int32_t>& order, const Array<std::int32_t>& labels,
             std::int32_t different, std::size_t size, std::size_t reach) {
  return give(without_lock([&] {
    return cahd(PackedSets(sets_of(sets), {}), view(order), view(labels), different, size, reach);
  }));
}

auto backtracking_walk_py(const Matrix& members, std::int32_t which, const Array<std::uint64_t>& key,
                          double seconds) {
  return give(without_lock([&] {
    RandomWords random(view(key));
    const auto degree = static_cast<std::int32_t>(members.shape(1));
    return backtracking_assignment(view(members), degree, which, random, seconds);
  }));
}

auto closed_walk_py(const Matrix& members, std::int32_t which, const Array<std::uint64_t>& key) {
  return give(without_lock([&] {
    RandomWords random(view(key));
    const auto degree = static_cast<std::int32_t>(members.shape(1));
    return closed_walk_assignment(view(members), degree, which, random);
  }));
}

}  // namespace

void bind_baselines(nb::module_& module) {
  nb::class_<AgglomerationPy>(module, "Agglomeration")
      .def(nb::init<Matrix, Array<std::int32_t>, std::vector<AttributeSpec>,
                    const std::vector<Array<double>>&, std::int32_t>(),
           "codes"_a, "copies"_a, "attributes"_a, "counts"_a, "k"_a)
      .def("advance", &AgglomerationPy::advance, "pairs"_a)
      .def("classes", &AgglomerationPy::classes);
  module.def("forest", &forest_py, "codes"_a, "copies"_a, "attributes"_a, "counts"_a, "k"_a);
  module.def("unify", &unify_py, "codes"_a, "class_of"_a, "attributes"_a, "counts"_a, "sensitive"_a,
             "diversity"_a, "weight"_a);
  module.def("greedy_extraction", &greedy_extraction_py, "sets"_a, "order"_a, "labels"_a, "starts"_a,
             "most"_a);
  module.def("cahd", &cahd_py, "sets"_a, "order"_a, "labels"_a, "different"_a, "size"_a, "reach"_a);
  module.def("backtracking_walk", &backtracking_walk_py, "members"_a, "which"_a, "key"_a, "seconds"_a);
  module.def("closed_walk", &closed_walk_py, "members"_a, "which"_a, "key"_a);
}

}  // namespace shoal
