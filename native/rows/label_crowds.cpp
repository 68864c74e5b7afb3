#include "rows/label_crowds.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {

LabelCrowds::LabelCrowds(const OwnRows& rows, Bonds* bonds,
                         const std::vector<std::vector<std::int32_t>>& columns, const Variety& asked)
    : rows_(rows), bonds_(bonds), columns_(columns), asked_(asked),
      crowds_(columns.size(), std::vector<Crowd>(at(rows.count()))), around_(at(rows.count())) {
  std::vector<std::int32_t> components;  // to look up a component changes the bonds
  for (std::int32_t i = 0; bonds_ && i < rows_.count(); ++i) components.push_back(bonds_->component(i));
  const BoxTree& tree = rows_.tree();
  share(at(rows_.count()), 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t i) mutable {
      const auto type = static_cast<std::int32_t>(i);
      if (tree.first_of(type) != type) return;
      for (const std::int32_t row : tree.boxes_around(type, search))
        if (components.empty() || components[at(row)] == components[i])
          count(type, row);
        else
          around_[i].apart.push_back(row);
    };
  });
  std::int32_t labels = 0;
  if (columns_.size() == 1)
    for (const std::int32_t label : columns_[0]) labels = std::max(labels, label + 1);
  answers_.resize(at(labels));
}

void LabelCrowds::count(std::int32_t type, std::int32_t row) {
  for (std::size_t column = 0; column < columns_.size(); ++column)
    change(crowds_[column][at(type)], columns_[column][at(row)], 1);
  ++around_[at(type)].rows;
  around_[at(type)].known = false;
}

// Components only become larger: rows that were in another one may count now.
void LabelCrowds::join(std::int32_t type) {
  std::erase_if(around_[at(type)].apart, [&](std::int32_t row) {
    if (!together(row, type)) return false;
    count(type, row);
    return true;
  });
}

double LabelCrowds::miss_with(std::int32_t type, std::int32_t row) const {
  const double rows = static_cast<double>(around_[at(type)].rows) + (row != kNobody);
  double sum = 0.0;
  for (std::size_t column = 0; column < columns_.size(); ++column)
    sum += shoal::miss(asked_, crowds_[column][at(type)], kNobody,
                       row == kNobody ? kNobody : columns_[column][at(row)], rows);
  return sum;
}

double LabelCrowds::miss(std::int32_t type) {
  join(type);
  Around& around = around_[at(type)];
  if (!around.known) {
    around.miss = around.rows == 0 ? 0.0 : miss_with(type, kNobody);
    around.known = true;
  }
  ++turn_;
  return around.miss;
}

bool LabelCrowds::mends(std::int32_t type, std::int32_t row) {
  const auto ask = [&] { return around_[at(type)].miss - miss_with(type, row) > kWorthwhile; };
  if (answers_.empty()) return ask();
  Answer& answer = answers_[at(columns_[0][at(row)])];
  if (answer.turn != turn_) answer = {turn_, ask()};
  return answer.mends;
}

bool LabelCrowds::counts(std::int32_t type, std::int32_t row) const {
  return rows_.covers(row, type) && together(row, type);
}

void LabelCrowds::add(std::int32_t row, std::span<const std::int32_t> types) {
  for (const std::int32_t type : types) {
    if (together(row, type))
      count(type, row);
    else
      around_[at(type)].apart.push_back(row);
  }
}

}  // namespace shoal
