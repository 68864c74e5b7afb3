// Which records lie in which boxes: a graph that is searched and counted without listing its edges.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attacks/extents.hpp"
#include "base/numbers.hpp"
#include "trees/live_tree.hpp"

namespace shoal {

struct Counts {
  std::vector<std::int64_t> boxes_of_record;  // how many boxes, by their copies, contain each record
  std::vector<std::int64_t> records_of_box;   // how many records, by their copies, lie in each box
};

// Of the boxes that contain each record, by their copies:
struct LabelCounts {
  std::vector<std::int64_t> boxes;     // how many there are
  std::vector<std::int64_t> most;      // how many have the most frequent label
  std::vector<std::int64_t> distinct;  // how many different labels they have
  std::vector<double> logs;            // the sum of c log c over labels, c of them each
};

// The records in each box: those of the i-th are in the stretches from starts[i] to starts[i + 1] - 1. A
// stretch is one of places in the tree of records; those of a box are ascending, and apart.
struct Stretches {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> begins, ends;
};

// Records and boxes, each standing for a number of copies, with an edge wherever a record lies in a box.
// Both are numbered by place in a tree, except in arguments and results of the public functions.
//
// Example: records of the ages 20 (twice) and 30; boxes 18..25 and 15..40. The edges are 20 - 18..25, 20
// - 15..40 and 30 - 15..40, so count() finds 2 boxes around 20 and 1 around 30, and 2 records in the first
// box and 3 in the second.
class ConsistencyGraph {
 public:
  // records: row-major codes; boxes: row-major numbers of values, one for each attribute. The graph refers to
  // both, and to the attributes.
  ConsistencyGraph(std::span<const std::int32_t> records, std::span<const std::int64_t> record_copies,
                   std::span<const std::int32_t> boxes, std::span<const std::int64_t> box_copies,
                   const std::vector<Values>& attributes);

  LiveTree& records() { return *records_; }
  LiveTree& boxes() { return *boxes_; }
  const LiveTree& records() const { return *records_; }
  const LiveTree& boxes() const { return *boxes_; }
  const std::vector<std::int64_t>& record_copies() const { return record_copies_; }
  const std::vector<std::int64_t>& box_copies() const { return box_copies_; }

  bool has_edge(std::int32_t record, std::int32_t box) const {
    return boxes_->meet(records_->extents(record), boxes_->extents(box)) && in_sets(record, box);
  }

  // Calls visit(box) for each box with one of the marks around a record, or visit(record) for each record
  // with one of them in a box, until it returns true.
  template <typename Visit>
  void search_boxes(std::int32_t record, std::uint64_t marks, const Visit& visit) {
    boxes_->search(records_->extents(record), marks,
                   [&](std::int32_t box) { return in_sets(record, box) && visit(box); });
  }
  template <typename Visit>
  void search_records(std::int32_t box, std::uint64_t marks, const Visit& visit) {
    records_->search(boxes_->extents(box), marks,
                     [&](std::int32_t record) { return in_sets(record, box) && visit(record); });
  }

  // The boxes around a record, both by their original numbers. Thread-safe, each thread with its own list
  // of nodes to visit.
  std::vector<std::int32_t> boxes_around(std::int32_t record, std::vector<std::int32_t>& waiting) const;

  // Calls visit(begin, end) for stretches of places in the tree of records that together are the records in a
  // box, which is given by its place. Thread-safe in the same way.
  template <typename Visit>
  void visit_stretches_in(std::int32_t box, std::vector<std::int32_t>& waiting, const Visit& visit) const {
    records_->search_stretches(
        boxes_->extents(box), inner_extents(box), waiting,
        [&](std::int32_t record) { return in_sets(record, box); }, visit);
  }

  // All edges, counted at both ends, in the original order of records and boxes. On all cores. If an
  // attribute is unknown, boxes contain all its codes.
  Counts count(std::optional<std::size_t> unknown = {}) const;

  // The labels 0 .. size - 1 of the boxes around each record; records and boxes in their original order. On
  // all cores.
  LabelCounts count_labels(std::span<const std::int32_t> labels, std::int32_t size) const;

  // All edges, as stretches of neighbouring records; boxes in their original order. On all cores.
  Stretches stretches() const;

 private:
  class Counter;
  class LabelCounter;

  // The remaining check when all extents meet.
  bool in_sets(std::int32_t record, std::int32_t box) const {
    return doubtful_.empty() || in_doubtful_sets(record, box);
  }
  bool in_doubtful_sets(std::int32_t record, std::int32_t box, std::optional<std::size_t> unknown = {}) const;
  // An extent within these holds only codes of the box.
  const Cell* inner_extents(std::int32_t box) const {
    if (doubtful_.empty()) return boxes_->extents(box);
    return inner_.data() + at(box) * columns_;
  }

  std::span<const std::int32_t> codes_, values_;
  const std::vector<Values>& attributes_;
  std::size_t columns_ = 0;
  std::vector<std::size_t> doubtful_, attribute_of_;
  std::vector<Cell> inner_;
  std::optional<LiveTree> records_, boxes_;
  std::vector<std::int64_t> record_copies_, box_copies_;
};

}  // namespace shoal
