#include "trees/box_tree.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {
namespace {

constexpr double kHidden = -1.0;  // a limit that no cost is below

// The extra cost to stretch an interval to a code.
double stretch_cost(const Attribute& attribute, Cell interval, std::int32_t code) {
  const std::int32_t low = interval.low(), high = interval.high();
  if (low <= code && code <= high) return 0.0;
  return attribute.interval_cost(std::min(low, code), std::max(high, code)) -
         attribute.interval_cost(low, high);
}

}  // namespace

BoxTree::BoxTree(std::span<const std::int32_t> codes, std::int32_t rows,
                 const std::vector<Attribute>& attributes, std::int32_t room,
                 std::span<const std::int32_t> owners)
    : rows_(rows), attributes_(attributes), room_(at(room)), order_(at(rows)),
      codes_(codes.begin(), codes.end()), leaf_of_(at(rows)) {
  std::iota(order_.begin(), order_.end(), 0);
  for (const Attribute& attribute : attributes)
    set_steps_.push_back(attribute.kind == Kind::set ? attribute.weight * attribute.set_cost(2) : 0.0);
  build();
  const std::size_t d = attributes.size();
  for (std::int32_t place = 0; place < rows; ++place) {
    const bool again =
        place > 0 && std::equal(this->codes(place), this->codes(place) + d, this->codes(place - 1));
    first_of_.push_back(again ? first_of_.back() : place);
  }
  boxes_.resize(at(rows) * d);
  for (std::int32_t place = 0; place < rows; ++place)
    for (std::size_t a = 0; a < d; ++a) boxes_[at(place) * d + a] = Cell(attributes[a], code(place, a));
  members_.resize(at(rows) * room_);
  counts_.assign(at(rows), 1);
  for (std::int32_t place = 0; place < rows; ++place) members_[at(place) * room_] = place;
  unions_.resize(nodes_.size() * d);
  for (Limits* limits : {&box_limits_, &record_limits_}) {
    limits->each.assign(at(rows), kUnlimited);
    limits->below.assign(nodes_.size(), kUnlimited);
  }
  refresh();
  record_unions_ = unions_;  // boxes are still their records
  record_deleted_.assign(at(rows), 0);
  box_deleted_.assign(at(rows), 0);
  for (const Node& node : nodes_) records_left_.push_back(node.end - node.begin);
  boxes_left_ = records_left_;
  if (!owners.empty())
    for (const std::int32_t record : order_) owner_of_.push_back(owners[at(record)]);
}

bool BoxTree::has_member(std::int32_t box, std::int32_t record) const {
  const auto present = members(box);
  if (owner_of_.empty()) return std::find(present.begin(), present.end(), record) != present.end();
  const std::int32_t owner = owner_of_[at(record)];
  return std::any_of(present.begin(), present.end(),
                     [&](std::int32_t member) { return owner_of_[at(member)] == owner; });
}

bool BoxTree::has_code(std::int32_t box, std::size_t attribute, std::int32_t code) const {
  const std::size_t d = attributes_.size();
  if (!boxes_[at(box) * d + attribute].may_have(code)) return false;
  if (attributes_[attribute].size <= 64) return true;
  const auto present = members(box);
  return std::any_of(present.begin(), present.end(),
                     [&](std::int32_t r) { return codes_[at(r) * d + attribute] == code; });
}

double BoxTree::extra_cost(std::int32_t box, const std::int32_t* record, double enough) const {
  const std::size_t d = attributes_.size();
  const Cell* cells = boxes_.data() + at(box) * d;
  double sum = 0.0;
  for (std::size_t a = 0; a < d && sum < enough; ++a) {
    const auto& attribute = attributes_[a];
    const std::int32_t code = record[a];
    if (attribute.kind == Kind::set) {
      if (!cells[a].may_have(code) || (attribute.size > 64 && !has_code(box, a, code))) sum += set_steps_[a];
    } else {
      sum += attribute.weight * stretch_cost(attribute, cells[a], code);
    }
  }
  return sum;
}

// A lower bound of the extra cost of every box below a node.
double BoxTree::reach(std::int32_t node, const std::int32_t* record, double enough) const {
  const std::size_t d = attributes_.size();
  const Cell* cells = unions_.data() + at(node) * d;
  double sum = 0.0;
  for (std::size_t a = 0; a < d && sum < enough; ++a) {
    const auto& attribute = attributes_[a];
    const std::int32_t code = record[a];
    if (attribute.kind == Kind::set) {
      if (!cells[a].may_have(code)) sum += set_steps_[a];
      continue;
    }
    const std::int32_t low = cells[a].low(), high = cells[a].high();
    if (low <= code && code <= high) continue;
    if (attribute.kind == Kind::range && !attribute.is_missing(code) && !attribute.is_missing(low)) {
      sum += attribute.weight *
             (code < low ? attribute.interval_cost(code, low) : attribute.interval_cost(high, code));
    } else {
      // In a tree, and between numbers and the missing value, a box may have paid for a part of the way.
      const double way =
          code < low ? attribute.interval_cost(code, low) : attribute.interval_cost(high, code);
      sum += attribute.weight * std::max(0.0, way - attribute.interval_cost(low, high));
    }
  }
  return sum;
}

