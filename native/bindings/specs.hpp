// Attributes and lists as Python hands them over and takes them back.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"
#include "base/variety.hpp"
#include "base/workers.hpp"
#include "bindings/arrays.hpp"
#include "bindings/lists.hpp"
#include "matching/assignment.hpp"

namespace shoal {

inline std::int64_t count_rows(const Matrix& matrix) {
  if (matrix.shape(0) > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("a matrix of codes has at most 2,147,483,647 rows");
  return static_cast<std::int64_t>(matrix.shape(0));
}

// kind, weight, number of codes, table: see space.hpp
using AttributeSpec = std::tuple<int, double, std::int32_t, Array<double>>;

inline std::vector<Attribute> attributes_of(const std::vector<AttributeSpec>& specs) {
  std::vector<Attribute> attributes;
  for (const auto& [kind, weight, size, table] : specs)
    attributes.emplace_back(static_cast<Kind>(kind), weight, size, view(table));
  return attributes;
}

using SensitiveSpec = std::pair<Array<std::int32_t>, std::int32_t>;

inline std::vector<Sensitive> columns_of(const std::vector<SensitiveSpec>& specs) {
  std::vector<Sensitive> columns;
  for (const auto& [values, size] : specs) columns.push_back({view(values), size});
  return columns;
}

// The result of walks.
inline auto give(Walked walked) {
  return std::tuple(give(std::move(walked.assignment)), walked.steps, walked.assigned);
}

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
    all.reserve(at(starts.back()));
    for (const auto& list : found) all.insert(all.end(), list.begin(), list.end());
  }
  return std::pair(give(std::move(starts)), give(std::move(all)));
}

inline std::vector<std::span<const double>> views(const std::vector<Array<double>>& arrays) {
  std::vector<std::span<const double>> views;
  for (const auto& array : arrays) views.push_back(view(array));
  return views;
}

}  // namespace shoal
