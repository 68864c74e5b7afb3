#include "items/item_sets.hpp"

#include "base/numbers.hpp"

namespace shoal {
namespace {

// Without an instruction for it, so that every processor can do it, and several words at once.
std::uint64_t ones(std::uint64_t word) {
  word -= (word >> 1U) & 0x5555555555555555ULL;
  word = (word & 0x3333333333333333ULL) + ((word >> 2U) & 0x3333333333333333ULL);
  word = (word + (word >> 4U)) & 0x0f0f0f0f0f0f0f0fULL;
  return (word * 0x0101010101010101ULL) >> 56U;
}

}  // namespace

PackedSets::PackedSets(const ItemSets& sets, std::span<const std::int32_t> weights)
    : sets_(sets), weights_(weights) {
  const auto records = at(sets.size());
  const std::size_t words = (at(sets.width) + 63) / 64;
  if (words == 0 || words * records > sets.items.size()) return;
  words_ = words;
  bits_.assign(words * records, 0);
  for (std::int32_t record = 0; record < sets.size(); ++record)
    for (const std::int32_t item : sets.of(record))
      bits_[at(record) * words + at(item) / 64] |= std::uint64_t{1} << (at(item) % 64);
}

Comparison::Comparison(const PackedSets& packed)
    : packed_(packed), has_(packed.packed() ? 0 : at(packed.sets().width), 0) {}

void Comparison::take(std::int32_t record) {
  if (!packed_.packed()) {
    if (record_ >= 0)
      for (const std::int32_t item : packed_.sets().of(record_)) has_[at(item)] = 0;
    for (const std::int32_t item : packed_.sets().of(record)) has_[at(item)] = 1;
  }
  record_ = record;
}

std::int32_t Comparison::distance(std::int32_t other) const {
  if (packed_.packed()) {
    const auto here = packed_.bits(record_), there = packed_.bits(other);
    std::uint64_t different = 0;
    for (std::size_t word = 0; word < here.size(); ++word) different += ones(here[word] ^ there[word]);
    return static_cast<std::int32_t>(different);
  }
  const auto here = packed_.sets().of(record_), there = packed_.sets().of(other);
  std::int32_t shared = 0;
  for (const std::int32_t item : there) shared += has_[at(item)];
  return static_cast<std::int32_t>(here.size() + there.size()) - 2 * shared;
}

std::int32_t Comparison::weighted(std::int32_t other) const {
  const auto here = static_cast<std::int32_t>(packed_.sets().of(record_).size()),
             there = static_cast<std::int32_t>(packed_.sets().of(other).size());
  const std::int32_t shared = (here + there - distance(other)) / 2;
  return (here - shared) * packed_.weight(record_) + (there - shared) * packed_.weight(other);
}

}  // namespace shoal