// A lower bound of the cost for a box to take in any record below a node.
double BoxTree::reach_records(std::int32_t node, std::int32_t box, double enough) const {
  const std::size_t d = attributes_.size();
  const Cell* below = records_below(node);
  const Cell* cells = boxes_.data() + at(box) * d;
  double sum = 0.0;
  for (std::size_t a = 0; a < d && sum < enough; ++a) {
    const auto& attribute = attributes_[a];
    if (attribute.kind == Kind::set) {
      if (!cells[a].may_share(below[a])) sum += set_steps_[a];
    } else {
      sum += attribute.weight * stretch_cost(attribute, cells[a], below[a].nearest_to(cells[a]));
    }
  }
  return sum;
}

void BoxTree::add_member(std::int32_t box, std::int32_t record) {
  const std::size_t d = attributes_.size();
  members_[at(box) * room_ + at(counts_[at(box)]++)] = record;
  for (std::size_t a = 0; a < d; ++a)
    boxes_[at(box) * d + a].unite(attributes_[a], Cell(attributes_[a], codes_[at(record) * d + a]));
}

void BoxTree::grow(std::int32_t box, std::int32_t record) {
  stretch(box, record);
  refresh_above(box);
}

void BoxTree::stretch(std::int32_t box, std::int32_t record) {
  const std::size_t d = attributes_.size();
  bool needed = false;
  for (std::size_t a = 0; a < d; ++a) {
    const auto& attribute = attributes_[a];
    const std::int32_t code = codes(record)[a];
    needed |= attribute.kind == Kind::set && attribute.size > 64 && !has_code(box, a, code);
  }
  if (needed && at(counts_[at(box)]) == room_) {
    std::vector<std::int32_t> wider(members_.size() * 2);
    for (std::int32_t b = 0; b < rows_; ++b)
      std::copy_n(members_.data() + at(b) * room_, room_, wider.data() + at(b) * room_ * 2);
    members_ = std::move(wider);
    room_ *= 2;
  }
  if (needed) members_[at(box) * room_ + at(counts_[at(box)]++)] = record;
  for (std::size_t a = 0; a < d; ++a)
    boxes_[at(box) * d + a].unite(attributes_[a], Cell(attributes_[a], codes(record)[a]));
}

void BoxTree::reshape(std::int32_t box, std::span<const std::int32_t> records) {
  const std::size_t d = attributes_.size();
  members_[at(box) * room_] = records[0];
  counts_[at(box)] = 1;
  for (std::size_t a = 0; a < d; ++a) boxes_[at(box) * d + a] = Cell(attributes_[a], codes(records[0])[a]);
  for (const std::int32_t record : records.subspan(1)) stretch(box, record);
}

void BoxTree::refresh_above(std::int32_t box) {
  for (std::int32_t node = leaf_of_[at(box)]; node >= 0; node = nodes_[at(node)].parent) unite_below(node);
}

void BoxTree::unite_below(std::int32_t node) {
  const std::size_t d = attributes_.size();
  const Node& n = nodes_[at(node)];
  const bool leaf = n.left < 0;
  const Cell* cells = leaf ? boxes_.data() + at(n.begin) * d : unions_.data() + at(n.left) * d;
  const std::int32_t parts = leaf ? n.end - n.begin : 2;
  for (std::size_t a = 0; a < d; ++a) {
    Cell whole = cells[a];
    for (std::int32_t part = 1; part < parts; ++part) whole.unite(attributes_[a], cells[at(part) * d + a]);
    unions_[at(node) * d + a] = whole;
  }
}

double BoxTree::limit_below(const Limits& limits, std::int32_t node) const {
  const Node& n = nodes_[at(node)];
  if (n.left >= 0) return std::max(limits.below[at(n.left)], limits.below[at(n.left + 1)]);
  return *std::max_element(limits.each.begin() + n.begin, limits.each.begin() + n.end);
}

void BoxTree::set_limit(Limits& limits, std::int32_t place, double limit) {
  limits.each[at(place)] = limit;
  for (std::int32_t node = leaf_of_[at(place)]; node >= 0; node = nodes_[at(node)].parent) {
    const double now = limit_below(limits, node);
    if (now == limits.below[at(node)]) break;
    limits.below[at(node)] = now;
  }
}

void BoxTree::set_limits(Limits& limits, std::span<const double> each,
                         const std::vector<std::uint8_t>& deleted) {
  for (std::size_t place = 0; place < each.size(); ++place)
    limits.each[place] = deleted[place] ? kHidden : each[place];
  for (std::size_t i = nodes_.size(); i-- > 0;)
    limits.below[i] = limit_below(limits, static_cast<std::int32_t>(i));
}

