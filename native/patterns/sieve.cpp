#include "patterns/sieve.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t block = 3;
constexpr std::size_t worthwhile = 4;  // questions for each set that is counted

Columns columns_from(std::size_t begin, std::size_t columns) {
  Columns set = 0;
  for (std::size_t c = begin; c < std::min(begin + block, columns); ++c) set |= Columns{1} << c;
  return set;
}

// The bits of `within`, moved together, and back.
std::size_t gathered(Columns kept, Columns within) {
  std::size_t number = 0;
  for (std::size_t place = 0; within != 0; within &= within - 1, ++place)
    if (kept & within & (~within + 1)) number |= std::size_t{1} << place;
  return number;
}
Columns spread(std::size_t number, Columns within) {
  Columns kept = 0;
  for (; within != 0; within &= within - 1, number >>= 1)
    if (number & 1) kept |= within & (~within + 1);
  return kept;
}

}  // namespace

Sieve::Sieve(const Projections& projections, std::int64_t k, std::size_t questions)
    : rows_(projections.rows()), words_((projections.rows() + 63) / 64) {
  std::size_t sets = 0;
  for (std::size_t a = 0; a < projections.columns(); a += block)
    for (std::size_t b = a + block; b < projections.columns(); b += block) {
      const Columns columns = columns_from(a, projections.columns()) | columns_from(b, projections.columns());
      pairs_.push_back({columns, sets});
      sets += std::size_t{1} << std::popcount(columns);
    }
  if (questions < worthwhile * sets) pairs_.clear();
  if (pairs_.empty()) return;
  passed_.resize(sets * words_);
  share(sets, 1, [&] {
    return [this, &projections, k, counter = Counter()](std::size_t set) mutable {
      const auto pair = std::prev(std::upper_bound(pairs_.begin(), pairs_.end(), set,
                                                   [](std::size_t s, const Pair& p) { return s < p.first; }));
      const Columns kept = spread(set - pair->first, pair->columns);
      for (const std::int32_t row : counter.frequent(projections, kept, k))
        passed_[set * words_ + at(row) / 64] |= std::uint64_t{1} << (row % 64);
    };
  });
}

std::vector<std::int32_t> Sieve::rows(Columns kept) const {
  std::vector<std::int32_t> found;
  if (pairs_.empty()) {
    found.resize(rows_);
    std::iota(found.begin(), found.end(), 0);
    return found;
  }
  std::vector<const std::uint64_t*> passed;
  for (const Pair& pair : pairs_)
    passed.push_back(passed_.data() + (pair.first + gathered(kept, pair.columns)) * words_);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t bits = ~std::uint64_t{0};
    for (const std::uint64_t* each : passed) bits &= each[word];
    for (; bits != 0; bits &= bits - 1)
      found.push_back(static_cast<std::int32_t>(64 * word) + std::countr_zero(bits));
  }
  return found;
}

}  // namespace shoal
