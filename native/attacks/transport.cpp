#include "attacks/transport.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"

namespace shoal {
namespace {

// Units are at least this many for each copy, so that shares can be told apart.
constexpr std::int64_t kUnits = std::int64_t{1} << 20;
constexpr int kFittings = 40;

// The product of two numbers that are not negative, or the largest number if that is smaller.
std::int64_t product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return a != 0 && b > most / a ? most : a * b;
}

}  // namespace

Transport::Transport(const Neighbourhoods& graph, std::span<const std::int32_t> boxes) {
  for (const std::int32_t box : boxes) {
    box_copies_.push_back(graph.box_copies[at(box)]);
    for (auto i = at(graph.starts[at(box)]); i < at(graph.starts[at(box) + 1]); ++i)
      for (std::int32_t place = graph.begins[i]; place < graph.ends[i]; ++place) places_.push_back(place);
  }
  const std::size_t count = places_.size();
  std::vector<std::int32_t> all = places_;
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  places_.shrink_to_fit();
  for (const std::int32_t place : places_) record_copies_.push_back(graph.record_copies[at(place)]);
  first_.assign(places_.size() + 1, 0);
  for (std::int32_t& place : all) {
    place =
        static_cast<std::int32_t>(std::lower_bound(places_.begin(), places_.end(), place) - places_.begin());
    ++first_[at(place) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  box_of_.resize(count);
  record_at_.resize(count);
  edges_of_box_.resize(count);
  first_of_box_.assign(1, 0);
  std::size_t seen = 0;
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    const std::size_t stretch = at(boxes[box]);
    for (auto i = at(graph.starts[stretch]); i < at(graph.starts[stretch + 1]); ++i)
      for (std::int32_t place = graph.begins[i]; place < graph.ends[i]; ++place, ++seen) {
        const std::size_t edge = next[at(all[seen])]++;
        record_at_[edge] = all[seen];
        box_of_[edge] = static_cast<std::int32_t>(box);
        edges_of_box_[seen] = edge;
      }
    first_of_box_.push_back(seen);
  }
}

std::pair<std::int64_t, std::int64_t> Transport::bound() const {
  const auto total = [](const std::vector<std::int64_t>& copies) {
    return std::accumulate(copies.begin(), copies.end(), std::int64_t{0});
  };
  std::int64_t least = total(record_copies_);
  for (std::size_t box = 0; box < boxes(); ++box) {
    std::int64_t around = 0;
    for (std::size_t i = first_of_box_[box]; i < first_of_box_[box + 1]; ++i)
      around += record_copies_[at(record_at_[edges_of_box_[i]])];
    least = std::min(least, around);
  }
  if (total(record_copies_) == total(box_copies_))  // otherwise a record may be left without a box
    for (std::size_t record = 0; record < records(); ++record) {
      std::int64_t around = 0;
      for (std::size_t edge = first_[record]; edge < first_[record + 1]; ++edge)
        around += box_copies_[at(box_of_[edge])];
      least = std::min(least, around);
    }
  return {1, least};
}

void Transport::set_capacities(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t factor = (kUnits + denominator - 1) / denominator;
  scale_ = denominator * factor;
  // More than all boxes take together is as good as no limit: such an edge is in no minimum cut.
  const std::int64_t all = std::accumulate(box_copies_.begin(), box_copies_.end(), std::int64_t{1});
  const std::int64_t limit = product(scale_, all);
  const std::int64_t each = product(numerator, factor);
  const std::int64_t below = each == 0 ? limit : limit / each;  // maximum number of pairs within the limit
  capacity_.resize(edges());
  for (std::size_t edge = 0; edge < edges(); ++edge)
    capacity_[edge] = pairs(edge) > below ? limit : each * pairs(edge);
}

bool Transport::send(std::int64_t numerator, std::int64_t denominator, const std::vector<double>& shares) {
  set_capacities(numerator, denominator);
  to_send_ = record_copies_;
  to_take_ = box_copies_;
  for (std::int64_t& units : to_send_) units *= scale_;
  for (std::int64_t& units : to_take_) units *= scale_;
  flow_.assign(edges(), 0);
  for (std::size_t edge = 0; edge < edges() && !shares.empty(); ++edge) {
    const auto wanted = static_cast<std::int64_t>(shares[edge] * static_cast<double>(scale_));
    std::int64_t& sent = to_send_[at(record_at_[edge])];
    std::int64_t& taken = to_take_[at(box_of_[edge])];
    flow_[edge] = std::min({wanted, capacity_[edge], sent, taken});
    sent -= flow_[edge];
    taken -= flow_[edge];
  }
  while (lay_out()) {
    next_of_record_.assign(first_.begin(), first_.end() - 1);
    next_of_box_.assign(first_of_box_.begin(), first_of_box_.end() - 1);
    for (std::size_t record = 0; record < records(); ++record)
      if (to_send_[record] > 0) augment_from(record);
  }
  return std::all_of(to_take_.begin(), to_take_.end(), [](std::int64_t units) { return units == 0; });
}

// Layers of a search from the records with units left; false if no box with room is reached.
bool Transport::lay_out() {
  record_layer_.assign(records(), -1);
  box_layer_.assign(boxes(), -1);
  std::vector<std::int32_t> front, reached;
  for (std::size_t record = 0; record < records(); ++record)
    if (to_send_[record] > 0) {
      record_layer_[record] = 0;
      front.push_back(static_cast<std::int32_t>(record));
    }
  bool met = false;
  for (std::int32_t layer = 0; !front.empty() && !met; ++layer) {
    reached.clear();
    for (const std::int32_t record : front)
      for (std::size_t edge = first_[at(record)]; edge < first_[at(record) + 1]; ++edge) {
        const std::int32_t box = box_of_[edge];
        if (box_layer_[at(box)] >= 0 || flow_[edge] == capacity_[edge]) continue;
        box_layer_[at(box)] = layer;
        met |= to_take_[at(box)] > 0;
        reached.push_back(box);
      }
    front.clear();
    for (const std::int32_t box : reached)
      for (std::size_t i = first_of_box_[at(box)]; i < first_of_box_[at(box) + 1]; ++i) {
        const std::size_t edge = edges_of_box_[i];
        const std::int32_t record = record_at_[edge];
        if (record_layer_[at(record)] >= 0 || flow_[edge] == 0) continue;
        record_layer_[at(record)] = layer + 1;
        front.push_back(record);
      }
  }
  return met;
}

// Depth-first along the layers, until the record has no units left or no path.
void Transport::augment_from(std::size_t start) {
  path_.clear();
  std::size_t node = start;
  bool at_box = false;
  while (true) {
    pause_sometimes();
    if (at_box && to_take_[node] > 0) {
      std::int64_t units = std::min(to_send_[start], to_take_[node]);
      for (std::size_t step = 0; step < path_.size(); ++step) {
        const std::size_t edge = path_[step];
        units = std::min(units, step % 2 == 0 ? capacity_[edge] - flow_[edge] : flow_[edge]);
      }
      for (std::size_t step = 0; step < path_.size(); ++step)
        flow_[path_[step]] += step % 2 == 0 ? units : -units;
      to_send_[start] -= units;
      to_take_[node] -= units;
      if (to_send_[start] == 0) return;
      path_.clear();
      node = start;
      at_box = false;
      continue;
    }
    std::size_t& next = at_box ? next_of_box_[node] : next_of_record_[node];
    const std::size_t end = at_box ? first_of_box_[node + 1] : first_[node + 1];
    const std::int32_t layer = at_box ? box_layer_[node] : record_layer_[node];
    for (; next < end; ++next) {
      const std::size_t edge = at_box ? edges_of_box_[next] : next;
      if (at_box ? flow_[edge] > 0 && record_layer_[at(record_at_[edge])] == layer + 1
                 : flow_[edge] < capacity_[edge] && box_layer_[at(box_of_[edge])] == layer)
        break;
    }
    if (next < end) {
      const std::size_t edge = at_box ? edges_of_box_[next] : next;
      path_.push_back(edge);
      node = at(at_box ? record_at_[edge] : box_of_[edge]);
      at_box = !at_box;
    } else {
      if (path_.empty()) return;
      // Back to where the last edge came from, which goes on with its next one.
      const std::size_t edge = path_.back();
      path_.pop_back();
      node = at(at_box ? record_at_[edge] : box_of_[edge]);
      at_box = !at_box;
      ++(at_box ? next_of_box_[node] : next_of_record_[node]);
    }
  }
}

std::pair<std::int64_t, std::int64_t> Transport::cut() {
  // The last layers reached everything that units left can reach: one side of the cut.
  std::int64_t lacking = 0, across = 0;
  for (std::size_t box = 0; box < boxes(); ++box)
    if (box_layer_[box] < 0) lacking += box_copies_[box];
  for (std::size_t record = 0; record < records(); ++record) {
    if (record_layer_[record] < 0) {
      lacking -= record_copies_[record];
      continue;
    }
    for (std::size_t edge = first_[record]; edge < first_[record + 1]; ++edge)
      if (box_layer_[at(box_of_[edge])] < 0) across += pairs(edge);
  }
  if (across == 0) return {1, 0};
  const std::int64_t common = std::gcd(lacking, across);
  return {lacking / common, across / common};
}

std::vector<double> Transport::shares() const {
  std::vector<double> result(edges());
  for (std::size_t edge = 0; edge < edges(); ++edge)
    result[edge] = static_cast<double>(flow_[edge]) / static_cast<double>(scale_);
  return result;
}

std::vector<double> Transport::even_shares(double t) const {
  std::vector<double> shares(edges()), most(edges());
  for (std::size_t edge = 0; edge < edges(); ++edge) {
    most[edge] = t * static_cast<double>(pairs(edge));
    shares[edge] = most[edge];
  }
  const auto fit = [&](const std::vector<std::int32_t>& end_of, const std::vector<std::int64_t>& copies) {
    std::vector<double> sum(copies.size(), 0.0);
    for (std::size_t edge = 0; edge < edges(); ++edge) sum[at(end_of[edge])] += shares[edge];
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = sum[i] > 0.0 ? static_cast<double>(copies[i]) / sum[i] : 0.0;
    for (std::size_t edge = 0; edge < edges(); ++edge)
      shares[edge] = std::min(most[edge], shares[edge] * sum[at(end_of[edge])]);
  };
  for (int fitting = 0; fitting < kFittings; ++fitting) {
    fit(box_of_, box_copies_);
    fit(record_at_, record_copies_);
  }
  return shares;
}

}  // namespace shoal
