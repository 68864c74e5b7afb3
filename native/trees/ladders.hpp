// Ladders: a box around a record, seen from that record.
//
// Seen from one record, a box is a height on each of several ladders: how far an interval reaches down and
// up, how high in the tree a node is, and whether a category is in a set. A height costs what it measures,
// and another record is covered if the box is high enough on each of its ladders.
//
// Example: seen from the age 20 in 0..100, the record of 30 needs the height 0.1 on the ladder `up`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/numbers.hpp"
#include "base/space.hpp"

namespace shoal {

// What a record needs to be covered.
struct Need {
  std::int32_t ladder;
  double height;
};

class Ladders {
 public:
  explicit Ladders(const std::vector<Attribute>& attributes) : attributes_(attributes) {
    std::size_t categories = 0;
    for (const Attribute& attribute : attributes) {
      first_category_.push_back(categories);
      if (attribute.kind == Kind::set) categories += at(attribute.size);
    }
    category_ladders_.assign(categories, -1);
  }

  // Begins anew, with boxes around a record of these codes.
  void begin(const std::int32_t* own) {
    own_ = own;
    for (const std::size_t category : categories_) category_ladders_[category] = -1;
    categories_.clear();
  }

  std::size_t count() const { return 2 * attributes_.size() + categories_.size(); }

  // Appends what another record needs.
  void add_needs(const std::int32_t* codes, std::vector<Need>& needs) {
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const Attribute& attribute = attributes_[a];
      const std::int32_t code = codes[a], own = own_[a];
      if (code == own) continue;
      const auto down = static_cast<std::int32_t>(2 * a), up = down + 1;
      if (attribute.kind == Kind::set) {
        needs.push_back({ladder_of_category(a, code), attribute.weight * attribute.set_cost(2)});
      } else if (attribute.is_missing(code)) {  // together with a number that is everything
        const double to_lowest = attribute.weight * attribute.interval_cost(0, own);
        needs.push_back({down, to_lowest});
        needs.push_back({up, attribute.weight - to_lowest});
      } else {
        const double cost =
            attribute.weight * attribute.interval_cost(std::min(code, own), std::max(code, own));
        needs.push_back({attribute.kind == Kind::tree || code < own ? down : up, cost});
      }
    }
  }

 private:
  std::int32_t ladder_of_category(std::size_t attribute, std::int32_t code) {
    const std::size_t category = first_category_[attribute] + at(code);
    if (category_ladders_[category] < 0) {
      category_ladders_[category] = static_cast<std::int32_t>(count());
      categories_.push_back(category);
    }
    return category_ladders_[category];
  }

  const std::vector<Attribute>& attributes_;
  const std::int32_t* own_ = nullptr;
  std::vector<std::size_t> first_category_;     // of each attribute in the next
  std::vector<std::int32_t> category_ladders_;  // -1 for categories that no record has
  std::vector<std::size_t> categories_;         // those that records have
};

}  // namespace shoal
