// What the compiled core offers for sparse matrices.

#include "base/sparse.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

using namespace nanobind::literals;

namespace shoal {
namespace {

template <typename T>
using Dense = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Sum = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
void add_product_py(const Array<std::int64_t>& starts, const Array<std::int32_t>& columns,
                    const Array<T>& values, const Dense<T>& dense, const Sum<T>& sum, bool transposed) {
  const SparseRows<T> matrix{view(starts), view(columns), view(values)};
  const std::size_t width = dense.shape(1);
  without_lock([&] {
    if (transposed)
      add_transposed_product(matrix, dense.data(), width, sum.data());
    else
      add_product(matrix, dense.data(), width, sum.data());
  });
}

}  // namespace

void bind_sparse(nb::module_& module) {
  module.def("add_product", &add_product_py<double>, "starts"_a, "columns"_a, "values"_a, "dense"_a, "sum"_a,
             "transposed"_a);
  module.def("add_product", &add_product_py<float>, "starts"_a, "columns"_a, "values"_a, "dense"_a, "sum"_a,
             "transposed"_a);
}

}  // namespace shoal
