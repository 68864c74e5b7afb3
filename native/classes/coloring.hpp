// Classes in which no record may have too many neighbours, that is, records whose sensitive values are
// close to its own; and exchanges between classes that achieve this at a low cost.
//
// Example: the classes {1, 2} and {8, 9} of sensitive values, where values within 1 are close and no
// neighbour is allowed. Each record has one neighbour too many: excess() is 4 and potential() is 2. If 2
// and 8 change places, the classes {1, 8} and {2, 9} have none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "classes/classes.hpp"
#include "classes/closeness.hpp"

namespace shoal {

class Coloring {
 public:
  // What an exchange is made for.
  enum class Goal : std::uint8_t {
    loss = 0,       // lower cost; records that have too many neighbours do not get more of them
    potential = 1,  // fewer pairs of neighbours; the record goes where it does not have too many
    careful = 2,    // the same, but it may take a neighbour's place; and the excess falls
    excess = 3,     // the excess falls
  };

  // `values` has the sensitive value of each record, `allowed` the number of neighbours that a record of
  // each class may have there. `owners`, if not empty, says whose record each is: no exchange gives an owner
  // more than 1 / least of a class. Classes and closeness must outlive this.
  Coloring(Classes& classes, const Closeness& close, std::span<const std::int32_t> values,
           std::span<const std::int32_t> allowed, std::span<const std::int32_t> owners, std::int32_t least);

  // Exchanges records that have too many neighbours, at most `most` times: first the one whose class saves
  // most without it, each in the way that costs least. Tries the few classes that fit a record best, then
  // more, and finally all, unless that failed many times in a row. With `cycles`, also tries cycles of
  // three. In a large table, several records search at the same time, on all cores. Returns the number of
  // exchanges.
  std::int64_t mend(Goal goal, std::size_t few, bool cycles, std::int64_t most);

  // Algorithm 2 of the paper on XColor as printed, lines 5 to 11: of all records with too many neighbours,
  // the one without which its class loses least changes places with that of all exchangeable records
  // (Definition 15) with which both classes together lose least; among equals the first. Ends if nothing is
  // left to do, after `most` exchanges, or if no record is exchangeable. Returns the number of exchanges. O(n
  // k) each.
  std::int64_t mend_as_printed(std::int64_t most);

  // Goes once through all records and makes the exchanges that lower the cost. On all cores.
  std::int64_t sweep(std::size_t few, bool cycles);

  // Makes each of these classes differ from all others in what it shows, by the exchange that costs least;
  // returns the number of classes that changed.
  std::int64_t part(std::span<const std::int32_t> classes, std::size_t few);

  std::int64_t potential() const { return potential_; }  // pairs of neighbours in the same class
  std::int64_t excess() const { return excess_; }  // neighbours above the limit, summed over all records
  const std::vector<std::int32_t>& neighbours() const { return neighbours_; }  // of each record in its class

 private:
  struct Effect {
    std::int64_t pairs = 0, excess = 0;
  };
  struct Change {
    double cost;
    std::array<std::int32_t, 3> records{-1, -1,
                                        -1};  // each takes the place of the next, the last of the first
    bool found() const { return records[1] >= 0; }
    std::size_t size() const { return records[2] < 0 ? 2 : 3; }
  };
  struct Candidates {
    UnionTree::Nearby nearby, further;
    std::vector<std::pair<double, std::int32_t>> ways;
  };

  // How far to look for an exchange.
  struct Scope {
    std::size_t few;
    bool cycles, everywhere;
  };

  Change best_exchange(std::int32_t record, Goal goal, Scope scope, Candidates& own) const;
  void try_pairs(std::int32_t record, std::int32_t to, Goal goal, Change& best) const;
  Change printed_exchange(std::int32_t record) const;
  void try_cycles(std::int32_t record, std::int32_t to, Goal goal, std::size_t few, Candidates& own,
                  Change& best) const;
  bool accepts(Goal goal, const Change& change) const;
  bool keeps_apart(const Change& change) const;
  std::int64_t pairs(std::int32_t record, std::int32_t other, std::int32_t near_there) const;
  Effect effect(std::int32_t number, std::int32_t out, std::int32_t in) const;
  double growth(std::int32_t number, std::int32_t out, std::int32_t in) const;
  std::int32_t neighbours_in(std::int32_t number, std::int32_t record) const;
  void alike(std::int32_t number, std::vector<std::vector<std::int32_t>>& groups) const;
  std::pair<std::int32_t, std::int32_t> harmless(const std::vector<std::int32_t>& some,
                                                 const std::vector<std::int32_t>& others) const;
  void make(const Change& change);
  void count(std::int32_t number);
  void gather(std::int32_t number);
  std::int32_t class_of(std::int32_t record) const { return classes_.class_of()[at(record)]; }
  class Waiting;

  bool violates(std::int32_t record) const;

  Classes& classes_;
  const Closeness& close_;
  std::span<const std::int32_t> values_, allowed_, owners_;
  std::size_t least_;
  std::vector<std::int32_t> neighbours_;
  // The values of each class, in the order of its members: side by side, because searches look at very many
  // classes, and would otherwise wait for memory with every record. Classes keep their sizes.
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> of_class_;
  std::vector<std::int64_t> changed_;  // per class, when it changed last
  std::int64_t now_ = 0, potential_ = 0, excess_ = 0;
};

}  // namespace shoal
