// Better covers by patterns: rows change from class to class while this lowers the cost.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "patterns/projection.hpp"
#include "patterns/sieve.hpp"
#include "patterns/varied_rows.hpp"

namespace shoal {

// A class consists of at least k rows with the same pattern that look the same under it.
//
// Example: k = 2. The rows (1, 5), (1, 5), (1, 6) and (1, 7) all show column 0 only. The first two can open
// a class that shows both columns: each saves one cell, and the other two rows are still k.
class PatternSearch {
 public:
  // `kept` are the columns that each pattern keeps, cheapest first, `costs` what a row costs under each.
  // `pattern_of` is the pattern of each row, or -1 if it is left over: such rows cost `beyond`. Classes that
  // are varied as asked stay so.
  PatternSearch(std::span<const std::int32_t> codes, std::size_t rows, std::span<const Columns> kept,
                std::span<const double> costs, double beyond, std::int64_t k,
                std::span<const std::int32_t> pattern_of, VariedRows varied = {});

  // Tries, under each pattern from `begin` to before `end`, to open classes or to let them grow: with the
  // rows that gain, and as many others as k requires. Returns how often this lowered the cost.
  std::int64_t sweep(std::size_t begin, std::size_t end);

  double cost() const;
  std::vector<std::int32_t> pattern_of() const;

 private:
  struct Class {
    std::int32_t pattern;  // -1: left over
    std::vector<std::int32_t> members;
    bool receives = false, closes = false;  // in the planned move
  };
  struct Target {  // the rows that look the same under a pattern: all of them could be one class
    std::int32_t pattern;
    std::vector<std::int32_t> rows;
  };
  struct Source {  // a class that has some of these rows
    std::int32_t of;
    std::vector<std::int32_t> rows;
    std::size_t taken = 0;  // the first rows, this many, are taken
  };
  struct Move {
    std::int32_t row, to;
  };

  std::vector<Target> targets(std::int32_t pattern, Counter& counter) const;
  bool attempt(const Target& target);
  std::vector<Source> sources(const Target& target, std::int32_t own);
  double hope(std::vector<Source>& giving, double cost, std::int64_t rows);
  double plan(std::vector<Source>& giving, double cost, std::int64_t rows, std::vector<Move>& homes);
  double take_all(Source& source, double saved, std::vector<Move>& homes);
  double fill_up(std::vector<Source>& sources, double cost, std::int64_t need);
  bool stay_varied(const std::vector<Source>& giving, const std::vector<Move>& homes, std::int32_t own) const;
  std::int32_t find(std::int32_t pattern, std::int32_t row) const;
  std::int32_t home(std::int32_t row) const;
  void move(Move step);
  double price(const Class& group) const;
  std::int64_t size(std::int32_t of) const;

  Projections projections_;
  std::vector<Columns> kept_;
  std::vector<double> costs_;
  double beyond_;
  std::int64_t k_;
  VariedRows varied_;
  Sieve sieve_;
  std::vector<Class> classes_;  // the first is that of rows that are left over
  std::vector<std::int32_t> vacant_;
  std::vector<std::int32_t> class_of_, place_;  // of each row, and where it stands among the members
  std::vector<double> price_;                   // of each row
  std::unordered_multimap<std::uint64_t, std::int32_t> known_;  // classes by pattern and hash
  std::vector<std::int32_t> open_;                              // classes of each pattern
  std::set<std::int32_t> in_use_;                               // patterns with a class
  std::vector<std::int32_t> source_of_;                         // of each class, while a move is planned
};

}  // namespace shoal
