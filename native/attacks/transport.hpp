// Copies of records sent to copies of boxes, along the edges of one component and at most so much on each.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attacks/exact_links.hpp"
#include "base/numbers.hpp"

namespace shoal {

// A flow in whole units, of which each copy of a record sends `scale` and each copy of a box takes `scale`.
// Records and boxes have numbers of their own in the component; `record_of` says which record one is.
//
// Example: two records and two boxes, all edges there, t = 1/2 and scale = 2: a unit on each edge.
class Transport {
 public:
  Transport(const Neighbourhoods& graph, std::span<const std::int32_t> boxes);

  std::size_t records() const { return record_copies_.size(); }
  std::size_t boxes() const { return box_copies_.size(); }
  std::size_t edges() const { return box_of_.size(); }
  std::int32_t record_of(std::size_t record) const { return places_[record]; }
  std::int32_t record_at(std::size_t edge) const { return record_at_[edge]; }
  std::int32_t box_at(std::size_t edge) const { return box_of_[edge]; }
  std::int64_t flow(std::size_t edge) const { return flow_[edge]; }
  std::int64_t scale() const { return scale_; }

  // The largest lower bound for t that follows from a single record or box.
  std::pair<std::int64_t, std::int64_t> bound() const;

  // Sends as much as possible with at most t = numerator / denominator between two copies, beginning with
  // `shares` of copies on each edge. True if all boxes are served.
  bool send(std::int64_t numerator, std::int64_t denominator, const std::vector<double>& shares);

  // After `send` failed: the quotient of the minimum cut, a larger lower bound for t; {1, 0} if there is no
  // edge across the cut, so that no t is enough.
  std::pair<std::int64_t, std::int64_t> cut();

  // What each edge carries, in copies.
  std::vector<double> shares() const;

  // Shares of copies, nearly as even as possible with at most t on each edge: proportional fitting.
  std::vector<double> even_shares(double t) const;

 private:
  std::int64_t pairs(std::size_t edge) const {
    return record_copies_[at(record_at_[edge])] * box_copies_[at(box_of_[edge])];
  }
  void set_capacities(std::int64_t numerator, std::int64_t denominator);
  bool lay_out();
  void augment_from(std::size_t record);

  std::vector<std::int32_t> places_;
  std::vector<std::int64_t> record_copies_, box_copies_;
  std::vector<std::size_t> first_, first_of_box_;  // of each record's edges; of each box's in edges_of_box_
  std::vector<std::int32_t> record_at_, box_of_;   // of each edge
  std::vector<std::size_t> edges_of_box_;
  std::int64_t scale_ = 1;
  std::vector<std::int64_t> capacity_, flow_;
  std::vector<std::int64_t> to_send_, to_take_;
  std::vector<std::int32_t> record_layer_, box_layer_;
  std::vector<std::size_t> next_of_record_, next_of_box_;
  std::vector<std::size_t> path_;  // edges, forward and backward in turn
};

}  // namespace shoal
