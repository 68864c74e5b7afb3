// A random assignment of records to rows with varied labels in every crowd, drawn without changing any row.
//
// Example: rows {1, 2}, {2, 3}, {3, 4} and {4, 1} over records with the labels a, b, a, b. Each record lies
// in two rows, which should carry different labels. Both assignments of the graph keep that: each is drawn
// with probability 1/2. With the labels a, a, b, b neither does, and the search ends with violated crowds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/random_words.hpp"
#include "base/variety.hpp"

namespace shoal {

// Which crowds a row counts in, and with what weight: the rows of a unit show the same and count in the same
// crowds, `crowds[starts[unit] .. starts[unit + 1]]`, ascending.
struct Incidence {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> crowds;
  std::span<const double> weights;
  // A record that each crowd surrounds. The search changes the rows of that record first.
  std::span<const std::int32_t> around;
};

// One sensitive column. If `own` is not empty, only the labels `own[own_starts[crowd] ..]` count in a crowd.
struct DrawnColumn {
  std::span<const std::int32_t> labels;
  Variety asked;
  std::span<const std::int64_t> own_starts;
  std::span<const std::int32_t> own;  // ascending in each crowd
};

// With which probability x a row of each unit carries a record of each type. Records of one type are equal,
// and so are rows of one unit. Units of type t are `units[starts[t] .. starts[t + 1]]`, ascending; `shares`
// are x for each single row and record. The x of a row, and of a record, add up to 1.
struct Shares {
  std::span<const std::int32_t> type_of;  // per record
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> units;
  std::span<const double> shares;
};

// The target distribution gives each assignment a weight of the product of its x if no crowd is violated, and
// 0 otherwise. If all x are equal, all valid assignments are equally likely.
class DiverseDraw {
 public:
  DiverseDraw(const Shares& shares, std::span<const std::int32_t> unit_of_row, const Incidence& incidence,
              std::vector<DrawnColumn> columns, std::span<const std::int32_t> record_of);

  // The number of violated crowds, and the total by which they miss the requirement.
  std::int64_t violated() const { return static_cast<std::int64_t>(violated_.size()); }
  const std::vector<std::int32_t>& violated_crowds() const { return violated_; }
  double shortfall() const;

  // Changes rows of violated crowds until none is left or `steps` are done; returns violated().
  std::int64_t search(std::int64_t steps, RandomWords& random);
  // Makes `steps` moves anywhere: each rotates records along a random alternating cycle, and is accepted
  // as Metropolis and Hastings do. An assignment whose crowds miss the requirement by one row is e^price
  // times less likely than a valid one, so crowds may be violated afterwards.
  void mix(std::int64_t steps, double price, RandomWords& random);

  const std::vector<std::int32_t>& record_of() const { return record_of_; }

 private:
  struct Tally {
    std::vector<std::pair<std::int32_t, double>> counts;  // label, weight; ascending
    double excess = 0.0, logs = 0.0;
  };

  // What a crowd misses depends on these alone, besides its size.
  struct Sums {
    double excess, logs;
    std::int64_t distinct;
  };
  // A row of a unit that can carry the records of some type.
  struct Edge {
    double reached;  // the probability of this unit or one before
    double share;    // x, of each row of the unit
    std::int32_t unit;
  };
  // What a row carries, and which rows can carry the same, in one place: moves go from row to row at random,
  // and most of their time is waiting for memory.
  struct alignas(32) Carried {
    std::int32_t record;
    std::int32_t count;  // of edges, from `begin` on
    std::int64_t begin;
    double sum;          // of their x
    double share = 0.0;  // x of the record and this row
  };
  // A row that a record may go to.
  struct Place {
    std::int32_t row;
    double share;  // x
  };
  // A row of the cycle, by its number there, and with what weight it counts in some crowd.
  struct Part {
    std::size_t row;
    double weight;
  };

  void count_labels(std::size_t column);
  bool propose(std::int32_t row, std::uint32_t length, RandomWords& random);
  bool step(std::int32_t row, double price, RandomWords& random);
  void find_changes();
  template <typename Visit>
  void visit_crowds(const Visit& visit);
  bool rotates(double ratio, double price, RandomWords& random);
  // The record that a row of the cycle gets: that of the row before.
  std::int32_t before(std::size_t row) const { return moving_[(row == 0 ? moving_.size() : row) - 1]; }
  double rotate(bool back);
  double carry(std::int32_t row, std::int32_t before, std::int32_t after);
  double change(std::int32_t crowd, double weight, std::int32_t before, std::int32_t after);
  void add(std::size_t column, std::int32_t crowd, std::int32_t label, double weight);
  double moved(Sums& sums, std::size_t column, std::int32_t crowd, double before, double weight) const;
  bool alike(std::int32_t record, std::int32_t other) const;
  bool counts(const DrawnColumn& column, std::int32_t crowd, std::int32_t label) const;
  double miss(std::int32_t crowd) const;
  double miss(std::int32_t crowd, const std::vector<Part>& parts);
  double miss(const Variety& asked, std::int32_t crowd, const Sums& sums) const;
  double excess(const DrawnColumn& column, std::int32_t crowd, double weight) const;
  void renew();
  void mark(std::int32_t crowd);
  Carried described(std::int32_t record) const;
  double share(const Carried& carried, std::int32_t row) const;
  Place any_row(const Carried& carried, RandomWords& random) const;
  void settle();
  std::uint32_t length(RandomWords& random) const;

  std::int32_t rows_;
  Shares shares_;
  double largest_ = 0.0;     // x
  std::vector<Edge> edges_;  // as `shares_` has them
  bool single_;              // every row is a unit by itself, with the same number
  std::span<const std::int32_t> unit_of_;
  std::vector<std::int32_t> unit_starts_, unit_rows_;
  Incidence incidence_;
  std::vector<DrawnColumn> columns_;
  std::vector<std::int32_t> record_of_;
  std::vector<Carried> carried_;             // per row
  std::vector<std::vector<Tally>> tallies_;  // per column and crowd
  std::vector<double> sizes_;                // per crowd: the weight of all its rows
  std::vector<double> misses_;               // per crowd
  std::vector<std::int32_t> violated_, place_;
  std::vector<std::int32_t> cycle_;   // rows
  std::vector<std::int32_t> seen_;    // per row: the last proposal that visited it
  std::vector<std::int32_t> moving_;  // records that the rows of the cycle had
  std::vector<double> going_;         // x of each of these and the next row
  std::vector<std::size_t> changes_;  // rows of the cycle that get other labels
  std::vector<std::pair<std::size_t, std::size_t>>
      heads_;  // where the crowds of each of these go on, and end
  std::vector<Part> parts_;
  std::vector<std::pair<std::int32_t, double>> net_;  // label, what is added to its weight
  std::int32_t turn_ = 0;
};

}  // namespace shoal
