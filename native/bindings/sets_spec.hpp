// Sets of items as Python hands them over.
#pragma once

#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "bindings/arrays.hpp"
#include "items/item_sets.hpp"

namespace shoal {

// starts, items, width: see item_sets.hpp
using SetsSpec = std::tuple<Array<std::int64_t>, Array<std::int32_t>, std::int32_t>;

inline ItemSets sets_of(const SetsSpec& spec) {
  return {view(std::get<0>(spec)), view(std::get<1>(spec)), std::get<2>(spec)};
}

}  // namespace shoal
