// Long work asks from time to time whether it should go on, so that Ctrl-C takes effect inside kernels, and
// says how much of it is done.
//
// Example: a loop that may last calls pause() in every turn. If the user presses Ctrl-C, one of these calls
// throws, in the thread that Python called; threads that help it end at their own next call. If the loop has
// a known number of turns, `Turns turns(count)` before it and turns.done(i) in it say how far it is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace shoal {

// Is told the share of the work that is done, and throws if the work should end. The bindings set it to a
// function that asks Python; without one, nothing is asked.
using Question = void (*)(double done);
inline std::atomic<Question> question{nullptr};

// What a thread throws that helps another one whose work has ended; it never leaves that thread.
struct Stopped {};

// What pause() knows about a thread.
struct Pauses {
  const std::atomic<bool>* stopping = nullptr;  // of a thread that helps: whether to end
  std::chrono::steady_clock::time_point next{};
  double done = 0.0;  // the share of the outermost loop with a known number of turns
  int loops = 0;      // such loops that are under way
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
  if (const Question ask = question.load(std::memory_order_relaxed)) ask(pauses.done);
}

// For shorter turns: pauses in every 64th.
inline void pause_sometimes() {
  thread_local unsigned turns = 0;
  if (++turns % 64 == 0) pause();
}

// A loop with a known number of turns. Of nested ones, the outermost counts.
class Turns {
 public:
  explicit Turns(std::size_t count) : count_(count), outermost_(pauses.loops++ == 0) { done(0); }
  ~Turns() { --pauses.loops; }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  void done(std::size_t turns) const {
    if (outermost_ && count_ > 0) pauses.done = static_cast<double>(turns) / static_cast<double>(count_);
  }

 private:
  std::size_t count_;
  bool outermost_;
};

// Marks a thread as one that helps, and says where it finds whether to end.
class Helping {
 public:
  explicit Helping(const std::atomic<bool>& stopping) { pauses.stopping = &stopping; }
  ~Helping() { pauses.stopping = nullptr; }
  Helping(const Helping&) = delete;
  Helping& operator=(const Helping&) = delete;
};

}  // namespace shoal
