// An allocator that fails on request: loaded before all others, it counts what C++ code allocates with `new`.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> for_good{false};
std::atomic<long> until{0};
std::atomic<long> failed{0};
std::atomic<long> held{0};

bool fails() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const long left = until.fetch_sub(1);
  if (left != 0 && !(left < 0 && for_good)) return false;
  ++failed;
  return true;
}

void* taken(std::size_t size, std::size_t alignment) {
  if (fails()) throw std::bad_alloc();
  if (size == 0) size = 1;
  void* place = alignment ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                          : std::malloc(size);
  if (!place) throw std::bad_alloc();
  ++held;
  return place;
}

void* taken_quietly(std::size_t size) noexcept {
  void* place = fails() ? nullptr : std::malloc(size ? size : 1);
  if (place) ++held;
  return place;
}

void freed(void* place) noexcept {
  if (place) --held;
  std::free(place);
}

}  // namespace

// From now on, the allocation after `spared` others fails, and all further ones as well if `all` is set.
extern "C" void shoal_arm(long spared, int all) {
  failed = 0;
  until = spared;
  for_good = all != 0;
  armed = true;
}

// Returns how many allocations failed since shoal_arm().
extern "C" long shoal_disarm() {
  armed = false;
  return failed;
}

// Returns how many pieces of memory are held that were taken with `new`.
extern "C" long shoal_held() {
  return held;
}

void* operator new(std::size_t size) {
  return taken(size, 0);
}
void* operator new[](std::size_t size) {
  return taken(size, 0);
}
void* operator new(std::size_t size, std::align_val_t to) {
  return taken(size, static_cast<std::size_t>(to));
}
void* operator new[](std::size_t size, std::align_val_t to) {
  return taken(size, static_cast<std::size_t>(to));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return taken_quietly(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return taken_quietly(size);
}
void operator delete(void* place) noexcept {
  freed(place);
}
void operator delete[](void* place) noexcept {
  freed(place);
}
void operator delete(void* place, std::size_t) noexcept {
  freed(place);
}
void operator delete[](void* place, std::size_t) noexcept {
  freed(place);
}
void operator delete(void* place, std::align_val_t) noexcept {
  freed(place);
}
void operator delete[](void* place, std::align_val_t) noexcept {
  freed(place);
}
void operator delete(void* place, std::size_t, std::align_val_t) noexcept {
  freed(place);
}
void operator delete[](void* place, std::size_t, std::align_val_t) noexcept {
  freed(place);
}
