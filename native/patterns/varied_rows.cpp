#include "patterns/varied_rows.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace shoal {
namespace {

Crowd counted(const Sensitive& column, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> labels;
  for (const std::int32_t row : rows) labels.push_back(column.codes[at(row)]);
  std::sort(labels.begin(), labels.end());
  Crowd crowd;
  for (const std::int32_t label : labels) {
    if (crowd.empty() || crowd.back().first != label) crowd.emplace_back(label, 0);
    ++crowd.back().second;
  }
  return crowd;
}

bool enough(const Sensitive& column, const Crowd& crowd, std::size_t rows) {
  return miss(column.asked, crowd, kNobody, kNobody, static_cast<double>(rows)) <= 0.0;
}

// Whether one row of each label would be enough: no rows with these labels are more varied.
bool possible(const Sensitive& column, Crowd crowd) {
  for (auto& [label, often] : crowd) often = 1;
  return enough(column, crowd, crowd.size());
}

std::int32_t most_frequent(const Crowd& crowd) {
  return std::max_element(crowd.begin(), crowd.end(),
                          [](const auto& one, const auto& other) { return one.second < other.second; })
      ->first;
}

}  // namespace

VariedRows::VariedRows(std::vector<Sensitive> columns) : columns_(std::move(columns)) {
  std::erase_if(columns_, [](const Sensitive& column) { return !column.asked.any(); });
  for (Sensitive& column : columns_) column.asked = column.asked.eased();
}

bool VariedRows::holds(std::span<const std::int32_t> rows) const {
  return std::all_of(columns_.begin(), columns_.end(), [&](const Sensitive& column) {
    return enough(column, counted(column, rows), rows.size());
  });
}

std::vector<std::int32_t> VariedRows::part(std::span<const std::int32_t> rows, std::int64_t k) const {
  std::vector<std::int32_t> left(rows.begin(), rows.end());
  std::vector<Crowd> crowds;
  for (const Sensitive& column : columns_) {
    crowds.push_back(counted(column, rows));
    if (!possible(column, crowds.back())) return {};
  }
  while (static_cast<std::int64_t>(left.size()) >= k) {
    std::size_t wrong = 0;
    while (wrong < columns_.size() && enough(columns_[wrong], crowds[wrong], left.size())) ++wrong;
    if (wrong == columns_.size()) return left;
    const std::int32_t label = most_frequent(crowds[wrong]);
    const auto last = std::find_if(left.rbegin(), left.rend(),
                                   [&](std::int32_t row) { return columns_[wrong].codes[at(row)] == label; });
    for (std::size_t c = 0; c < columns_.size(); ++c) change(crowds[c], columns_[c].codes[at(*last)], -1);
    left.erase(std::next(last).base());
  }
  return {};
}

}  // namespace shoal
