// The module that Python imports: it checks only that rows can be numbered in 32 bits, copies nothing, and
// releases the GIL.
#include <nanobind/nanobind.h>

#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "bindings/bindings.hpp"

namespace {

unsigned long main_thread = 0;  // Python's, which alone handles signals

PyObject* listener = nullptr;  // a function of Python that is told how far a kernel is

// Throws what a signal handler of Python raises, such as KeyboardInterrupt after Ctrl-C, or the listener.
void ask_python(double done) {
  const bool handles_signals = PyThread_get_thread_ident() == main_thread;
  nanobind::gil_scoped_acquire acquire;
  if (handles_signals && PyErr_CheckSignals() != 0) throw nanobind::python_error();
  if (const nanobind::handle told = listener; told.is_valid()) told(done);
}

// Nanobind keeps a map of all objects of the module. If it has to grow and there is no memory, the process
// ends; so it grows now, to more than are ever alive at once.
void make_room_for_objects(nanobind::handle type) {
  nanobind::object objects[256];
  for (auto& each : objects) each = nanobind::inst_alloc(type);
}

}  // namespace

NB_MODULE(_native, module) {
  const auto main = nanobind::module_::import_("threading").attr("main_thread")();
  main_thread = nanobind::cast<unsigned long>(main.attr("ident"));
  shoal::question = ask_python;
  module.def(
      "listen",
      [](nanobind::object function) {
        PyObject* before = std::exchange(listener, function.release().ptr());
        Py_XDECREF(before);
      },
      nanobind::arg("function"));
  module.attr("ROUNDING") = shoal::kRounding;
  shoal::bind_baselines(module);
  shoal::bind_classes(module);
  shoal::bind_consistency(module);
  shoal::bind_graphs(module);
  shoal::bind_own_rows(module);
  shoal::bind_sets(module);
  shoal::bind_sparse(module);
  make_room_for_objects(module.attr("Ring"));
}
