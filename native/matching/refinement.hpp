// Refinement of a regular graph: rows exchange records wherever this reduces their total cost.
//
// Example: two rows cover the ages {20, 60} and {21, 61} and cost 0.4 each. If they exchange 60 and 21,
// they cover {20, 21} and {60, 61} and cost 0.01 each.
//
// The rows are cut into parts of near rows, anew and at random each time. Each part is refined
// independently, on all cores, and its rows exchange records only among themselves. The data of a part fits
// into the cache, and the result depends on the random key alone, not on the number of cores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random_words.hpp"
#include "base/space.hpp"

namespace shoal {

class Refinement {
 public:
  // `codes` is row-major, records x attributes; `members` is row-major, rows x degree, and every record
  // stands in as many rows as a row has records. Rows with near numbers should be near each other. `owners`,
  // if not empty, says whose record each is; no row has two records of one owner, and none will.
  Refinement(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
             std::vector<std::int32_t> members, std::int32_t degree,
             std::span<const std::int32_t> owners = {});

  // Lets every row exchange each of its records in turn with the row where this saves most, if any, among
  // the rows around `looks` near records. Returns the number of exchanges; each lowers the cost with that
  // foresight (see Neighbourhood), so without foresight each lowers the cost.
  std::int64_t exchange(double foresight, std::int32_t looks, RandomWords& random);

  // Lets every row give away one record and take one of those that near rows gave away, all at once and at
  // the least total cost; repeated `times` times. Half of the times at random, all rows give away a piece of
  // two to `most` similar records instead, at most half of their own (rounded up). At a temperature above
  // zero, costs get random noise of that size, and the total may rise. Returns the number of rows that got
  // other records.
  std::int64_t reassign(std::int32_t times, double temperature, std::int32_t most, RandomWords& random);

  double cost() const;  // of all rows together
  const std::vector<std::int32_t>& members() const { return members_; }

 private:
  template <typename Work>
  std::int64_t refine_parts(double foresight, RandomWords& random, const Work& work);

  std::span<const std::int32_t> codes_, owners_;
  const std::vector<Attribute>& attributes_;
  std::vector<std::int32_t> members_;
  std::size_t degree_;
  std::vector<double> costs_;  // per row
};

}  // namespace shoal
