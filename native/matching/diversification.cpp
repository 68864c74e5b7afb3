#include "matching/diversification.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/grouping.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::int64_t kPartners = 2000;  // the maximum number of partners to try for one record
constexpr std::size_t kMoves = 12;        // the number of moves to compare
constexpr std::size_t kKept = 8;          // with fewer left, moves are searched anew

using Types = std::vector<std::int32_t>;

Types only_in(const Types& these, const Types& not_these) {
  Types rest;
  std::set_difference(these.begin(), these.end(), not_these.begin(), not_these.end(),
                      std::back_inserter(rest));
  return rest;
}

}  // namespace

Diversification::Diversification(BoxTree& tree, std::vector<std::vector<std::int32_t>> columns,
                                 const Variety& asked, std::vector<std::int32_t> owners, double least,
                                 std::vector<std::int32_t> record_of, std::int64_t widest)
    : tree_(tree), columns_(std::move(columns)), asked_(columns_.size(), asked.eased()), widest_(widest),
      record_of_(std::move(record_of)), row_of_(record_of_.size()), width_(record_of_.size()),
      type_of_(record_of_.size()), marked_(record_of_.size(), 0) {
  const std::int32_t n = tree.rows();
  for (std::int32_t row = 0; row < n; ++row) row_of_[at(record_of_[at(row)])] = row;
  const auto first =
      group_rows(tree.codes(0), n, static_cast<std::int64_t>(tree.attributes()), type_of_.data());
  place_of_.assign(first.begin(), first.end());
  places_of_.resize(first.size());
  for (std::int32_t place = 0; place < n; ++place) {
    places_of_[at(type_of_[at(place)])].push_back(place);
    if (place_of_[at(type_of_[at(place)])] != place) tree_.delete_record(place);
  }
  if (!owners.empty()) {
    for (const auto& places : places_of_) {
      auto& whose = owners_.emplace_back();
      for (const std::int32_t place : places) whose.push_back(owners[at(place)]);
      std::sort(whose.begin(), whose.end());
      whose.erase(std::unique(whose.begin(), whose.end()), whose.end());
    }
    columns_.push_back(std::move(owners));
    asked_.push_back(Variety{least, 0, 0.0}.eased());
  }
  inside_.resize(at(n));
  share(at(n), 64, [&] {
    return [&, search = BoxTree::Search{}](std::size_t row) mutable {
      inside_[row] = types_of(tree_.records_in(static_cast<std::int32_t>(row), search));
    };
  });
  crowds_.assign(columns_.size(), std::vector<Crowd>(first.size()));
  around_.resize(first.size());
  misses_.assign(first.size(), 0.0);
  for (std::int32_t row = 0; row < n; ++row) {
    for (const std::int32_t type : inside_[at(row)]) {
      change(type, kNobody, record_of_[at(row)]);
      around_[at(type)].push_back(row);
    }
    width_[at(row)] = records(inside_[at(row)]);
  }
  for (std::size_t type = 0; type < first.size(); ++type) renew(static_cast<std::int32_t>(type));
}

std::int64_t Diversification::violated() const {
  std::int64_t count = 0;
  for (std::size_t type = 0; type < misses_.size(); ++type)
    if (misses_[type] > 0.0) count += static_cast<std::int64_t>(places_of_[type].size());
  return count;
}

double Diversification::shortfall() const {
  return std::accumulate(misses_.begin(), misses_.end(), 0.0);
}

double Diversification::miss(std::int32_t type, std::int32_t without, std::int32_t with) const {
  const double rows =
      static_cast<double>(around_[at(type)].size()) - (without != kNobody) + (with != kNobody);
  double sum = 0.0;
  for (std::size_t column = 0; column < columns_.size(); ++column)
    sum += shoal::miss(asked_[column], crowds_[column][at(type)], label(column, type, without),
                       label(column, type, with), rows);
  return sum;
}

// What a row that carries this record adds to the labels around a type. Around a record only its own owner
// counts: rows of others tell nothing about her.
std::int32_t Diversification::label(std::size_t column, std::int32_t type, std::int32_t record) const {
  if (record == kNobody) return kNobody;
  const std::int32_t label = columns_[column][at(record)];
  if (owners_.empty() || column + 1 < columns_.size()) return label;
  const auto& whose = owners_[at(type)];
  return std::binary_search(whose.begin(), whose.end(), label) ? label : kNobody;
}

// A change of one row that covers the type: it has the label of another record now, or covers it only now.
void Diversification::change(std::int32_t type, std::int32_t without, std::int32_t with) {
  const auto count = [&](std::size_t column, std::int32_t record, std::int32_t by) {
    const std::int32_t counted = label(column, type, record);
    if (counted != kNobody) shoal::change(crowds_[column][at(type)], counted, by);
  };
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    count(column, without, -1);
    count(column, with, 1);
  }
}

void Diversification::renew(std::int32_t type) {
  misses_[at(type)] = miss(type, kNobody, kNobody);
}

