// Refinement of a regular graph: rows exchange records wherever all of them together lose less then.
//
// The rows are cut into parts of rows near each other, anew and at random each time; every part is refined by
// itself, on all cores, and its rows exchange records only among themselves. What a part needs fits into the
// cache, and the result depends on the random key alone, not on the number of cores.
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

  // Lets every row give away each of its records in turn, for that of another row that saves most, if any
  // does. Returns how many exchanges were made; each lowers the cost with that foresight (see Neighbourhood),
  // so without foresight each lowers the cost.
  std::int64_t exchange(double foresight, RandomWords& random);

  // Lets every row give away one record and take one of those that near rows gave away, all at once and at
  // the least cost together; repeated `times` times. At a temperature above zero costs are blurred by so
  // much, and the whole may cost more afterwards. Returns how many rows got another record.
  std::int64_t reassign(std::int32_t times, double temperature, RandomWords& random);

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
