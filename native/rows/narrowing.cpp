#include "rows/narrowing.hpp"

#include <algorithm>

#include "base/interruption.hpp"

namespace shoal {

namespace {

constexpr std::uint64_t kAlwaysDense = 1 << 16;

std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15ULL;
  return key ^ (key >> 29);
}

// Calls work with each choice of some of the columns 0, 1, 2, ..., in ascending order.
template <typename Work>
void each_choice(std::int32_t columns, std::int32_t some, const Work& work) {
  std::vector<std::int32_t> chosen;
  for (std::int32_t i = 0; i < some; ++i) chosen.push_back(i);
  while (true) {
    work(chosen);
    std::int32_t i = some - 1;
    while (i >= 0 && chosen[at(i)] == columns - some + i) --i;
    if (i < 0) return;
    ++chosen[at(i)];
    for (std::int32_t j = i + 1; j < some; ++j) chosen[at(j)] = chosen[at(j - 1)] + 1;
  }
}

}  // namespace

Combinations::Combinations(std::vector<std::int32_t> columns, std::span<const NarrowColumn> all,
                           std::span<const std::int32_t> codes)
    : columns_(std::move(columns)) {
  const std::size_t width = all.size(), count = codes.size() / width;
  std::uint64_t product = 1;
  for (const std::int32_t column : columns_) {
    sizes_.push_back(static_cast<std::uint64_t>(all[at(column)].size));
    product *= sizes_.back();
  }
  for (std::size_t record = 0; record < count; ++record) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      key = key * sizes_[i] + static_cast<std::uint64_t>(codes[record * width + at(columns_[i])]);
    }
    keys_.push_back(key);
  }
  std::vector<std::uint64_t> every = keys_;
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  keys_.shrink_to_fit();
  dense_ = product <= std::max<std::uint64_t>(kAlwaysDense, 8 * keys_.size());
  if (!dense_) {
    std::uint64_t room = 16;
    while (room < 2 * keys_.size()) room *= 2;
    table_.assign(room, -1);
    mask_ = room - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::uint64_t place = mixed(keys_[i]) & mask_;
      while (table_[place] >= 0) place = (place + 1) & mask_;
      table_[place] = static_cast<std::int64_t>(i);
    }
  }
  const std::size_t slots = dense_ ? product : keys_.size();
  records.assign(slots, 0);
  rows.assign(slots, 0);
  for (const std::uint64_t key : every) ++records[at(slot(key))];
}

std::int64_t Combinations::slot(std::uint64_t key) const {
  if (dense_) return static_cast<std::int64_t>(key);
  std::uint64_t place = mixed(key) & mask_;
  while (table_[place] >= 0 && keys_[at(table_[place])] != key) place = (place + 1) & mask_;
  return table_[place];
}

template <typename Work>
bool Combinations::each(std::span<const std::vector<std::int32_t>* const> lists,
                        std::span<const std::vector<std::uint8_t>* const> inside, const Work& work) const {
  const std::size_t depth = columns_.size();
  double product = 1;
  for (const auto* list : lists) product *= static_cast<double>(list->size());
  if (product == 0) return true;
  if (product > 2.0 * static_cast<double>(keys_.size())) {  // fewer occur than there are in the box
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::uint64_t rest = keys_[i];
      bool in = true;
      for (std::size_t column = depth; column-- > 0 && in; rest /= sizes_[column]) {
        in = (*inside[column])[rest % sizes_[column]] != 0;
      }
      if (in && !work(dense_ ? keys_[i] : i)) return false;
    }
    return true;
  }
  std::array<std::size_t, kMostKnown> turn{};
  while (true) {
    std::uint64_t base = 0;
    for (std::size_t i = 0; i + 1 < depth; ++i) {
      base = base * sizes_[i] + static_cast<std::uint64_t>((*lists[i])[turn[i]]);
    }
    base *= sizes_[depth - 1];
    for (const std::int32_t code : *lists[depth - 1]) {
      const std::int64_t found = slot(base + static_cast<std::uint64_t>(code));
      if (found >= 0 && records[at(found)] > 0 && !work(at(found))) return false;
    }
    std::size_t i = depth - 1;
    while (i > 0 && ++turn[i - 1] == lists[i - 1]->size()) turn[--i] = 0;
    if (i == 0) return true;
  }
}

Narrowing::Narrowing(std::span<const std::int32_t> codes, std::vector<NarrowColumn> columns,
                     std::int32_t knows, std::int64_t k)
    : codes_(codes), columns_(std::move(columns)), k_(k), of_column_(columns_.size()) {
  const auto width = static_cast<std::int32_t>(columns_.size());
  each_choice(width, std::min(knows, width), [&](const std::vector<std::int32_t>& chosen) {
    pause();
    for (const std::int32_t column : chosen) of_column_[at(column)].push_back(combinations_.size());
    combinations_.emplace_back(chosen, columns_, codes_);
  });
  cells_.resize(codes_.size());
  std::size_t largest = 0;
  for (const auto& column : columns_) {
    inside_.emplace_back(at(column.size), std::uint8_t{0});
    largest = std::max(largest, at(column.size));
  }
  is_kept_.assign(largest, 0);
  is_gone_.assign(largest, 0);
}

void Narrowing::add(std::span<const std::int32_t> rows, const std::vector<Codes>& cells) {
  pause_sometimes();
  for (const std::int32_t row : rows) {
    for (std::size_t i = 0; i < columns_.size(); ++i) cells_[at(row) * columns_.size() + i] = cells[i];
  }
  if (rows.empty()) return;
  load(at(rows.front()));
  const auto more = static_cast<std::int32_t>(rows.size());
  for (auto& some : combinations_) {
    each(some, -1, false, [&](std::size_t slot) {
      some.rows[slot] += more;
      return true;
    });
  }
}

