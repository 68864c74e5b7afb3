// Lists as arguments of kernels. Nanobind's own conversion must not throw, so that lack of memory would end
// the process; this one throws, and the caller gets a MemoryError.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

namespace nanobind::detail {

template <typename Entry>
struct type_caster<std::vector<Entry>> {
  NB_TYPE_CASTER(std::vector<Entry>,
                 const_name("collections.abc.Sequence[") + make_caster<Entry>::Name + const_name("]"))

  // The type of `flags` depends on the version of nanobind.
  template <typename Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) {
    if (!PySequence_Check(source.ptr())) return false;
    const auto size = PySequence_Size(source.ptr());
    if (size < 0) {
      PyErr_Clear();
      return false;
    }
    value.clear();
    value.reserve(static_cast<std::size_t>(size));
    make_caster<Entry> caster;
    const auto own_flags = flags_for_local_caster<Entry>(flags);
    for (Py_ssize_t i = 0; i < size; ++i) {
      const object entry = steal(PySequence_GetItem(source.ptr(), i));
      if (!entry.is_valid()) {
        PyErr_Clear();
        return false;
      }
      if (!caster.from_python(entry, own_flags, cleanup) || !caster.template can_cast<Entry>()) return false;
      value.push_back(caster.operator cast_t<Entry>());
    }
    return true;
  }
};

}  // namespace nanobind::detail
