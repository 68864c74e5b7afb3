// Random numbers for native code, from a key that Python draws.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace shoal {

// A stream of random words that cannot be predicted without its key: ChaCha with 12 rounds (Bernstein 2008).
// The key has 256 bits; nonce and counter start at zero, and the counter has 64 bits. Words come in the order
// of the keystream; see tests/unit/test_random_words.py for the published vectors.
class RandomWords {
 public:
  explicit RandomWords(std::span<const std::uint64_t> key);  // four words

  std::uint32_t below(std::uint32_t bound);  // uniform in 0 .. bound - 1

 private:
  void refill();

  std::array<std::uint32_t, 16> state_, block_;
  std::size_t used_ = 16;
};

}  // namespace shoal
