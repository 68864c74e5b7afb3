// The labels on the rows that cover each record, kept up to date while rows grow.
//
// Example: the rows 20..25 with the label `flu` and 20..30 with the label `asthma` cover a record 22. They
// count as {flu: 1, asthma: 1} around it. If a row 28..30 with the label `flu` grows around the record, add()
// makes this {flu: 2, asthma: 1}, around all records that the row covers only now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/variety.hpp"
#include "rows/bonds.hpp"
#include "rows/own_rows.hpp"

namespace shoal {

// Equal records are covered by the same rows: a type stands for them, the first of them.
class LabelCrowds {
 public:
  // `columns` are the labels of each row. With bonds, a row counts only around records of its own component.
  LabelCrowds(const OwnRows& rows, Bonds* bonds, const std::vector<std::vector<std::int32_t>>& columns,
              const Variety& asked);

  // How far the labels around a type are from the requirement; 0 if no row counts there.
  double miss(std::int32_t type);
  // Whether the label of a row would bring them nearer to it; after miss(type).
  bool mends(std::int32_t type, std::int32_t row);
  // Whether a row counts around a type.
  bool counts(std::int32_t type, std::int32_t row) const;
  // A row grew, and covers these types only now.
  void add(std::int32_t row, std::span<const std::int32_t> types);

 private:
  struct Around {
    std::int64_t rows = 0;
    std::vector<std::int32_t> apart;  // rows that cover the type, but were in another component
    bool known = false;               // whether `miss` is up to date
    double miss = 0.0;
  };

  bool together(std::int32_t row, std::int32_t type) const { return !bonds_ || bonds_->together(row, type); }
  void count(std::int32_t type, std::int32_t row);
  void join(std::int32_t type);
  double miss_with(std::int32_t type, std::int32_t row) const;

  const OwnRows& rows_;
  Bonds* bonds_;
  const std::vector<std::vector<std::int32_t>>& columns_;
  Variety asked_;
  std::vector<std::vector<Crowd>> crowds_;  // per column and type
  std::vector<Around> around_;              // per type
  // Of the type that was asked for last, with one column: for each label, whether it mends.
  struct Answer {
    std::int64_t turn = 0;
    bool mends = false;
  };
  std::vector<Answer> answers_;
  std::int64_t turn_ = 1;
};

}  // namespace shoal
