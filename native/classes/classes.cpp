#include "classes/classes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kClasses = 8;  // tried for each record
constexpr double kPatience =
    2.0;  // the other class may grow by this multiple of what is saved, before a record leaves it

}  // namespace

Classes::Classes(std::span<const std::int32_t> codes, const std::vector<Attribute>& attributes,
                 std::vector<std::int32_t> class_of, std::int32_t k, std::span<const std::int32_t> owners)
    : codes_(codes), attributes_(attributes), class_of_(std::move(class_of)), k_(at(k)), owners_(owners),
      members_(at(*std::max_element(class_of_.begin(), class_of_.end())) + 1),
      tallies_(members_.size() * attributes.size()), costs_(members_.size()),
      tree_(UnionTree::halves(static_cast<std::int32_t>(members_.size())), attributes),
      leaves_(members_.size()), changed_(members_.size(), 0) {
  for (std::size_t r = 0; r < class_of_.size(); ++r)
    members_[at(class_of_[r])].push_back(static_cast<std::int32_t>(r));
  for (std::size_t node = 0; node < tree_.nodes().size(); ++node)
    if (tree_.nodes()[node].left < 0)
      leaves_[at(tree_.nodes()[node].begin)] = static_cast<std::int32_t>(node);
  for (std::size_t number = 0; number < members_.size(); ++number) {
    renew(static_cast<std::int32_t>(number));
    cost_ += static_cast<double>(members_[number].size()) * costs_[number];
  }
  if (owners.empty()) return;
  for (const auto& members : members_) {
    std::vector<std::int32_t> whose;
    for (const std::int32_t record : members) whose.push_back(owners[at(record)]);
    std::sort(whose.begin(), whose.end());
    fixed_.push_back(std::adjacent_find(whose.begin(), whose.end()) != whose.end());
  }
}

bool Classes::may_change(std::int32_t number) const {
  return fixed_.empty() || !fixed_[at(number)];
}

// Whether a record can come to a class, and another one go from there, -1 for none.
bool Classes::may_come(std::int32_t record, std::int32_t to, std::int32_t partner) const {
  if (owners_.empty()) return true;
  const auto& members = members_[at(to)];
  return std::none_of(members.begin(), members.end(), [&](std::int32_t other) {
    return other != partner && owners_[at(other)] == owners_[at(record)];
  });
}

std::int64_t Classes::sweep() {
  // Records of a batch are in classes far apart, so that one change seldom affects another.
  std::int64_t made = 0;
  const auto finder = [&] {
    return [&, nearby = UnionTree::Nearby{}](std::int32_t record) mutable {
      return best_change(record, nearby);
    };
  };
  const auto act = [&](bool first, std::int32_t record, const Change& found) {
    const auto& [change, to, partner] = found;
    const std::int32_t from = class_of_[at(record)];
    batch_ += first;
    if (change >= -kWorthwhile || changed_[at(from)] == batch_ || changed_[at(to)] == batch_) return;
    move(record, to);
    if (partner >= 0) move(partner, from);
    renew(from);
    renew(to);
    changed_[at(from)] = changed_[at(to)] = batch_;
    cost_ += change;
    ++made;
  };
  in_batches<Change>(class_of_.size(), 1 + members_.size() / 16, finder, act);
  return made;
}

void Classes::rotate(std::span<const std::int32_t> records, double change) {
  const std::int32_t first = class_of_[at(records[0])];
  for (std::size_t i = 0; i < records.size(); ++i)
    move(records[i], i + 1 < records.size() ? class_of_[at(records[i + 1])] : first);
  for (const std::int32_t record : records) renew(class_of_[at(record)]);
  cost_ += change;
}

double Classes::growth(std::int32_t number, const std::int32_t* out, const std::int32_t* in) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    if (out && in && out[a] == in[a]) continue;
    const Attribute& attribute = attributes_[a];
    const auto& [codes, counts] = tallies_[at(number) * attributes_.size() + a];
    const auto place = [&known = codes](std::int32_t code) {
      return at(std::lower_bound(known.begin(), known.end(), code) - known.begin());
    };
    const std::size_t gone = out ? place(out[a]) : codes.size();
    const bool last = out && counts[gone] == 1;
    if (attribute.kind == Kind::set) {
      const std::size_t come = in ? place(in[a]) : codes.size();
      const bool fresh = in && (come == codes.size() || codes[come] != in[a]);
      sum += attribute.weight * attribute.set_cost(2) * (fresh - last);
      continue;
    }
    std::int32_t low = codes.front(), high = codes.back();
    const double now = attribute.interval_cost(low, high);
    if (last && codes.size() == 1) {
      low = high = in ? in[a] : low;
    } else if (last) {
      if (gone == 0) low = codes[1];
      if (gone + 1 == codes.size()) high = codes[gone - 1];
    }
    if (in) {
      low = std::min(low, in[a]);
      high = std::max(high, in[a]);
    }
    sum += attribute.weight * (attribute.interval_cost(low, high) - now);
  }
  return sum;
}

