// What the compiled core offers for sets of items.
#pragma once

#include <nanobind/nanobind.h>

namespace shoal {

void bind_sets(nanobind::module_& module);

}  // namespace shoal