// The total by which these types come closer to the requirement after a change of one row that covers them.
double Diversification::gain(const std::vector<std::int32_t>& types, std::int32_t without,
                             std::int32_t with) const {
  double sum = 0.0;
  for (const std::int32_t type : types) sum += misses_[at(type)] - miss(type, without, with);
  return sum;
}

// Compares the cost of a move with what it mends around all records.
void Diversification::weigh(Move& move) {
  const std::int32_t carried = record_of_[at(move.row)];
  const auto& before = inside_[at(move.row)];
  const auto added = types_of(tree_.types_added(move.row, move.record, search_));
  double mended = 0.0;
  if (move.other < 0) {
    mended = gain(added, kNobody, carried);
  } else {
    const auto& others = inside_[at(move.other)];
    const auto outside = only_in(others, before), lost = only_in(outside, added);
    mended = gain(only_in(before, others), carried, move.record) +
             gain(only_in(added, others), kNobody, move.record) + gain(lost, move.record, carried) +
             gain(only_in(outside, lost), kNobody, carried);
  }
  move.ratio = mended > kWorthwhile ? move.cost / mended : kUnlimited;
  const std::int64_t width = width_[at(move.row)] + records(added);
  move.beyond = width > widest_ ? width : 0;
}

std::int64_t Diversification::records(const std::vector<std::int32_t>& types) const {
  std::int64_t count = 0;
  for (const std::int32_t type : types) count += static_cast<std::int64_t>(places_of_[at(type)].size());
  return count;
}

// Types are numbered by their first places, so they ascend as these do.
std::vector<std::int32_t> Diversification::types_of(std::vector<std::int32_t> places) const {
  for (std::int32_t& place : places) place = type_of_[at(place)];
  return places;
}

void Diversification::mark_rows_around(std::int32_t type) {
  ++turn_;
  for (const std::int32_t row : around_[at(type)]) marked_[at(row)] = turn_;
}

bool Diversification::alike(std::int32_t record, std::int32_t other) const {
  return std::all_of(columns_.begin(), columns_.end(),
                     [&](const auto& column) { return column[at(record)] == column[at(other)]; });
}

// Calls visit(row, types in it, other row, what is mended) for rows around the type and rows elsewhere whose
// records they cover, as long as it returns true, if the labels around the type would be more varied after a
// swap.
template <typename Visit>
void Diversification::visit_partners(std::int32_t type, const Visit& visit) {
  std::int64_t looked_at = 0;
  const auto& around = around_[at(type)];
  for (std::size_t i = 0; i < around.size(); ++i) {
    const std::int32_t row = around[(i + at(turn_)) % around.size()];  // each time others come first
    const std::int32_t record = record_of_[at(row)];
    mended_.begin();
    for (const std::int32_t near : inside_[at(row)])
      for (const std::int32_t partner : places_of_[at(near)]) {
        if (++looked_at > kPartners) return;
        const std::int32_t other = row_of_[at(partner)];
        if (marked_[at(other)] == turn_ || alike(record, partner)) continue;
        const auto mends = [&] { return misses_[at(type)] - miss(type, record, partner); };
        const double mended = columns_.size() == 1 ? mended_.of(columns_[0][at(partner)], mends) : mends();
        if (mended > kWorthwhile && !visit(row, other, mended)) return;
      }
  }
}

std::int64_t Diversification::swap() {
  std::int64_t swaps = 0;
  const Turns turns(misses_.size());
  for (std::int32_t type = 0; at(type) < misses_.size(); ++type) {
    pause_sometimes();
    turns.done(at(type));
    for (; misses_[at(type)] > 0.0 && swap_for(type); ++swaps) pause();
  }
  return swaps;
}

bool Diversification::swap_for(std::int32_t type) {
  std::pair<std::int32_t, std::int32_t> found(-1, -1);
  mark_rows_around(type);
  visit_partners(type, [&](std::int32_t row, std::int32_t other, double) {
    const std::int32_t record = record_of_[at(row)], partner = record_of_[at(other)];
    if (!tree_.covers(other, tree_.codes(record))) return true;
    const auto &types = inside_[at(row)], &others = inside_[at(other)];
    if (gain(only_in(types, others), record, partner) + gain(only_in(others, types), partner, record) <=
        kWorthwhile)
      return true;
    found = {row, other};
    return false;
  });
  if (found.first < 0) return false;
  exchange(found.first, found.second);
  return true;
}

std::int64_t Diversification::widen() {
  std::int64_t times = 0;
  const Turns turns(misses_.size());
  for (std::int32_t type = 0; at(type) < misses_.size(); ++type) {
    pause_sometimes();
    turns.done(at(type));
    if (misses_[at(type)] > 0.0) times += widen_for(type);
  }
  return times;
}

