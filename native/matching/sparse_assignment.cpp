#include "matching/sparse_assignment.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr double kFar = kUnlimited;
constexpr int kPasses = 3;  // of bidding, before the searches

}  // namespace

const std::vector<std::int32_t>& SparseAssignment::solve(std::span<const std::int64_t> starts,
                                                         std::span<const Edge> edges, std::int32_t columns,
                                                         double slack) {
  starts_ = starts;
  slack_ = slack;
  edges_ = edges;
  const std::size_t rows = starts.size() - 1;
  column_of_.assign(rows, -1);
  paid_.assign(rows, 0.0);
  row_of_.assign(at(columns), -1);
  price_.assign(at(columns), 0.0);
  if (rows == at(columns)) {  // then no column stays free, and prices may differ from the beginning
    std::fill(price_.begin(), price_.end(), kFar);
    for (const Edge& edge : edges) price_[at(edge.column)] = std::min(price_[at(edge.column)], edge.cost);
  }
  distance_.assign(at(columns), kFar);
  from_.assign(at(columns), -1);
  done_.assign(at(columns), 0);
  dead_.assign(at(columns), 0);
  free_.resize(rows);
  std::iota(free_.begin(), free_.end(), 0);
  bid();
  const Turns turns(free_.size());
  for (std::size_t i = 0; i < free_.size(); ++i) {
    turns.done(i);
    pause();
    augment(free_[i]);
  }
  return column_of_;
}

// Rows take the column they prefer and lower its price by the margin of preference and the slack; the
// previous holder bids again.
void SparseAssignment::bid() {
  std::vector<std::int32_t> left;
  for (int pass = 0; pass < kPasses; ++pass) {
    left.clear();
    // Price wars between a few rows are left to the searches.
    std::int64_t bids = 20 * static_cast<std::int64_t>(column_of_.size());
    for (std::size_t next = 0; next < free_.size();) {
      pause_sometimes();
      const std::int32_t row = free_[next++];
      double best = kFar, second = kFar, cost = 0.0;
      std::int32_t column = -1;
      for (const Edge& edge : edges_of(row)) {
        const double reduced = edge.cost - price_[at(edge.column)];
        const bool spares = reduced == best && row_of_[at(column)] >= 0 && row_of_[at(edge.column)] < 0;
        if (reduced < best || spares) {  // among equal ones, a free column
          second = best;
          best = reduced;
          column = edge.column;
          cost = edge.cost;
        } else {
          second = std::min(second, reduced);
        }
      }
      looked_at_ += static_cast<std::int64_t>(edges_of(row).size());
      if (column < 0) {
        left.push_back(row);
        continue;
      }
      const std::int32_t holder = row_of_[at(column)];
      if (holder >= 0 && (!(second - best + slack_ > 0.0) || second == kFar || --bids < 0)) {
        left.push_back(row);
        continue;
      }
      if (second < kFar) price_[at(column)] -= second - best + slack_;
      row_of_[at(column)] = row;
      column_of_[at(row)] = column;
      paid_[at(row)] = cost;
      if (holder >= 0) {
        column_of_[at(holder)] = -1;
        free_[--next] = holder;
      }
    }
    std::swap(free_, left);
  }
}

// Reaches columns over a row; returns whether one of them is free and as near as any can be.
bool SparseAssignment::relax(std::int32_t row, double base) {
  for (const Edge& edge : edges_of(row)) {
    const std::size_t column = at(edge.column);
    ++looked_at_;
    if (done_[column] || dead_[column]) continue;
    const double way = std::max(nearest_, base + edge.cost - price_[column]);
    if (way >= distance_[column]) continue;
    if (distance_[column] == kFar) reached_.push_back(edge.column);
    distance_[column] = way;
    from_[column] = row;
    if (way > nearest_) {
      heap_.emplace_back(way, edge.column);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    } else if (row_of_[column] < 0) {
      end_ = edge.column;
      return true;
    } else {
      ready_.push_back(edge.column);
    }
  }
  return false;
}

void SparseAssignment::augment(std::int32_t row) {
  heap_.clear();
  ready_.clear();
  reached_.clear();
  finished_.clear();
  nearest_ = 0.0;
  end_ = -1;
  // Distances start at the row's best reduced cost, so that the first column is at zero.
  double least = kFar;
  for (const Edge& edge : edges_of(row)) least = std::min(least, edge.cost - price_[at(edge.column)]);
  bool found = relax(row, -least);
  while (!found && !(ready_.empty() && heap_.empty())) {
    std::int32_t column;
    if (!ready_.empty()) {
      column = ready_.back();
      ready_.pop_back();
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      double way;
      std::tie(way, column) = heap_.back();
      heap_.pop_back();
      if (done_[at(column)] || way > distance_[at(column)]) continue;
      nearest_ = way;
    }
    if (done_[at(column)]) continue;
    const std::int32_t holder = row_of_[at(column)];
    if (holder < 0) {
      end_ = column;
      break;
    }
    done_[at(column)] = 1;
    finished_.push_back(column);
    found = relax(holder, nearest_ - (paid_[at(holder)] - price_[at(column)]));
  }
  if (end_ >= 0) {
    for (const std::int32_t column : finished_) price_[at(column)] += distance_[at(column)] - nearest_;
    for (std::int32_t column = end_, left; column >= 0; column = left) {
      const std::int32_t taker = from_[at(column)];
      left = column_of_[at(taker)];
      column_of_[at(taker)] = column;
      row_of_[at(column)] = taker;
      for (const Edge& edge : edges_of(taker))
        if (edge.column == column) paid_[at(taker)] = edge.cost;
    }
  }
  for (const std::int32_t column : reached_) {
    distance_[at(column)] = kFar;
    done_[at(column)] = 0;
    dead_[at(column)] = end_ < 0;
  }
}

}  // namespace shoal
