#include "attacks/components.hpp"

#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

// For each number from 0 to count - 1, the ends of the edges that begin there.
class Edges {
 public:
  Edges(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to, std::size_t count)
      : starts_(count + 1, 0), ends_(to.size()) {
    for (const std::int32_t begin : from) ++starts_[at(begin) + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    auto place = starts_;
    for (std::size_t i = 0; i < to.size(); ++i) ends_[place[at(from[i])]++] = to[i];
  }

  std::size_t begin(std::int32_t i) const { return starts_[at(i)]; }
  std::size_t end(std::int32_t i) const { return starts_[at(i) + 1]; }
  std::int32_t operator[](std::size_t edge) const { return ends_[edge]; }

 private:
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> ends_;
};

// A matching with an additional box for unmatched copies of records, and an additional record for those of
// boxes.
struct Completed {
  Completed(const ConsistencyGraph& graph, const Matched& matched)
      : spare_record(graph.records().size()), spare_box(graph.boxes().size()) {
    auto records_left = graph.record_copies(), boxes_left = graph.box_copies();
    for (std::size_t i = 0; i < matched.copies.size(); ++i) {
      records.push_back(graph.records().place_of(matched.records[i]));
      boxes.push_back(graph.boxes().place_of(matched.boxes[i]));
      records_left[at(records.back())] -= matched.copies[i];
      boxes_left[at(boxes.back())] -= matched.copies[i];
    }
    for (std::int32_t record = 0; record < spare_record; ++record)
      if (records_left[at(record)] > 0) {
        records.push_back(record);
        boxes.push_back(spare_box);
        some_records_left = true;
      }
    for (std::int32_t box = 0; box < spare_box; ++box)
      if (boxes_left[at(box)] > 0) {
        records.push_back(spare_record);
        boxes.push_back(box);
        some_boxes_left = true;
      }
  }

  std::int32_t spare_record, spare_box;
  bool some_records_left = false, some_boxes_left = false;
  std::vector<std::int32_t> records, boxes;  // of each pair
};

// The same, in the order in which records or boxes came into the graph.
std::vector<std::int32_t> from_places(const LiveTree& tree, const std::vector<std::int32_t>& at_place) {
  std::vector<std::int32_t> numbers(tree.order().size());
  for (std::size_t place = 0; place < numbers.size(); ++place)
    numbers[at(tree.order()[place])] = at_place[place];
  return numbers;
}

// Kosaraju's algorithm: a depth-first search along the edges tells in which order to search against them.
class Kosaraju {
 public:
  Kosaraju(ConsistencyGraph& graph, const Matched& maximum)
      : graph_(graph), completed_(graph, maximum),
        records_of_box_(completed_.boxes, completed_.records, at(completed_.spare_box) + 1),
        boxes_of_record_(completed_.records, completed_.boxes, at(completed_.spare_record) + 1) {}

  Components run() {
    search_along();
    search_against();
    return {from_places(graph_.records(), of_record_), from_places(graph_.boxes(), of_box_)};
  }

 private:
  // A record or a box, in 32 bits.
  struct Vertex {
    static Vertex record(std::int32_t number) { return {static_cast<std::uint32_t>(number) << 1U}; }
    static Vertex box(std::int32_t number) { return {static_cast<std::uint32_t>(number) << 1U | 1U}; }
    bool is_box() const { return (bits & 1U) != 0; }
    std::int32_t number() const { return static_cast<std::int32_t>(bits >> 1U); }
    std::uint32_t bits;
  };

  void search_along() {
    graph_.boxes().mark_all(kThere);
    seen_record_.assign(at(completed_.spare_record) + 1, 0);
    next_record_.resize(at(completed_.spare_box) + 1);
    for (std::int32_t box = 0; box <= completed_.spare_box; ++box)
      next_record_[at(box)] = records_of_box_.begin(box);
    for (std::int32_t record = 0; record < completed_.spare_record; ++record)
      if (seen_record_[at(record)] == 0) search_along(Vertex::record(record));
    for (std::int32_t box = 0; box < completed_.spare_box; ++box)
      if (graph_.boxes().marks(box) != 0) search_along(Vertex::box(box));
  }