std::int64_t Narrowing::narrow(std::span<const std::int64_t> cells) {
  std::int64_t narrower = 0;
  for (const std::int64_t place : cells) {
    pause_sometimes();
    load(at(place) / columns_.size());
    narrower += narrow_cell(static_cast<std::int32_t>(at(place) % columns_.size()));
  }
  return narrower;
}

void Narrowing::load(std::size_t row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const std::int32_t code : cells_[row_ * columns_.size() + i]) inside_[i][at(code)] = 0;
  }
  row_ = row;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const std::int32_t code : cells_[row_ * columns_.size() + i]) inside_[i][at(code)] = 1;
  }
}

bool Narrowing::narrow_cell(std::int32_t column) {
  if (cells_[row_ * columns_.size() + at(column)].size() <= 1) return false;
  switch (columns_[at(column)].shape) {
    case CellShape::kRange:
      return narrow_range(column);
    case CellShape::kSet:
      return narrow_set(column);
    case CellShape::kTree:
      return narrow_tree(column);
  }
  return false;
}

// The whole domain is the only cell with numbers and the missing value.
bool Narrowing::narrow_range(std::int32_t column) {
  const Codes& cell = cells_[row_ * columns_.size() + at(column)];
  const std::int32_t own = codes_[row_ * columns_.size() + at(column)];
  const std::int32_t missing = columns_[at(column)].missing;
  if (keeps(column, [&](std::int32_t code) { return code == own; })) return true;
  bool narrower = false;
  if (missing >= 0 && cell.back() == missing) {
    if (own == missing) return false;
    if (!keeps(column, [&](std::int32_t code) { return code != missing; })) return false;
    narrower = true;
  }
  for (const bool lower : {true, false}) {
    std::int32_t step = lower ? own - cell.front() : cell.back() - own;
    while (step > 0) {
      const std::int32_t low = lower ? cell.front() + step : cell.front();
      const std::int32_t high = lower ? cell.back() : cell.back() - step;
      if (low <= own && own <= high &&
          keeps(column, [&](std::int32_t code) { return low <= code && code <= high; })) {
        narrower = true;
      } else {
        step /= 2;
      }
    }
  }
  return narrower;
}

bool Narrowing::narrow_set(std::int32_t column) {
  const std::int32_t own = codes_[row_ * columns_.size() + at(column)];
  if (keeps(column, [&](std::int32_t code) { return code == own; })) return true;
  bool narrower = false;
  const Codes members = cells_[row_ * columns_.size() + at(column)];
  for (const std::int32_t member : members) {
    if (member != own) narrower |= keeps(column, [&](std::int32_t code) { return code != member; });
  }
  return narrower;
}

bool Narrowing::narrow_tree(std::int32_t column) {
  const NarrowColumn& tree = columns_[at(column)];
  const std::size_t size = cells_[row_ * columns_.size() + at(column)].size();
  std::int32_t node = tree.leaf[at(codes_[row_ * columns_.size() + at(column)])];
  while (node >= 0) {
    const std::int32_t low = tree.first[at(node)], high = tree.last[at(node)];
    if (at(high - low) + 1 >= size) return false;
    if (keeps(column, [&](std::int32_t code) { return low <= code && code <= high; })) return true;
    node = tree.parent[at(node)];
  }
  return false;
}

// Leaves only some codes in a cell of the current row, if that is allowed.
template <typename Keep>
bool Narrowing::keeps(std::int32_t column, const Keep& keep) {
  Codes& cell = cells_[row_ * columns_.size() + at(column)];
  kept_.clear();
  gone_.clear();
  for (const std::int32_t code : cell) (keep(code) ? kept_ : gone_).push_back(code);
  for (const std::int32_t code : kept_) is_kept_[at(code)] = 1;
  for (const std::int32_t code : gone_) is_gone_[at(code)] = 1;
  const bool possible = !gone_.empty() && allowed(column);
  if (possible) {
    for (const std::size_t some : of_column_[at(column)]) {
      each(combinations_[some], column, true, [&](std::size_t slot) {
        --combinations_[some].rows[slot];
        return true;
      });
    }
    for (const std::int32_t code : gone_) inside_[at(column)][at(code)] = 0;
  }
  for (const std::int32_t code : kept_) is_kept_[at(code)] = 0;
  for (const std::int32_t code : gone_) is_gone_[at(code)] = 0;
  if (possible) cell = kept_;
  return possible;
}

bool Narrowing::allowed(std::int32_t column) {
  for (const std::size_t place : of_column_[at(column)]) {
    const Combinations& some = combinations_[place];
    if (!each(some, column, true, [&](std::size_t slot) { return some.rows[slot] > k_; })) return false;
    std::int64_t covered = 0;
    each(some, column, false, [&](std::size_t slot) {
      covered += some.records[slot];
      return covered < k_;
    });
    if (covered < k_) return false;
  }
  return true;
}

// Looks at the combinations that the current row covers; in one column, at codes that go or stay instead.
template <typename Work>
bool Narrowing::each(const Combinations& some, std::int32_t column, bool removed, const Work& work) const {
  std::array<const Codes*, kMostKnown> lists;
  std::array<const std::vector<std::uint8_t>*, kMostKnown> inside;
  std::size_t depth = 0;
  for (const std::int32_t other : some.columns()) {
    const bool changed = other == column;
    lists[depth] = !changed ? &cells_[row_ * columns_.size() + at(other)] : removed ? &gone_ : &kept_;
    inside[depth++] = !changed ? &inside_[at(other)] : removed ? &is_gone_ : &is_kept_;
  }
  return some.each({lists.data(), depth}, {inside.data(), depth}, work);
}

}  // namespace shoal
