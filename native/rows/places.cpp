#include "rows/places.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"

namespace shoal {
namespace {

constexpr std::size_t kSeen = 200;     // records that a search sees before a row may grow
constexpr std::size_t kTried = 4;      // records on paths for which a row may grow
constexpr std::size_t kRenewals = 64;  // how many times it is found out anew which rows lead on

}  // namespace

Places::Places(OwnRows& rows, std::int32_t degree)
    : rows_(rows), degree_(degree), covered_(at(rows.count())), around_(covered_), held_(covered_),
      places_(covered_), leads_on_(at(rows.count()), 0), from_record_(at(rows.count()), -1),
      from_row_(at(rows.count()), -1) {
  for (std::int32_t row = 0; row < rows.count(); ++row) {
    if (rows.withheld(row)) continue;
    for (const std::int32_t record : rows.tree().records_in(row, search_.tree))
      if (!rows.withheld(record)) {
        covered_[at(row)].push_back(record);
        around_[at(record)].push_back(row);
      }
  }
}

bool Places::holds(std::int32_t row, std::int32_t record) const {
  const auto& all = held_[at(row)];
  return std::find(all.begin(), all.end(), record) != all.end();
}

void Places::hold(std::int32_t row, std::int32_t record) {
  held_[at(row)].push_back(record);
  places_[at(record)].push_back(row);
}

void Places::release(std::int32_t row, std::int32_t record) {
  std::erase(held_[at(row)], record);
  std::erase(places_[at(record)], row);
}

void Places::grow(std::int32_t row, std::int32_t record) {
  if (rows_.covers(row, record)) return;
  rows_.grow(row, record);
  const auto before = std::exchange(covered_[at(row)], rows_.tree().records_in(row, search_.tree));
  std::erase_if(covered_[at(row)], [&](std::int32_t each) { return rows_.withheld(each); });
  std::vector<std::int32_t> added;
  std::set_difference(covered_[at(row)].begin(), covered_[at(row)].end(), before.begin(), before.end(),
                      std::back_inserter(added));
  for (const std::int32_t each : added) around_[at(each)].push_back(row);
}

void Places::fill(std::int64_t widest) {
  fill_greedily();
  fill_without_growing();
  std::vector<std::pair<double, std::int32_t>> lacking;  // records far from others have little choice
  for (std::int32_t record = 0; record < rows_.count(); ++record)
    if (!rows_.withheld(record) && lacks(record)) lacking.emplace_back(-rows_.prices().cost(record), record);
  std::sort(lacking.begin(), lacking.end());
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    if (i % (lacking.size() / kRenewals + 1) == 0) mark_rows_that_lead_on();
    pause_sometimes();
    while (lacks(lacking[i].second)) place(lacking[i].second, widest);
  }
}

// Every row has a place for its own record. Then records that few rows cover come first.
void Places::fill_greedily() {
  std::vector<std::int32_t> order;
  for (std::int32_t record = 0; record < rows_.count(); ++record)
    if (!rows_.withheld(record)) {
      order.push_back(record);
      hold(record, record);
    }
  const auto fewer = [](const auto& sizes) {
    return [&sizes](std::int32_t x, std::int32_t y) { return sizes[at(x)].size() < sizes[at(y)].size(); };
  };
  std::stable_sort(order.begin(), order.end(), fewer(around_));
  for (const std::int32_t record : order) {
    auto near = around_[at(record)];
    std::stable_sort(near.begin(), near.end(), fewer(held_));
    for (const std::int32_t row : near)
      if (lacks(record) && row != record && !full(row)) hold(row, record);
  }
}

// What a search without a result has seen leads nowhere: later ones need not look at it.
void Places::fill_without_growing() {
  for (std::int32_t record = 0; record < rows_.count(); ++record)
    while (!rows_.withheld(record) && lacks(record) && from_row_[at(record)] < 0) {
      const auto rows = rows_seen_.size(), records = records_seen_.size();
      begin(record);
      const std::int32_t end = search_path(at(rows_.count()));
      if (end < 0) break;
      pass_on(end);
      forget(rows, records);
    }
  forget(0, 0);
}

void Places::place(std::int32_t record, std::int64_t widest) {
  begin(record);
  if (const std::int32_t end = search_path(kSeen); end >= 0) {
    pass_on(end);
  } else if (!place_by_growing(widest, kTried)) {
    mark_rows_that_lead_on();
    forget(0, 0);
    begin(record);
    const std::int32_t far = search_path(at(rows_.count()));
    if (far >= 0)
      pass_on(far);
    else if (!place_by_growing(std::numeric_limits<std::int64_t>::max(), records_seen_.size()))
      change_places(record);
  }
  forget(0, 0);
}