std::uint64_t Classes::shown(std::int32_t number, const std::int32_t* out, const std::int32_t* in) const {
  std::uint64_t mixed = 0;
  const auto mix = [&](std::int32_t code) {
    mixed = (mixed ^ static_cast<std::uint32_t>(code)) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
  };
  std::vector<std::int32_t> left;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const auto& [codes, counts] = tallies_[at(number) * attributes_.size() + a];
    left.clear();
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (!out || codes[i] != out[a] || counts[i] > 1) left.push_back(codes[i]);
    if (in && !std::binary_search(left.begin(), left.end(), in[a]))
      left.insert(std::lower_bound(left.begin(), left.end(), in[a]), in[a]);
    if (attributes_[a].kind == Kind::set) {
      for (const std::int32_t code : left) mix(code);
      mix(-1);
      continue;
    }
    const auto [first, last] = attributes_[a].covered(left.front(), left.back());
    mix(first);
    mix(last);
  }
  return mixed;
}

Classes::Change Classes::best_change(std::int32_t record, UnionTree::Nearby& nearby) const {
  const std::int32_t from = class_of_[at(record)];
  if (!may_change(from)) return {0.0, -1, -1};
  const std::int32_t* own = codes(record);
  const auto size = [&](std::int32_t number) { return static_cast<double>(members_[at(number)].size()); };
  const double without = growth(from, own, nullptr);
  // What its class saves if it leaves, and if another record takes the place of each member.
  const double whole = members_[at(from)].size() > k_ ? costs_[at(from)] - (size(from) - 1.0) * without : 0.0;
  const double each = -without;
  Change best{0.0, -1, -1};
  const double limit = std::max(kPatience * each, whole / static_cast<double>(k_ + 1));
  if (limit <= kWorthwhile) return best;
  tree_.nearest(own, kClasses + 1, limit, nearby);
  for (const auto& [extra, to] : nearby.found) {
    if (to == from || !may_change(to)) continue;
    if (whole > 0.0) {
      const double change = costs_[at(to)] + (size(to) + 1.0) * growth(to, nullptr, own) - whole;
      if (change < best.change && may_come(record, to, -1)) best = {change, to, -1};
    }
    if (each <= kWorthwhile) continue;
    for (const std::int32_t other : members_[at(to)]) {
      const double here = size(from) * growth(from, own, codes(other));
      if (here >= best.change) continue;  // a distant record hardly helps the other class
      const double change = here + size(to) * growth(to, codes(other), own);
      if (change < best.change && may_come(record, to, other) && may_come(other, from, record))
        best = {change, to, other};
    }
  }
  return best;
}

// Moves a record from its class to another one; both have to be updated afterwards.
void Classes::move(std::int32_t record, std::int32_t to) {
  auto& mates = members_[at(class_of_[at(record)])];
  mates.erase(std::find(mates.begin(), mates.end(), record));
  members_[at(to)].push_back(record);
  class_of_[at(record)] = to;
}

void Classes::renew(std::int32_t number) {
  const std::size_t d = attributes_.size();
  const auto& members = members_[at(number)];
  costs_[at(number)] = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const Attribute& attribute = attributes_[a];
    auto& [codes, counts] = tallies_[at(number) * d + a];
    std::vector<std::int32_t> all;
    for (const std::int32_t record : members) all.push_back(this->codes(record)[a]);
    std::sort(all.begin(), all.end());
    codes.clear();
    counts.clear();
    for (const std::int32_t code : all) {
      if (codes.empty() || codes.back() != code) {
        codes.push_back(code);
        counts.push_back(0);
      }
      ++counts.back();
    }
    costs_[at(number)] +=
        attribute.weight * (attribute.kind == Kind::set
                                ? attribute.set_cost(static_cast<std::int64_t>(codes.size()))
                                : attribute.interval_cost(codes.front(), codes.back()));
  }
  records_.clear();
  for (const std::int32_t record : members) records_.push_back(codes(record));
  tree_.set_leaf(leaves_[at(number)], records_);
  for (std::int32_t node = tree_.nodes()[at(leaves_[at(number)])].parent; node >= 0;
       node = tree_.nodes()[at(node)].parent)
    tree_.unite(node);
}

}  // namespace shoal
