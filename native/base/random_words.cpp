#include "base/random_words.hpp"

#include <bit>

namespace shoal {
namespace {

void quarter_round(std::array<std::uint32_t, 16>& x, std::size_t a, std::size_t b, std::size_t c,
                   std::size_t d) {
  x[a] += x[b], x[d] = std::rotl(x[d] ^ x[a], 16);
  x[c] += x[d], x[b] = std::rotl(x[b] ^ x[c], 12);
  x[a] += x[b], x[d] = std::rotl(x[d] ^ x[a], 8);
  x[c] += x[d], x[b] = std::rotl(x[b] ^ x[c], 7);
}

}  // namespace

RandomWords::RandomWords(std::span<const std::uint64_t> key)
    : state_{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, block_{} {
  for (std::size_t i = 0; i < 4; ++i) {
    state_[4 + 2 * i] = static_cast<std::uint32_t>(key[i]);
    state_[5 + 2 * i] = static_cast<std::uint32_t>(key[i] >> 32);
  }
}

void RandomWords::refill() {
  block_ = state_;
  for (int round = 0; round < 6; ++round) {
    quarter_round(block_, 0, 4, 8, 12), quarter_round(block_, 1, 5, 9, 13);
    quarter_round(block_, 2, 6, 10, 14), quarter_round(block_, 3, 7, 11, 15);
    quarter_round(block_, 0, 5, 10, 15), quarter_round(block_, 1, 6, 11, 12);
    quarter_round(block_, 2, 7, 8, 13), quarter_round(block_, 3, 4, 9, 14);
  }
  for (std::size_t i = 0; i < 16; ++i) block_[i] += state_[i];
  if (++state_[12] == 0) ++state_[13];
  used_ = 0;
}

std::uint32_t RandomWords::below(std::uint32_t bound) {
  while (true) {
    if (used_ == 16) refill();
    const std::uint32_t word = block_[used_++];
    // Words below the remainder of 2^32 modulo the bound would favour small numbers. The remainder is less
    // than the bound, so it rarely has to be computed.
    if (word >= bound || word >= static_cast<std::uint32_t>(-bound) % bound) return word % bound;
  }
}

}  // namespace shoal
