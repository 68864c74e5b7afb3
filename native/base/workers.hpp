// Work on all cores: a stack of tasks that may push further tasks, and numbers that are divided among
// threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/interruption.hpp"

namespace shoal {

// The maximum number of threads: one for each core, or SHOAL_THREADS where several processes share a
// machine.
inline std::size_t most_threads() {
  static const std::size_t most = [] {
    const char* told = std::getenv("SHOAL_THREADS");
    const long asked = told ? std::strtol(told, nullptr, 10) : 0;
    return asked > 0 ? static_cast<std::size_t>(asked) : std::thread::hardware_concurrency();
  }();
  return most;
}

// Whether a job is divided among threads however small it is. It is in builds with sanitizers: there, the
// small examples of property tests show races, too.
#ifdef SHOAL_DIVIDE_ALWAYS
constexpr bool kDivideAlways = true;
#else
constexpr bool kDivideAlways = false;
#endif

// Starts `count` threads that call work(), which must not throw. If the system grants fewer, for lack of
// threads or memory, those do the work.
template <typename Work>
std::vector<std::thread> start_threads(std::size_t count, const Work& work) {
  std::vector<std::thread> threads;
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.emplace_back([&work] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return threads;
}

template <typename Task>
class WorkStack {
 public:
  explicit WorkStack(Task first) { tasks_.push_back(std::move(first)); }

  void push(Task task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  // Calls make_worker() once in each thread and hands the worker every task it takes; there are never more
  // than `at_once` tasks to work on. The first exception a worker throws ends the run and is thrown again
  // here.
  template <typename MakeWorker>
  void run(const MakeWorker& make_worker, std::int64_t at_once) {
    const auto most = static_cast<std::int64_t>(most_threads());
    const std::int64_t count = kDivideAlways ? most : std::min(most, at_once);
    const auto mine = [&] { work(make_worker); };
    const auto helper = [&] {
      const Helping helping(stopping_);
      mine();
    };
    auto threads = start_threads(static_cast<std::size_t>(std::max<std::int64_t>(count - 1, 0)), helper);
    mine();
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  template <typename MakeWorker>
  void work(const MakeWorker& make_worker) {
    try {
      auto worker = make_worker();
      std::unique_lock lock(mutex_);
      while (true) {
        changed_.wait(lock, [&] { return !tasks_.empty() || busy_ == 0 || failure_; });
        if (tasks_.empty() || failure_) break;
        Task task = std::move(tasks_.back());
        tasks_.pop_back();
        ++busy_;
        lock.unlock();
        pause();
        worker(std::move(task));
        lock.lock();
        --busy_;
        if (busy_ == 0 && tasks_.empty()) changed_.notify_all();
      }
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stopping_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  std::size_t busy_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> stopping_{false};
};

// Calls make_worker() once in each of at most `threads` threads and hands the worker every number from 0 to
// count - 1 once, in stretches of `grain`. The first exception a worker throws ends the work and is thrown
// again here, after all threads have ended.
template <typename MakeWorker>
void divide(std::size_t count, std::size_t grain, std::size_t threads, const MakeWorker& make_worker) {
  std::atomic<std::size_t> taken{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<bool> stopping{false};
  const auto work = [&] {
    try {
      auto worker = make_worker();
      const Turns turns(count);
      for (std::size_t begin; (begin = taken.fetch_add(grain)) < count;) {
        turns.done(begin);
        pause();
        for (std::size_t i = begin; i < std::min(begin + grain, count); ++i) worker(i);
      }
    } catch (...) {
      taken = count;  // nothing more is handed out
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stopping = true;
    }
  };
  const auto helper = [&] {
    const Helping helping(stopping);
    work();
  };
  const std::size_t most = std::min(most_threads(), threads);
  auto helpers = start_threads(most > 1 ? most - 1 : 0, helper);
  work();
  for (auto& thread : helpers) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// Divides numbers that take little time each. Small jobs stay in the calling thread.
template <typename MakeWorker>
void share(std::size_t count, std::size_t grain, const MakeWorker& make_worker) {
  if constexpr (kDivideAlways) grain = 1;
  divide(count, grain, kDivideAlways ? count : count / (4 * grain), make_worker);
}

// Divides numbers that take milliseconds or more each: already two of them are worth a second thread.
template <typename MakeWorker>
void share_parts(std::size_t count, const MakeWorker& make_worker) {
  divide(count, 1, count, make_worker);
}

// The numbers 0 .. n - 1 in an order in which neighbours are far apart.
class Scattered {
 public:
  explicit Scattered(std::size_t n)
      : n_(n), step_(static_cast<std::size_t>(0.618034 * static_cast<double>(n)) | 1) {
    while (std::gcd(step_, n) != 1) step_ += 2;
  }
  std::size_t next() { return std::exchange(now_, (now_ + step_) % n_); }

 private:
  std::size_t n_, step_, now_ = 0;
};

// Goes once through the numbers 0 .. n - 1 in batches, each spread over all of them: finds something for
// each number of a batch on all cores, then acts on one after the other.
template <typename Found, typename MakeFinder, typename Act>
void in_batches(std::size_t n, std::size_t together, const MakeFinder& make_finder, const Act& act) {
  Scattered scattered(n);
  std::vector<std::int32_t> batch;
  std::vector<Found> found;
  const Turns turns(n);
  for (std::size_t seen = 0; seen < n;) {
    turns.done(seen);
    batch.clear();
    for (; batch.size() < together && seen < n; ++seen)
      batch.push_back(static_cast<std::int32_t>(scattered.next()));
    found.resize(batch.size());
    share(batch.size(), 4, [&] {
      return [&, finder = make_finder()](std::size_t i) mutable { found[i] = finder(batch[i]); };
    });
    for (std::size_t i = 0; i < batch.size(); ++i) act(i == 0, batch[i], found[i]);
  }
}

}  // namespace shoal
