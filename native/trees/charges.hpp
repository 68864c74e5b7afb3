// Divides what the rungs of ladders cost among the records that need them, to bound what a crowd costs.
//
// A crowd of m records pays for each rung that one of them needs. Let each record be charged something for
// each rung that it needs, so that no m records together are charged more for a rung than it costs. Then a
// crowd costs at least what its records are charged, and what it costs minus the prices of its records is at
// least minus the sum of the m highest values, where the value of a record is its price minus its charges.
//
// Example: m = 2, a rung costs 0.1, and three records need it; their prices are 0.3, 0.1 and 0.1. If each is
// charged 0.05, the two highest values are 0.25 and 0.05: crowds cost at least -0.3. If the first one is
// charged all, they are 0.2 and 0.1, which is no better here; but if other rungs can bear the prices of the
// other two, the first one needs it more. Sweeps over all rungs find out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

class Charges {
 public:
  // Begins anew, without charges. `uses` has pairs of a rung and a record that needs it; a crowd has `most`
  // records, counted with their copies.
  void begin(std::span<const double> prices, std::span<const double> copies, std::span<const double> costs,
             std::span<const std::pair<std::int32_t, std::int32_t>> uses, double most);

  // Charges anew for each rung in turn, so that values above the threshold become more equal.
  void sweep(double threshold, bool backwards);

  const std::vector<double>& values() const { return values_; }
  // What some records are charged together for each rung, if each is there as often as `times` says.
  void charged(std::span<const double> times, std::vector<double>& sums) const;

 private:
  struct Level {
    double each, above;  // each is charged up to `each`, and what is higher than both together
  };
  void charge(std::size_t rung, double threshold);
  Level level(double cost) const;
  Level shared_level(double cost, double alone) const;

  double most_ = 0.0;
  std::vector<double> values_, copies_, costs_;
  std::vector<std::size_t> starts_;  // of each rung in the next two
  std::vector<std::int32_t> users_;
  std::vector<double> charges_;
  std::vector<std::pair<double, double>>
      excess_;  // of the users of a rung: value above the threshold, copies
};

}  // namespace shoal