  void search_along(Vertex root) {
    see(root);
    while (!waiting_.empty()) {
      pause_sometimes();
      const Vertex vertex = waiting_.back();
      const bool more = vertex.is_box() ? see_record_of(vertex.number()) : see_box_around(vertex.number());
      if (more) continue;
      finished_.push_back(vertex);
      waiting_.pop_back();
    }
  }

  void see(Vertex vertex) {
    const std::int32_t number = vertex.number();
    if (!vertex.is_box())
      seen_record_[at(number)] = 1;
    else if (number == completed_.spare_box)
      seen_spare_box_ = true;
    else
      graph_.boxes().remove(number);
    waiting_.push_back(vertex);
  }

  bool see_record_of(std::int32_t box) {
    for (std::size_t& i = next_record_[at(box)]; i < records_of_box_.end(box); ++i) {
      const std::int32_t record = records_of_box_[i];
      if (seen_record_[at(record)] != 0) continue;
      see(Vertex::record(record));
      return true;
    }
    return false;
  }

  bool see_box_around(std::int32_t record) {
    std::int32_t found = -1;
    if (record == completed_.spare_record) {
      for (; next_box_ < completed_.spare_box && found < 0; ++next_box_)
        if (graph_.boxes().marks(next_box_) != 0) found = next_box_;
    } else if (completed_.some_records_left && !seen_spare_box_) {
      found = completed_.spare_box;
    } else {
      graph_.search_boxes(record, kThere, [&](std::int32_t box) {
        found = box;
        return true;
      });
    }
    if (found >= 0) see(Vertex::box(found));
    return found >= 0;
  }

  void search_against() {
    graph_.records().mark_all(kThere);
    of_record_.assign(at(completed_.spare_record) + 1, -1);
    of_box_.assign(at(completed_.spare_box) + 1, -1);
    std::int32_t component = 0;
    for (; !finished_.empty(); finished_.pop_back()) {
      const Vertex root = finished_.back();
      if ((root.is_box() ? of_box_ : of_record_)[at(root.number())] >= 0) continue;
      join(root, component);
      while (!waiting_.empty()) {
        pause_sometimes();
        const Vertex vertex = waiting_.back();
        waiting_.pop_back();
        if (vertex.is_box())
          join_records_in(vertex.number(), component);
        else
          join_boxes_of(vertex.number(), component);
      }
      ++component;
    }
  }

  void join(Vertex vertex, std::int32_t component) {
    const std::int32_t number = vertex.number();
    (vertex.is_box() ? of_box_ : of_record_)[at(number)] = component;
    if (!vertex.is_box() && number != completed_.spare_record) graph_.records().remove(number);
    waiting_.push_back(vertex);
  }

  void join_boxes_of(std::int32_t record, std::int32_t component) {
    for (std::size_t i = boxes_of_record_.begin(record); i < boxes_of_record_.end(record); ++i)
      if (of_box_[at(boxes_of_record_[i])] < 0) join(Vertex::box(boxes_of_record_[i]), component);
  }

  void join_records_in(std::int32_t box, std::int32_t component) {
    if (box == completed_.spare_box) {
      for (std::int32_t record = 0; record < completed_.spare_record; ++record)
        if (of_record_[at(record)] < 0) join(Vertex::record(record), component);
      return;
    }
    if (completed_.some_boxes_left && of_record_[at(completed_.spare_record)] < 0)
      join(Vertex::record(completed_.spare_record), component);
    graph_.search_records(box, kThere, [&](std::int32_t record) {
      join(Vertex::record(record), component);
      return false;
    });
  }

  ConsistencyGraph& graph_;
  Completed completed_;
  Edges records_of_box_, boxes_of_record_;
  std::vector<std::uint8_t> seen_record_;
  bool seen_spare_box_ = false;
  std::int32_t next_box_ = 0;             // for the spare record
  std::vector<std::size_t> next_record_;  // per box
  std::vector<Vertex> waiting_, finished_;
  std::vector<std::int32_t> of_record_, of_box_;
};

}  // namespace

Components components(ConsistencyGraph& graph, const Matched& maximum) {
  return Kosaraju(graph, maximum).run();
}

}  // namespace shoal
