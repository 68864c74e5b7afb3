// Sets of items, and the generalized sets that stand for several: base items, of which the uncertain ones
// may be missing, uncertain items that may be present, and a limit to the number of errors.
//
// The sets that a generalized one stands for are its possible worlds (Xue et al. 2012, Section 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

// Lists in a row: the i-th is values[starts[i] .. starts[i + 1]).
struct Lists {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> values;
};
struct ListsView {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> values;

  std::size_t size() const { return starts.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t i) const {
    return values.subspan(at(starts[i]), at(starts[i + 1] - starts[i]));
  }
};

// Generalized sets. The items of each list are ascending; a limit below 0 leaves no possible world.
//
// Example: base {a, b}, uncertain {b, c}, at most one error. The possible worlds are {a, b}, {a} (without b)
// and {a, b, c}; not {a, c}, which has two errors.
struct WorldsView {
  ListsView base, uncertain;
  std::span<const std::int32_t> most_errors;
};

// The number of items in which the two sets of each pair differ; lists are ascending. On all cores.
std::vector<std::int32_t> differences(ListsView left, ListsView right, std::span<const std::int32_t> lefts,
                                      std::span<const std::int32_t> rights);

// Which of these sets, all different, are possible worlds of each generalized set, ascending. On all cores.
Lists sets_among_worlds(ListsView sets, const WorldsView& worlds, std::int32_t width);

}  // namespace shoal
