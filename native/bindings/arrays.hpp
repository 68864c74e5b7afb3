// NumPy arrays between Python and C++: read in place, and handed over without copying.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

namespace nb = nanobind;

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.shape(0)};
}
inline std::span<const std::int32_t> view(const Matrix& matrix) {
  return {matrix.data(), matrix.shape(0) * matrix.shape(1)};
}

// Works without Python's lock, so that other Python threads can continue.
template <typename Work>
auto without_lock(const Work& work) {
  nb::gil_scoped_release release;
  return work();
}

// Hands a vector over to NumPy without copying it.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T> vector) {
  auto* kept = new std::vector<T>(std::move(vector));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

}  // namespace shoal
