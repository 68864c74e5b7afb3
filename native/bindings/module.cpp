// The module that Python imports: it checks only that rows can be numbered in 32 bits, copies nothing, and
// releases the GIL.
#include <nanobind/nanobind.h>

#include "base/numbers.hpp"
#include "bindings/bindings.hpp"

NB_MODULE(_native, module) {
  module.attr("ROUNDING") = shoal::kRounding;
  shoal::bind_baselines(module);
  shoal::bind_classes(module);
  shoal::bind_consistency(module);
  shoal::bind_graphs(module);
  shoal::bind_own_rows(module);
  shoal::bind_sets(module);
  shoal::bind_sparse(module);
}
