#include "attacks/exact_links.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// One side of a component.
struct Side {
  std::vector<std::int32_t> names;
  std::vector<std::int64_t> copies;

  std::size_t size() const { return names.size(); }
  double states() const {
    double product = 1;
    for (const std::int64_t c : copies) product *= static_cast<double>(c + 1);
    return product;
  }
};

// The takers come one after the other, copy by copy, and each takes a copy of a giver. A state is the
// number of copies taken from each giver; it determines which taker is next.
class Counting {
 public:
  // neighbours: of each taker, the givers.
  Counting(const Side& takers, const Side& givers, const std::vector<std::vector<std::size_t>>& neighbours)
      : givers_(givers), neighbours_(neighbours) {
    for (std::size_t taker = 0; taker < takers.size(); ++taker)
      turns_.insert(turns_.end(), at(takers.copies[taker]), taker);
    for (const std::int64_t copies : givers.copies) {
      strides_.push_back(states_);
      states_ *= at(copies) + 1;
    }
    count_onward();
  }

  // Calls found(taker, giver, expected) for each pair that is used.
  template <typename Found>
  void count_backward(const Found& found) {
    std::vector<double> onto_end(states_, 0.0);
    std::vector<double> through(neighbours_.size() * givers_.size(), 0.0);
    onto_end.back() = 1;
    taken_.assign(givers_.copies.begin(), givers_.copies.end());
    std::size_t turn = turns_.size();
    for (std::size_t state = states_ - 1; state-- > 0;) {
      turn = step_back(turn);
      if (from_start_[state] == 0) continue;
      const std::size_t taker = turns_[turn];
      for (const std::size_t giver : neighbours_[taker]) {
        if (taken_[giver] == givers_.copies[giver]) continue;
        const double rest = onto_end[state + strides_[giver]];
        onto_end[state] += rest;
        through[taker * givers_.size() + giver] += from_start_[state] * rest;
      }
    }
    for (std::size_t taker = 0; taker < neighbours_.size(); ++taker)
      for (const std::size_t giver : neighbours_[taker]) {
        const double ways = through[taker * givers_.size() + giver];
        if (ways > 0) found(taker, giver, ways / from_start_.back());
      }
  }

 private:
  void count_onward() {
    from_start_.assign(states_, 0.0);
    from_start_.front() = 1;
    taken_.assign(givers_.size(), 0);
    std::size_t turn = 0;
    for (std::size_t state = 0; state + 1 < states_; turn = step(turn), ++state) {
      if (from_start_[state] == 0) continue;
      for (const std::size_t giver : neighbours_[turns_[turn]])
        if (taken_[giver] < givers_.copies[giver]) from_start_[state + strides_[giver]] += from_start_[state];
    }
  }

  // Moves to the next state or the one before, like an odometer. Returns the number of copies taken there.
  std::size_t step(std::size_t turn) {
    std::size_t giver = 0;
    for (; taken_[giver] == givers_.copies[giver]; ++giver) turn -= at(std::exchange(taken_[giver], 0));
    ++taken_[giver];
    return turn + 1;
  }
  std::size_t step_back(std::size_t turn) {
    std::size_t giver = 0;
    for (; taken_[giver] == 0; ++giver) {
      taken_[giver] = givers_.copies[giver];
      turn += at(taken_[giver]);
    }
    --taken_[giver];
    return turn - 1;
  }

  const Side& givers_;
  const std::vector<std::vector<std::size_t>>& neighbours_;
  std::vector<std::size_t> turns_;  // the taker of each turn
  std::vector<std::size_t> strides_;
  std::size_t states_ = 1;
  std::vector<std::int64_t> taken_;
  std::vector<double> from_start_;  // in how many ways each state is reached
};

// The links of one component.
Links links_of(const Neighbourhoods& graph, std::span<const std::int32_t> members) {
  Side boxes{{members.begin(), members.end()}, {}}, records;
  for (const std::int32_t box : members) {
    boxes.copies.push_back(graph.box_copies[at(box)]);
    for (auto i = graph.starts[at(box)]; i < graph.starts[at(box) + 1]; ++i)
      for (std::int32_t r = graph.begins[at(i)]; r < graph.ends[at(i)]; ++r) records.names.push_back(r);
  }
  std::sort(records.names.begin(), records.names.end());
  records.names.erase(std::unique(records.names.begin(), records.names.end()), records.names.end());
  for (const std::int32_t record : records.names) records.copies.push_back(graph.record_copies[at(record)]);

  const bool boxes_give = boxes.states() <= records.states();
  std::vector<std::vector<std::size_t>> neighbours(boxes_give ? records.size() : boxes.size());
  for (std::size_t b = 0; b < boxes.size(); ++b)
    for (auto i = graph.starts[at(boxes.names[b])]; i < graph.starts[at(boxes.names[b]) + 1]; ++i) {
      const auto first = std::lower_bound(records.names.begin(), records.names.end(), graph.begins[at(i)]);
      for (auto r = first; r != records.names.end() && *r < graph.ends[at(i)]; ++r) {
        const auto record = at(r - records.names.begin());
        if (boxes_give)
          neighbours[record].push_back(b);
        else
          neighbours[b].push_back(record);
      }
    }

  Links links;
  const Side &takers = boxes_give ? records : boxes, &givers = boxes_give ? boxes : records;
  Counting(takers, givers, neighbours)
      .count_backward([&](std::size_t taker, std::size_t giver, double expected) {
        links.records.push_back((boxes_give ? takers.names[taker] : givers.names[giver]));
        links.boxes.push_back((boxes_give ? givers.names[giver] : takers.names[taker]));
        links.expected.push_back(expected);
      });
  return links;
}

}  // namespace

Links exact_links(const Neighbourhoods& graph, const Parts& components) {
  const std::size_t count = components.starts.size() - 1;
  std::vector<Links> found(count);
  share(count, 1, [&] {
    return [&](std::size_t i) {
      const auto begin = at(components.starts[i]);
      const auto end = at(components.starts[i + 1]);
      found[i] = links_of(graph, components.boxes.subspan(begin, end - begin));
    };
  });
  Links all;
  for (const Links& links : found) {
    std::copy(links.records.begin(), links.records.end(), std::back_inserter(all.records));
    std::copy(links.boxes.begin(), links.boxes.end(), std::back_inserter(all.boxes));
    std::copy(links.expected.begin(), links.expected.end(), std::back_inserter(all.expected));
  }
  return all;
}

}  // namespace shoal
