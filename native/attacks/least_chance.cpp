#include "attacks/least_chance.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "attacks/transport.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

// Leaves the transport with a flow at the least chance, as even as possible if asked for.
Fraction solve(Transport& transport, bool evenly) {
  std::int64_t numerator, denominator;
  std::tie(numerator, denominator) = transport.bound();
  const auto t = [&] { return static_cast<double>(numerator) / static_cast<double>(denominator); };
  std::vector<double> shares = transport.even_shares(t());
  while (!transport.send(numerator, denominator, shares)) {
    std::tie(numerator, denominator) = transport.cut();
    if (denominator == 0) return {1, 0};
    shares = transport.shares();
  }
  if (evenly) transport.send(numerator, denominator, transport.even_shares(t()));
  return {numerator, denominator};
}

// Rounds a flow to whole copies at random, such that each edge keeps its mean: as long as edges carry a
// fraction of a copy, there is a circle of them, on which units move one way or the other (Gandhi, Khuller,
// Parthasarathy and Srinivasan 2006). Each time at least one edge comes to carry whole copies.
class Rounding {
 public:
  Rounding(const Transport& transport, RandomWords& random)
      : transport_(transport), random_(random), scale_(transport.scale()),
        edges_(transport.records() + transport.boxes()), place_(edges_.size(), -1) {
    for (std::size_t edge = 0; edge < transport.edges(); ++edge) {
      whole_.push_back(transport.flow(edge) / scale_);
      rest_.push_back(transport.flow(edge) % scale_);
      if (rest_.back() == 0) continue;
      edges_[record_node(edge)].push_back(edge);
      edges_[box_node(edge)].push_back(edge);
    }
  }

  // The number of copies on each edge.
  std::vector<std::int64_t> rounded() {
    for (std::size_t node = 0; node < transport_.records(); ++node) walk(node);
    return std::move(whole_);
  }

 private:
  std::size_t record_node(std::size_t edge) const { return at(transport_.record_at(edge)); }
  std::size_t box_node(std::size_t edge) const { return transport_.records() + at(transport_.box_at(edge)); }

  bool has_fraction(std::size_t node) {
    auto& some = edges_[node];
    while (!some.empty() && rest_[some.back()] == 0) some.pop_back();
    return !some.empty();
  }

  // A random edge with a fraction, but not the one given. Copies at a node are whole, so there is another.
  std::size_t other_edge(std::size_t node, std::size_t last) {
    auto& some = edges_[node];
    while (true) {
      const std::size_t i = random_.below(static_cast<std::uint32_t>(some.size()));
      if (rest_[some[i]] == 0) {
        some[i] = some.back();
        some.pop_back();
      } else if (some[i] != last) {
        return some[i];
      }
    }
  }

  // From a node along random edges until the walk meets itself; then units move around the circle, and the
  // walk goes on from where the circle began.
  void walk(std::size_t node) {
    path_.clear();
    nodes_.clear();
    while (!path_.empty() || has_fraction(node)) {
      place_[node] = static_cast<std::int32_t>(nodes_.size());
      nodes_.push_back(node);
      const std::size_t edge = other_edge(node, path_.empty() ? transport_.edges() : path_.back());
      path_.push_back(edge);
      const std::size_t record = record_node(edge);
      node = node == record ? box_node(edge) : record;
      if (place_[node] < 0) continue;
      const std::size_t begin = at(place_[node]);
      turn(begin);
      path_.resize(begin);
      for (; nodes_.size() > begin; nodes_.pop_back()) place_[nodes_.back()] = -1;
    }
  }

  void turn(std::size_t begin) {
    std::int64_t up = scale_, down = scale_;  // how far edges in turn may rise and fall, or fall and rise
    for (std::size_t i = begin; i < path_.size(); ++i) {
      const std::int64_t rest = rest_[path_[i]];
      const bool even = (i - begin) % 2 == 0;
      up = std::min(up, even ? scale_ - rest : rest);
      down = std::min(down, even ? rest : scale_ - rest);
    }
    const std::int64_t moved = below(up + down) < down ? up : -down;
    for (std::size_t i = begin; i < path_.size(); ++i) {
      std::int64_t& rest = rest_[path_[i]];
      rest += (i - begin) % 2 == 0 ? moved : -moved;
      if (rest == scale_) {
        ++whole_[path_[i]];
        rest = 0;
      }
    }
  }

  std::int64_t below(std::int64_t bound) {
    constexpr std::uint32_t half = std::uint32_t{1} << 31;
    const auto limit = static_cast<std::uint64_t>(bound);
    const std::uint64_t fair = (std::uint64_t{1} << 62) / limit * limit;
    while (true) {
      const std::uint64_t high = random_.below(half);
      const std::uint64_t word = high << 31 | random_.below(half);
      if (word < fair) return static_cast<std::int64_t>(word % limit);
    }
  }

  const Transport& transport_;
  RandomWords& random_;
  std::int64_t scale_;
  std::vector<std::int64_t> whole_, rest_;       // of each edge: copies, and units beyond
  std::vector<std::vector<std::size_t>> edges_;  // of each record, then of each box: those with a rest
  std::vector<std::int32_t> place_;              // of each node on the walk, -1 for none
  std::vector<std::size_t> path_, nodes_;
};

std::span<const std::int32_t> boxes_of(const Parts& components, std::size_t i) {
  return components.boxes.subspan(at(components.starts[i]),
                                  at(components.starts[i + 1] - components.starts[i]));
}

}  // namespace

std::vector<Fraction> least_chances(const Neighbourhoods& graph, const Parts& components) {
  std::vector<Fraction> found;
  for (std::size_t i = 0; i + 1 < components.starts.size(); ++i) {
    Transport transport(graph, boxes_of(components, i));
    found.push_back(solve(transport, false));
  }
  return found;
}

Matched draw_assignment(const Neighbourhoods& graph, const Parts& components, RandomWords& random) {
  Matched drawn;
  for (std::size_t i = 0; i + 1 < components.starts.size(); ++i) {
    const auto boxes = boxes_of(components, i);
    Transport transport(graph, boxes);
    solve(transport, true);
    const auto copies = Rounding(transport, random).rounded();
    for (std::size_t edge = 0; edge < copies.size(); ++edge)
      if (copies[edge] > 0) {
        drawn.records.push_back(transport.record_of(at(transport.record_at(edge))));
        drawn.boxes.push_back(boxes[at(transport.box_at(edge))]);
        drawn.copies.push_back(copies[edge]);
      }
  }
  return drawn;
}

Links evenest_links(const Neighbourhoods& graph, const Parts& components) {
  Links links;
  for (std::size_t i = 0; i + 1 < components.starts.size(); ++i) {
    const auto boxes = boxes_of(components, i);
    Transport transport(graph, boxes);
    solve(transport, true);
    const auto shares = transport.shares();
    for (std::size_t edge = 0; edge < shares.size(); ++edge) {
      links.records.push_back(transport.record_of(at(transport.record_at(edge))));
      links.boxes.push_back(boxes[at(transport.box_at(edge))]);
      links.expected.push_back(shares[edge]);
    }
  }
  return links;
}

}  // namespace shoal
