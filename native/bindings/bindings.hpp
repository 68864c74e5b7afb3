// What the compiled core offers, by subject.
#pragma once

#include <nanobind/nanobind.h>

namespace shoal {

void bind_baselines(nanobind::module_& module);
void bind_classes(nanobind::module_& module);
void bind_consistency(nanobind::module_& module);
void bind_graphs(nanobind::module_& module);
void bind_own_rows(nanobind::module_& module);
void bind_sets(nanobind::module_& module);
void bind_sparse(nanobind::module_& module);

}  // namespace shoal
