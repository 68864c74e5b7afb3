#include "matching/parts.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kSteps = 8;  // members of a row, and rows of a member, that growth follows

}  // namespace

std::vector<std::int32_t> rows_of(std::span<const std::int32_t> members, std::size_t degree) {
  std::vector<std::int32_t> rows(members.size());
  std::vector<std::size_t> filled(members.size() / degree, 0);
  for (std::size_t place = 0; place < members.size(); ++place) {
    const std::size_t record = at(members[place]);
    rows[record * degree + filled[record]++] = static_cast<std::int32_t>(place / degree);
  }
  return rows;
}

// Grows each part from one row over shared records; if there is no further row, from the next row in order.
std::vector<std::vector<std::int32_t>> parts(std::span<const std::int32_t> members, std::size_t degree,
                                             std::size_t most, RandomWords& random) {
  const std::size_t n = members.size() / degree;
  const std::vector<std::int32_t> rows_around = rows_of(members, degree);
  const std::size_t size = n <= most ? n : n / ((n + most - 1) / most) + 1;
  const std::size_t first = random.below(static_cast<std::uint32_t>(n));
  std::vector<std::vector<std::int32_t>> cut;
  std::vector<char> taken(n, 0);
  for (std::size_t next = 0; next < n;) {
    auto& part = cut.emplace_back();
    for (std::size_t done = 0; part.size() < size; ++done) {
      if (done == part.size()) {
        while (next < n && taken[(first + next) % n]) ++next;
        if (next == n) break;
        part.push_back(static_cast<std::int32_t>((first + next) % n));
        taken[(first + next) % n] = 1;
      }
      const std::int32_t* around = members.data() + at(part[done]) * degree;
      for (std::size_t i = 0; i < std::min(kSteps, degree); ++i) {
        const std::size_t slot = degree <= kSteps ? i : random.below(static_cast<std::uint32_t>(degree));
        const std::int32_t* rows = rows_around.data() + at(around[slot]) * degree;
        for (std::size_t j = 0; j < std::min(kSteps, degree) && part.size() < size; ++j)
          if (!taken[at(rows[j])]) {
            taken[at(rows[j])] = 1;
            part.push_back(rows[j]);
          }
      }
    }
    std::sort(part.begin(), part.end());
    if (part.empty()) cut.pop_back();
  }
  return cut;
}

}  // namespace shoal