// What is mended around this record decides which moves are considered; what is mended or spoiled around all
// records decides which one is made. If each spoils more than it mends, the first one is made. The others are
// considered again afterwards: a new search would find most of them.
std::int64_t Diversification::widen_for(std::int32_t type) {
  std::int64_t times = 0;
  std::vector<Move> moves;
  while (misses_[at(type)] > 0.0) {
    pause();
    std::erase_if(moves, [&](const Move& move) { return !still_mends(move, type); });
    if (moves.size() < kKept) moves = moves_for(type);
    if (moves.empty()) break;
    for (Move& move : moves) weigh(move);
    const auto best = std::min_element(moves.begin(), moves.end());
    const Move chosen = *best;
    moves.erase(best);
    grow(chosen.row, chosen.record);
    if (chosen.other >= 0) exchange(chosen.row, chosen.other);
    ++times;
  }
  return times;
}

// Whether a move that was found earlier still mends something around a type.
bool Diversification::still_mends(const Move& move, std::int32_t type) {
  const auto covers = [&](std::int32_t row) { return tree_.covers(row, tree_.codes(place_of_[at(type)])); };
  if (covers(move.row) || width_[at(move.row)] >= widest_) return false;
  const std::int32_t carried = record_of_[at(move.row)];
  if (move.other < 0) return misses_[at(type)] - miss(type, kNobody, carried) > kWorthwhile;
  return record_of_[at(move.other)] == move.record &&
         misses_[at(type)] - miss(type, move.record, carried) > kWorthwhile;
}

// The moves that mend something around a type at the least cost for that.
std::vector<Diversification::Move> Diversification::moves_for(std::int32_t type) {
  const std::int32_t place = place_of_[at(type)];
  mark_rows_around(type);
  std::vector<Move> moves;  // a heap, the worst first
  const auto propose = [&](double cost, double mended, std::int32_t row, std::int32_t record,
                           std::int32_t other) {
    if (moves.size() == kMoves && cost / mended >= moves.front().ratio) return;
    if (moves.size() == kMoves) {
      std::pop_heap(moves.begin(), moves.end());
      moves.pop_back();
    }
    moves.push_back({cost / mended, cost, row, record, other});
    std::push_heap(moves.begin(), moves.end());
  };
  mended_.begin();
  const auto mended = [&](std::int32_t row) {
    const std::int32_t record = record_of_[at(row)];
    const auto mends = [&] { return misses_[at(type)] - miss(type, kNobody, record); };
    return columns_.size() == 1 ? mended_.of(columns_[0][at(record)], mends) : mends();
  };
  const auto outside = [&](std::int32_t row) { return marked_[at(row)] != turn_; };
  for (const auto& [cost, row] : tree_.nearest_boxes(
           place, kMoves,
           [&](std::int32_t row) {
             return outside(row) && width_[at(row)] < widest_ && mended(row) > kWorthwhile;
           },
           search_))
    propose(cost, mended(row), row, place, -1);
  visit_partners(type, [&](std::int32_t row, std::int32_t other, double mended) {
    const std::int32_t record = record_of_[at(row)];
    const double cost = tree_.extra_cost(other, tree_.codes(record));
    // Moves at no cost were left out because they harm others.
    if (cost > 0.0 && width_[at(other)] < widest_) propose(cost, mended, other, record, row);
    return true;
  });
  if (moves.empty())  // no narrow row mends anything: take any row, since all rows together do
    for (const auto& [cost, row] : tree_.nearest_boxes(place, kMoves, outside, search_))
      moves.push_back({cost, cost, row, place});
  std::sort(moves.begin(), moves.end());
  return moves;
}

void Diversification::exchange(std::int32_t row, std::int32_t other) {
  const std::int32_t record = record_of_[at(row)], partner = record_of_[at(other)];
  const auto &here = inside_[at(row)], &there = inside_[at(other)];
  for (const std::int32_t type : only_in(here, there)) {
    change(type, record, partner);
    renew(type);
  }
  for (const std::int32_t type : only_in(there, here)) {
    change(type, partner, record);
    renew(type);
  }
  record_of_[at(row)] = partner;
  record_of_[at(other)] = record;
  row_of_[at(partner)] = row;
  row_of_[at(record)] = other;
}

void Diversification::grow(std::int32_t row, std::int32_t record) {
  const auto added = types_of(tree_.types_added(row, record, search_));
  tree_.grow(row, record);
  grown_.emplace_back(row, record);
  width_[at(row)] += records(added);
  for (const std::int32_t type : added) {
    auto& around = around_[at(type)];
    around.insert(std::lower_bound(around.begin(), around.end(), row), row);
    change(type, kNobody, record_of_[at(row)]);
    renew(type);
  }
  auto& inside = inside_[at(row)];
  const auto middle = static_cast<std::ptrdiff_t>(inside.size());
  inside.insert(inside.end(), added.begin(), added.end());
  std::inplace_merge(inside.begin(), inside.begin() + middle, inside.end());
}

}  // namespace shoal