void BoxTree::refresh() {
  for (std::size_t i = nodes_.size(); i-- > 0;) unite_below(static_cast<std::int32_t>(i));
}

void BoxTree::set_box_limit(std::int32_t box, double limit) {
  set_limit(box_limits_, box, box_deleted_[at(box)] ? kHidden : limit);
}

void BoxTree::set_box_limits(std::span<const double> limits) {
  set_limits(box_limits_, limits, box_deleted_);
}

void BoxTree::set_record_limit(std::int32_t record, double limit) {
  set_limit(record_limits_, record, record_deleted_[at(record)] ? kHidden : limit);
}

void BoxTree::set_record_limits(std::span<const double> limits) {
  set_limits(record_limits_, limits, record_deleted_);
}

Nearest BoxTree::nearest_box(std::int32_t record, Search& search) const {
  const std::int32_t* wanted = codes(record);
  Nearest best;
  visit_nearer_first(
      search, record, [&](std::int32_t node, double enough) { return reach(node, wanted, enough); },
      [&](std::int32_t node) { return std::min(best.cost, box_limits_.below[at(node)]); },
      [&](std::int32_t box) {
        const double most = std::min(best.cost, box_limits_.each[at(box)]);
        const double extra = extra_cost(box, wanted, most);
        if (extra < most && !has_member(box, record)) best = {box, extra};
      });
  return best;
}

std::vector<NearBox> BoxTree::nearest_boxes(std::int32_t record, std::size_t count,
                                            const std::function<bool(std::int32_t)>& accept,
                                            Search& search) const {
  const std::int32_t* wanted = codes(record);
  CheapestFew<NearBox> best(count);
  visit_nearer_first(
      search, 0, [&](std::int32_t node, double enough) { return reach(node, wanted, enough); },
      [&](std::int32_t node) { return boxes_left_[at(node)] == 0 ? kHidden : best.most(); },
      [&](std::int32_t box) {
        const double extra = extra_cost(box, wanted, best.most());
        if (extra >= best.most() || box_deleted_[at(box)] || !accept(box)) return;
        best.add({extra, box});
      });
  return std::move(best).in_order();
}

std::vector<NearRecord> BoxTree::nearest_records(std::int32_t box, std::size_t count, Search& search,
                                                 std::int32_t home) const {
  CheapestFew<NearRecord> best(count);
  visit_nearer_first(
      search, home, [&](std::int32_t node, double enough) { return reach_records(node, box, enough); },
      [&](std::int32_t node) { return std::min(best.most(), record_limits_.below[at(node)]); },
      [&](std::int32_t record) {
        const double enough = std::min(best.most(), record_limits_.each[at(record)]);
        const double extra = extra_cost(box, codes(record), enough);
        if (extra >= enough || has_member(box, record)) return;
        best.add({extra, record});
      });
  return std::move(best).in_order();
}

Outside BoxTree::nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const {
  Outside found;
  visit_nearer_first(
      search, 0, [&](std::int32_t node, double most) { return reach_records(node, box, most); },
      [&](std::int32_t node) {
        if (found.covered >= enough || records_left_[at(node)] == 0) return kHidden;
        return found.nearest.cost;
      },
      [&](std::int32_t record) {
        if (record_deleted_[at(record)]) return;
        if (covers(box, codes(record))) {
          ++found.covered;
        } else if (const double extra = extra_cost(box, codes(record), found.nearest.cost);
                   extra < found.nearest.cost) {
          found.nearest = {extra, record};
        }
      });
  return found;
}

Nearest BoxTree::nearest_partner(std::int32_t record, bool mutual,
                                 const std::function<bool(std::int32_t)>& accept, Search& search) const {
  const std::int32_t* wanted = codes(record);
  Nearest best;
  visit_nearer_first(
      search, 0,
      [&](std::int32_t node, double most) {
        const double there = reach(node, wanted, most);
        return mutual && there < most ? there + reach_records(node, record, most) : there;
      },
      [&](std::int32_t node) { return boxes_left_[at(node)] == 0 ? kHidden : best.cost; },
      [&](std::int32_t box) {
        double extra = extra_cost(box, wanted, best.cost);
        if (mutual && extra < best.cost) extra += extra_cost(record, codes(box), best.cost);
        if (extra < best.cost && !box_deleted_[at(box)] && accept(box)) best = {box, extra};
      });
  return best;
}

void BoxTree::delete_record(std::int32_t record) {
  if (std::exchange(record_deleted_[at(record)], std::uint8_t{1})) return;
  for (std::int32_t node = leaf_of_[at(record)]; node >= 0; node = nodes_[at(node)].parent)
    --records_left_[at(node)];
  set_record_limit(record, kHidden);
}

void BoxTree::delete_box(std::int32_t box) {
  if (std::exchange(box_deleted_[at(box)], std::uint8_t{1})) return;
  for (std::int32_t node = leaf_of_[at(box)]; node >= 0; node = nodes_[at(node)].parent)
    --boxes_left_[at(node)];
  set_box_limit(box, kHidden);
}

}  // namespace shoal
