#include "attacks/maximum_matching.hpp"

#include <algorithm>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

// Copies of records matched with copies of boxes, and what is left of both.
class Flow {
 public:
  explicit Flow(ConsistencyGraph& graph)
      : graph_(graph), records_left_(graph.record_copies()), boxes_left_(graph.box_copies()),
        first_of_record_(records_left_.size(), -1), first_of_box_(boxes_left_.size(), -1) {}

  void take(const Matched& start) {
    for (std::size_t i = 0; i < start.copies.size(); ++i) {
      const std::int32_t record = graph_.records().place_of(start.records[i]);
      const std::int32_t box = graph_.boxes().place_of(start.boxes[i]);
      const std::int64_t copies =
          std::min({start.copies[i], records_left_[at(record)], boxes_left_[at(box)]});
      if (copies > 0 && graph_.has_edge(record, box)) match(record, box, copies);
    }
  }

  // Gives each record the first boxes found that have copies left.
  void take_greedily() {
    std::vector<std::uint64_t> marks(boxes_left_.size());
    for (std::size_t box = 0; box < marks.size(); ++box) marks[box] = boxes_left_[box] > 0 ? kThere : 0;
    graph_.boxes().mark_each(marks);
    for (std::int32_t record = 0; record < graph_.records().size(); ++record) {
      if (records_left_[at(record)] == 0) continue;
      graph_.search_boxes(record, kThere, [&](std::int32_t box) {
        match(record, box, std::min(records_left_[at(record)], boxes_left_[at(box)]));
        if (boxes_left_[at(box)] == 0) graph_.boxes().remove(box);
        return records_left_[at(record)] == 0;
      });
    }
  }

  // Augments along shortest paths until there are none of that length; false if there are none at all.
  bool augment() {
    tidy();
    if (!lay_out()) return false;
    next_of_box_ = first_of_box_;
    for (std::int32_t record = 0; record < graph_.records().size(); ++record)
      if (records_left_[at(record)] > 0 && record_layer_[at(record)] == 0) augment_from(record);
    return true;
  }

  // What is matched, numbered as records and boxes came into the graph.
  Matched matched() {
    tidy();
    Matched all;
    for (const Pair& pair : pairs_) {
      all.records.push_back(graph_.records().order()[at(pair.record)]);
      all.boxes.push_back(graph_.boxes().order()[at(pair.box)]);
      all.copies.push_back(pair.copies);
    }
    return all;
  }

 private:
  struct Pair {
    std::int32_t record, box;
    std::int32_t next_of_record, next_of_box;  // in lists of all pairs of the same record or box
    std::int64_t copies;
  };

  void match(std::int32_t record, std::int32_t box, std::int64_t copies) {
    records_left_[at(record)] -= copies;
    boxes_left_[at(box)] -= copies;
    add({record, box, -1, -1, copies});
  }

  void add(Pair pair) {
    pair.next_of_record =
        std::exchange(first_of_record_[at(pair.record)], static_cast<std::int32_t>(pairs_.size()));
    pair.next_of_box = std::exchange(first_of_box_[at(pair.box)], static_cast<std::int32_t>(pairs_.size()));
    pairs_.push_back(pair);
  }

  // Forgets pairs without copies.
  void tidy() {
    std::vector<Pair> all = std::move(pairs_);
    pairs_.clear();
    std::fill(first_of_record_.begin(), first_of_record_.end(), -1);
    std::fill(first_of_box_.begin(), first_of_box_.end(), -1);
    for (const Pair& pair : all)
      if (pair.copies > 0) add(pair);
  }

  // A path goes from a record with copies left to a box around it, from there to a record it is matched
  // with, and so on to a box with copies left: layer 0 of records, layer 0 of boxes, layer 1 of records,
  // ... Layers are built forward from the records with copies left and backward from the boxes with copies
  // left, always from the smaller front, until they meet: two small balls contain much less than one of
  // twice the radius.
  bool lay_out() {
    graph_.records().mark_all(kThere);
    graph_.boxes().mark_all(kThere);
    record_layer_.assign(records_left_.size(), -1);
    box_layer_.assign(boxes_left_.size(), -1);
    record_distance_.assign(records_left_.size(), -1);
    box_distance_.assign(boxes_left_.size(), -1);
    std::vector<std::int32_t> onward, backward;
    for (std::size_t record = 0; record < records_left_.size(); ++record)
      if (records_left_[record] > 0) {
        record_layer_[record] = 0;
        onward.push_back(static_cast<std::int32_t>(record));
      }
    for (std::size_t box = 0; box < boxes_left_.size(); ++box)
      if (boxes_left_[box] > 0) {
        box_distance_[box] = 0;
        backward.push_back(static_cast<std::int32_t>(box));
      }
    std::int32_t layers = 0, distances = 0;  // laid so far
    bool met = false;
    while (!met) {
      if (onward.empty() || backward.empty()) return false;
      if (onward.size() <= backward.size())
        met = go_onward(onward, layers++);
      else
        met = go_backward(backward, distances++);
    }
    last_layer_ = layers + distances - 1;
    join(layers, distances);
    return true;
  }

  // From the records of a layer to the boxes of that layer and the records of the next.
  bool go_onward(std::vector<std::int32_t>& front, std::int32_t layer) {
    bool met = false;
    std::vector<std::int32_t> next;
    for (const std::int32_t record : front)
      graph_.search_boxes(record, kThere, [&](std::int32_t box) {
        graph_.boxes().remove(box);
        box_layer_[at(box)] = layer;
        met |= box_distance_[at(box)] >= 0;
        for (std::int32_t i = first_of_box_[at(box)]; i >= 0; i = pairs_[at(i)].next_of_box) {
          const std::int32_t other = pairs_[at(i)].record;
          if (record_layer_[at(other)] >= 0) continue;
          record_layer_[at(other)] = layer + 1;
          next.push_back(other);
        }
        return false;
      });
    front = std::move(next);
    return met;
  }

