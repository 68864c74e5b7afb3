// Random assignments: perfect matchings of a regular bipartite graph, found by random walks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// A stream of random words that nobody can continue without its key: ChaCha with 12 rounds (Bernstein 2008).
class RandomWords {
 public:
  explicit RandomWords(std::span<const std::uint64_t> key);  // four words

  std::uint32_t below(std::uint32_t bound);  // uniform in 0 .. bound - 1

 private:
  void refill();

  std::array<std::uint32_t, 16> state_, block_;
  std::size_t used_ = 16;
};

// Decomposes a graph in which each of n boxes has `degree` records, and each record lies in `degree` boxes,
// into disjoint assignments one after the other, and returns the one with number `which`: for each box, the
// record it gets. `members` is row-major, boxes x degree. Every assignment is completed by random walks from
// one free record after the other (Goel, Kapralov and Khanna 2013; Xue et al. 2012, Section 4.2): O(n log n)
// expected.
std::vector<std::int32_t> random_assignment(std::span<const std::int32_t> members, std::int32_t degree,
                                            std::int32_t which, RandomWords& random);

}  // namespace shoal