// Lets the row grow for which that costs least, of those that lead on.
bool Places::place_by_growing(std::int64_t widest, std::size_t tried) {
  while (true) {
    const Step step = cheapest_growth(widest, tried);
    if (step.row < 0) return false;
    from_record_[at(step.row)] = step.record;
    rows_seen_.push_back(step.row);
    std::int32_t end = step.row;
    if (full(step.row)) {
      next_ = records_seen_.size();
      for (const std::int32_t other : held_[at(step.row)]) see(other, step.row);
      end = search_path(at(rows_.count()));
    }
    if (end >= 0) {
      pass_on(end);
      return true;
    }
    leads_on_[at(step.row)] = 0;  // no longer, unless another row grows as well
  }
}

Places::Step Places::cheapest_growth(std::int64_t widest, std::size_t tried) {
  Step best;
  for (std::size_t i = 0; i < std::min(tried, records_seen_.size()); ++i) {
    const std::int32_t record = records_seen_[i];
    const auto near = rows_.prices().nearest_boxes(
        record, 1,
        [&](std::int32_t row) {
          return leads_on_[at(row)] != 0 && from_record_[at(row)] < 0 &&
                 std::ssize(covered_[at(row)]) < widest && !rows_.covers(row, record);
        },
        search_);
    if (!near.empty() && near[0].cost < best.cost) best = {near[0].cost, near[0].box, record};
  }
  return best;
}

// A record that only rows without a further place could take: one of them takes it in anyway, and passes on
// a record to a row that has a place.
void Places::change_places(std::int32_t record) {
  std::int32_t open = 0;
  while (rows_.withheld(open) || full(open)) ++open;
  const auto near = rows_.prices().nearest_boxes(
      record, 1, [&](std::int32_t row) { return !rows_.withheld(row) && full(row) && !holds(row, record); },
      search_);
  const std::int32_t row = near[0].box;
  const auto& all = held_[at(row)];
  const std::int32_t passed =
      *std::find_if(all.begin(), all.end(), [&](std::int32_t each) { return !holds(open, each); });
  release(row, passed);
  grow(row, record);
  hold(row, record);
  grow(open, passed);
  hold(open, passed);
}

// From the rows that are not full, back to the rows that could pass on a record.
void Places::mark_rows_that_lead_on() {
  pause();
  std::fill(leads_on_.begin(), leads_on_.end(), 0);
  std::vector<std::uint8_t> seen(at(rows_.count()), 0);
  std::vector<std::int32_t> waiting;
  for (std::int32_t row = 0; row < rows_.count(); ++row)
    if (!rows_.withheld(row) && !full(row)) {
      leads_on_[at(row)] = 1;
      waiting.push_back(row);
    }
  while (!waiting.empty()) {
    const std::int32_t row = waiting.back();
    waiting.pop_back();
    for (const std::int32_t record : covered_[at(row)]) {
      if (seen[at(record)] != 0 || holds(row, record)) continue;
      seen[at(record)] = 1;
      for (const std::int32_t other : places_[at(record)])
        if (std::exchange(leads_on_[at(other)], std::uint8_t{1}) == 0) waiting.push_back(other);
    }
  }
}

void Places::see(std::int32_t record, std::int32_t row) {
  if (from_row_[at(record)] >= 0) return;
  from_row_[at(record)] = row;
  records_seen_.push_back(record);
}

std::int32_t Places::search_path(std::size_t most) {
  for (; next_ < records_seen_.size() && records_seen_.size() <= most; ++next_) {
    const std::int32_t record = records_seen_[next_];
    for (const std::int32_t row : around_[at(record)]) {
      if (from_record_[at(row)] >= 0 || holds(row, record)) continue;
      from_record_[at(row)] = record;
      rows_seen_.push_back(row);
      if (!full(row)) return row;
      for (const std::int32_t other : held_[at(row)]) see(other, row);
    }
  }
  return -1;
}

void Places::pass_on(std::int32_t row) {
  while (true) {
    const std::int32_t record = from_record_[at(row)];
    grow(row, record);
    hold(row, record);
    row = from_row_[at(record)];
    if (row == rows_.count()) return;
    release(row, record);
  }
}

// Keeps only the first `rows` rows and `records` records that were seen.
void Places::forget(std::size_t rows, std::size_t records) {
  for (; rows_seen_.size() > rows; rows_seen_.pop_back()) from_record_[at(rows_seen_.back())] = -1;
  for (; records_seen_.size() > records; records_seen_.pop_back()) from_row_[at(records_seen_.back())] = -1;
  next_ = records;
}

}  // namespace shoal