  // From the boxes at a distance from the end to the records at that distance and the boxes at the next.
  bool go_backward(std::vector<std::int32_t>& front, std::int32_t distance) {
    bool met = false;
    std::vector<std::int32_t> next;
    for (const std::int32_t box : front)
      graph_.search_records(box, kThere, [&](std::int32_t record) {
        graph_.records().remove(record);
        record_distance_[at(record)] = distance;
        met |= record_layer_[at(record)] >= 0;
        for (std::int32_t i = first_of_record_[at(record)]; i >= 0; i = pairs_[at(i)].next_of_record) {
          const std::int32_t other = pairs_[at(i)].box;
          if (box_distance_[at(other)] >= 0) continue;
          box_distance_[at(other)] = distance + 1;
          next.push_back(other);
        }
        return false;
      });
    front = std::move(next);
    return met;
  }

  // Turns distances into layers, drops what the last forward layer contains that is on no path, and marks
  // the boxes by their layers.
  void join(std::int32_t layers, std::int32_t distances) {
    for (std::size_t record = 0; record < record_layer_.size(); ++record) {
      if (record_distance_[record] >= 0)
        record_layer_[record] = last_layer_ - record_distance_[record];
      else if (record_layer_[record] == layers)
        record_layer_[record] = -1;
    }
    std::vector<std::uint64_t> marks(box_layer_.size(), 0);
    for (std::size_t box = 0; box < box_layer_.size(); ++box) {
      if (box_layer_[box] < 0 && box_distance_[box] >= 0)
        box_layer_[box] = last_layer_ - box_distance_[box];
      else if (box_layer_[box] == layers - 1 && box_distance_[box] != distances)
        box_layer_[box] = -1;
      if (box_layer_[box] >= 0) marks[box] = mark_of(box_layer_[box]);
    }
    graph_.boxes().mark_each(marks);
  }

  static std::uint64_t mark_of(std::int32_t layer) { return std::uint64_t{1} << (layer & 63); }

  // Depth-first along the layers, until the record has no copies left or no path.
  void augment_from(std::int32_t start) {
    path_.clear();
    std::int32_t record = start;
    while (true) {
      pause_sometimes();
      const auto layer = static_cast<std::int32_t>(path_.size());
      const std::int32_t box = box_in_layer(record, layer);
      if (box < 0) {
        record_layer_[at(record)] = -1;
        if (path_.empty()) return;
      } else {
        path_.push_back({record, box});
        if (layer == last_layer_) {
          shift_along_path();
          if (records_left_[at(start)] == 0) return;
          path_.clear();
          record = start;
          continue;
        }
      }
      record = next_record();
    }
  }

  std::int32_t box_in_layer(std::int32_t record, std::int32_t layer) {
    std::int32_t found = -1;
    graph_.search_boxes(record, mark_of(layer), [&](std::int32_t box) {
      if (box_layer_[at(box)] != layer) return false;
      found = box;
      return true;
    });
    return found;
  }

  // The next record to go on with: one that the last box of the path is matched with, or if there are no
  // more, the one before that box, which then looks for another box.
  std::int32_t next_record() {
    const auto [record, box] = path_.back();
    const auto layer = static_cast<std::int32_t>(path_.size());
    for (std::int32_t& i = next_of_box_[at(box)]; i >= 0; i = pairs_[at(i)].next_of_box)
      if (pairs_[at(i)].copies > 0 && record_layer_[at(pairs_[at(i)].record)] == layer)
        return pairs_[at(i)].record;
    graph_.boxes().remove(box);
    path_.pop_back();
    return record;
  }

  void shift_along_path() {
    const std::int32_t start = path_.front().record, end = path_.back().box;
    std::int64_t copies = std::min(records_left_[at(start)], boxes_left_[at(end)]);
    for (std::size_t step = 0; step + 1 < path_.size(); ++step)
      copies = std::min(copies, released(step).copies);
    for (std::size_t step = 0; step + 1 < path_.size(); ++step) released(step).copies -= copies;
    for (const auto& [record, box] : path_) add({record, box, -1, -1, copies});
    records_left_[at(start)] -= copies;
    boxes_left_[at(end)] -= copies;
    if (boxes_left_[at(end)] == 0) graph_.boxes().remove(end);
  }

  // The pair that the box at a step gives up for the record before it.
  Pair& released(std::size_t step) { return pairs_[at(next_of_box_[at(path_[step].box)])]; }

  struct Step {
    std::int32_t record, box;
  };

  ConsistencyGraph& graph_;
  std::vector<std::int64_t> records_left_, boxes_left_;
  std::vector<std::int32_t> first_of_record_, first_of_box_, next_of_box_;
  std::vector<std::int32_t> record_layer_, box_layer_, record_distance_, box_distance_;
  std::int32_t last_layer_ = 0;
  std::vector<Pair> pairs_;
  std::vector<Step> path_;
};

}  // namespace

MaximumMatching maximum_matching(ConsistencyGraph& graph, const Matched& start) {
  const auto searches = [&] { return graph.records().searches() + graph.boxes().searches(); };
  const auto visited = [&] { return graph.records().visited() + graph.boxes().visited(); };
  MaximumMatching result{{}, 0, -searches(), -visited()};
  Flow flow(graph);
  flow.take(start);
  flow.take_greedily();
  while (flow.augment()) ++result.phases;
  result.matched = flow.matched();
  result.searches += searches();
  result.visited += visited();
  return result;
}

}  // namespace shoal
