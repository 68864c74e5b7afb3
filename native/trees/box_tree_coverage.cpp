// Which records lie in which boxes of a box tree.
#include <vector>

#include "base/numbers.hpp"
#include "trees/box_tree.hpp"

namespace shoal {

// Whether a record may be covered by these cells, of a box or of a union of boxes.
bool BoxTree::may_cover(const Cell* cells, const std::int32_t* record) const {
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const auto& attribute = attributes_[a];
    const bool may = attribute.kind == Kind::set
                         ? cells[a].may_have(record[a])
                         : attribute.spans(cells[a].low(), cells[a].high(), record[a]);
    if (!may) return false;
  }
  return true;
}

// Whether a box of these cells may cover a record below a node.
bool BoxTree::may_lie_below(std::int32_t node, const Cell* cells) const {
  const std::size_t d = attributes_.size();
  const Cell* below = records_below(node);
  for (std::size_t a = 0; a < d; ++a) {
    const auto& attribute = attributes_[a];
    const bool may = attribute.kind == Kind::set
                         ? cells[a].may_share(below[a])
                         : attribute.spans(cells[a].low(), cells[a].high(), below[a].nearest_to(cells[a]));
    if (!may) return false;
  }
  return true;
}

// Whether a box of these cells covers all records below a node. If a set has more than 64 codes, its bits do
// not tell.
bool BoxTree::covers_below(const Cell* cells, std::int32_t node) const {
  const Cell* below = records_below(node);
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const auto& attribute = attributes_[a];
    const auto spans = [&](std::int32_t code) {
      return attribute.spans(cells[a].low(), cells[a].high(), code);
    };
    const bool all = attribute.kind == Kind::set
                         ? attribute.size <= 64 && (below[a].bits() & ~cells[a].bits()) == 0
                         : spans(below[a].low()) && spans(below[a].high());
    if (!all) return false;
  }
  return true;
}

bool BoxTree::covers(std::int32_t box, const std::int32_t* record) const {
  const std::size_t d = attributes_.size();
  if (!may_cover(boxes_.data() + at(box) * d, record)) return false;
  for (std::size_t a = 0; a < d; ++a)
    if (attributes_[a].kind == Kind::set && attributes_[a].size > 64 && !has_code(box, a, record[a]))
      return false;
  return true;
}

// Enters every node that has something left and that `enter` lets pass, and looks at the places in leaves,
// until that returns true.
template <typename Enter, typename Look>
void BoxTree::visit_until(Search& search, const std::vector<std::int32_t>& left, const Enter& enter,
                          const Look& look) const {
  auto& stack = search.stack;
  stack.assign(1, {0, 0.0});
  while (!stack.empty()) {
    const std::int32_t index = stack.back().node;
    stack.pop_back();
    if (left[at(index)] == 0 || !enter(index)) continue;
    ++search.visited;
    const Node& node = nodes_[at(index)];
    if (node.left >= 0) {
      stack.push_back({node.left + 1, 0.0});
      stack.push_back({node.left, 0.0});
      continue;
    }
    for (std::int32_t place = node.begin; place < node.end; ++place)
      if (look(place)) return;
  }
}

template <typename Enter, typename Look>
void BoxTree::visit(Search& search, const std::vector<std::int32_t>& left, const Enter& enter,
                    const Look& look) const {
  visit_until(search, left, enter, [&](std::int32_t place) {
    look(place);
    return false;
  });
}

std::vector<std::int32_t> BoxTree::types_in(std::int32_t box, Search& search) const {
  std::vector<std::int32_t> found;
  const Cell* cells = boxes_.data() + at(box) * attributes_.size();
  visit(
      search, records_left_,
      [&](std::int32_t node) {
        // A node with equal records alone has nothing new, unless the first of them is there.
        const Node& n = nodes_[at(node)];
        return first_of_[at(n.end - 1)] >= n.begin && may_lie_below(node, cells);
      },
      [&](std::int32_t record) {
        if (first_of_[at(record)] == record && covers(box, codes(record))) found.push_back(record);
      });
  return found;
}

bool BoxTree::is_covered(std::int32_t record, std::int64_t times, Search& search) const {
  const std::int32_t* wanted = codes(record);
  std::int64_t found = 0;
  visit_until(
      search, boxes_left_,
      [&](std::int32_t node) { return may_cover(unions_.data() + at(node) * attributes_.size(), wanted); },
      [&](std::int32_t box) {
        found += !box_deleted_[at(box)] && covers(box, wanted);
        return found >= times;
      });
  return found >= times;
}

std::vector<std::int32_t> BoxTree::records_in(std::int32_t box, Search& search) const {
  std::vector<std::int32_t> found;
  visit(
      search, records_left_,
      [&](std::int32_t node) { return may_lie_below(node, boxes_.data() + at(box) * attributes_.size()); },
      [&](std::int32_t record) {
        if (!record_deleted_[at(record)] && covers(box, codes(record))) found.push_back(record);
      });
  return found;
}

std::vector<std::int32_t> BoxTree::types_added(std::int32_t box, std::int32_t record, Search& search) const {
  const std::size_t d = attributes_.size();
  const Cell* before = boxes_.data() + at(box) * d;
  std::vector<Cell> cells(before, before + d);
  for (std::size_t a = 0; a < d; ++a) cells[a].unite(attributes_[a], Cell(attributes_[a], codes(record)[a]));
  const auto covered = [&](std::int32_t other) {
    if (!may_cover(cells.data(), codes(other))) return false;
    for (std::size_t a = 0; a < d; ++a)
      if (attributes_[a].kind == Kind::set && attributes_[a].size > 64 &&
          codes(other)[a] != codes(record)[a] && !has_code(box, a, codes(other)[a]))
        return false;
    return true;
  };
  std::vector<std::int32_t> found;
  visit(
      search, records_left_,
      [&](std::int32_t node) {
        const Node& n = nodes_[at(node)];
        return first_of_[at(n.end - 1)] >= n.begin && may_lie_below(node, cells.data()) &&
               !covers_below(before, node);
      },
      [&](std::int32_t other) {
        if (first_of_[at(other)] == other && !record_deleted_[at(other)] && covered(other) &&
            !covers(box, codes(other)))
          found.push_back(other);
      });
  return found;
}

std::vector<std::int32_t> BoxTree::boxes_around(std::int32_t record, Search& search) const {
  const std::int32_t* wanted = codes(record);
  std::vector<std::int32_t> found;
  visit(
      search, boxes_left_,
      [&](std::int32_t node) { return may_cover(unions_.data() + at(node) * attributes_.size(), wanted); },
      [&](std::int32_t box) {
        if (!box_deleted_[at(box)] && covers(box, wanted)) found.push_back(box);
      });
  return found;
}

}  // namespace shoal
