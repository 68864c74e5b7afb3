// Long work asks from time to time whether it should go on, so that Ctrl-C takes effect inside kernels.
//
// Example: a loop that may last calls pause() in every turn. If the user presses Ctrl-C, one of these calls
// throws, in the thread that Python called; threads that help it end at their own next call.
#pragma once

#include <atomic>
#include <chrono>

namespace shoal {

// Throws if work should end. The bindings set it to a function that asks Python; without one, nothing is
// asked.
using Question = void (*)();
inline std::atomic<Question> question{nullptr};

// What a thread throws that helps another one whose work has ended; it never leaves that thread.
struct Stopped {};

// What pause() knows about a thread.
struct Pauses {
  const std::atomic<bool>* stopping = nullptr;  // of a thread that helps: whether to end
  std::chrono::steady_clock::time_point next{};
};
inline thread_local Pauses pauses;

// Cheap enough for every turn of a loop that takes a microsecond: mostly a look at the clock.
inline void pause() {
  if (pauses.stopping) {
    if (pauses.stopping->load(std::memory_order_relaxed)) throw Stopped{};
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < pauses.next) return;
  pauses.next = now + std::chrono::milliseconds(200);
  if (const Question ask = question.load(std::memory_order_relaxed)) ask();
}

// For shorter turns: pauses in every 64th.
inline void pause_sometimes() {
  thread_local unsigned turns = 0;
  if (++turns % 64 == 0) pause();
}

// Marks a thread as one that helps, and says where it finds whether to end.
class Helping {
 public:
  explicit Helping(const std::atomic<bool>& stopping) { pauses.stopping = &stopping; }
  ~Helping() { pauses.stopping = nullptr; }
  Helping(const Helping&) = delete;
  Helping& operator=(const Helping&) = delete;
};

}  // namespace shoal
