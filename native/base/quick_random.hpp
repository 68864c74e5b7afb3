// Random numbers for searches: quick, but never for choices that protect a person.
#pragma once

#include <cstdint>

namespace shoal {

// Quick random numbers for choices that need not be secret (xorshift64*, Vigna 2016).
class QuickRandom {
 public:
  explicit QuickRandom(std::uint64_t seed) : state_(seed | 1U) {}
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }
  double unit() { return static_cast<double>((next() >> 11U) + 1U) * 0x1p-53; }  // above 0, at most 1

 private:
  std::uint64_t next() {
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return state_ * 0x2545f4914f6cdd1dULL;
  }
  std::uint64_t state_;
};

}  // namespace shoal
