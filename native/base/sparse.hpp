// Products of a sparse matrix and a dense one.
//
// Example: the rows (0, 2) and (3, 0) have the columns 1, 0, the values 2, 3 and the starts 0, 1, 2. Times
// the column (10, 100), they are (200, 30); their transpose times it is (300, 20).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/numbers.hpp"

namespace shoal {

// The entries of row i are those from starts[i] to starts[i + 1] - 1.
template <typename T>
struct SparseRows {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> columns;
  std::span<const T> values;
};

// Adds to `sum`, rows x width, the product with `dense`, columns x width; both are row-major.
template <typename T>
void add_product(const SparseRows<T>& matrix, const T* dense, std::size_t width, T* sum) {
  for (std::size_t row = 0; row + 1 < matrix.starts.size(); ++row)
    for (auto i = at(matrix.starts[row]); i < at(matrix.starts[row + 1]); ++i) {
      const T* from = dense + at(matrix.columns[i]) * width;
      for (std::size_t j = 0; j < width; ++j) sum[row * width + j] += matrix.values[i] * from[j];
    }
}

// Adds to `sum`, columns x width, the product of the transpose with `dense`, rows x width.
template <typename T>
void add_transposed_product(const SparseRows<T>& matrix, const T* dense, std::size_t width, T* sum) {
  for (std::size_t row = 0; row + 1 < matrix.starts.size(); ++row)
    for (auto i = at(matrix.starts[row]); i < at(matrix.starts[row + 1]); ++i) {
      T* to = sum + at(matrix.columns[i]) * width;
      for (std::size_t j = 0; j < width; ++j) to[j] += matrix.values[i] * dense[row * width + j];
    }
}

}  // namespace shoal
