#include "items/set_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/quick_random.hpp"
#include "base/workers.hpp"
#include "matching/parts.hpp"
#include "matching/sparse_assignment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kPart = kDivideAlways ? 16 : 1024;  // rows
constexpr std::size_t kLooks = 64;                        // records tried for each row
constexpr std::size_t kOffers = 12;                       // the best of them

}  // namespace

// Some rows, whose records are reassigned among them. Each thread has its own, for one part after another.
class SetGraph::Part {
 public:
  explicit Part(SetGraph& graph)
      : graph_(graph), has_(at(graph.sets_.width)), prices_(at(graph.sets_.width)),
        givers_(at(graph.sets_.size())), offered_(at(graph.sets_.size()), 0),
        seen_(at(graph.sets_.size()), 0) {}

  // With labels, only the records that `mine` marks may be given away here.
  std::int64_t run(std::span<const std::int32_t> rows, std::span<const char> mine, double temperature,
                   QuickRandom& random) {
    rows_ = rows;
    given_.assign(rows.size(), kNone);
    counted_.clear();
    counted_starts_.assign(1, 0);
    if (graph_.in_places_) place_ = random.below(static_cast<std::uint32_t>(graph_.degree_));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      given_[i] = choose(i, mine, random);
      counted_starts_.push_back(counted_.size());
      if (given_[i] == kNone) continue;
      givers_[at(given(i))].push_back(static_cast<std::int32_t>(i));
      offered_[at(given(i))] = 1;
    }
    starts_.assign(1, 0);
    edges_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      offer(i, random);
      starts_.push_back(static_cast<std::int64_t>(edges_.size()));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (given_[i] == kNone) continue;
      givers_[at(given(i))].clear();
      offered_[at(given(i))] = 0;
    }
    if (temperature > 0.0)
      for (Edge& edge : edges_) edge.cost -= temperature * std::log(random.unit());
    return take(solver_.solve(starts_, edges_, static_cast<std::int32_t>(rows.size())));
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Of an item: how many of the counted records have it, and their weights.
  struct Votes {
    std::int32_t records = 0, weight = 0;
  };
  // The change if a new record has an item: for itself, and for the others.
  struct Price {
    std::int32_t wrong = 0, others = 0;
  };

  std::int32_t* row(std::size_t i) { return graph_.members_.data() + at(rows_[i]) * graph_.degree_; }
  std::int32_t given(std::size_t i) { return row(i)[given_[i]]; }

  // A slot whose record may be given away: the same for all rows, or of two random ones the one with more
  // errors.
  std::size_t choose(std::size_t i, std::span<const char> mine, QuickRandom& random) {
    const bool labelled = differing();
    const std::size_t first = labelled ? 1 : 0;
    if (graph_.degree_ <= first) return kNone;
    count(row(i));
    std::size_t best = graph_.in_places_ ? place_ : kNone;
    std::int32_t most = -1;
    for (int tries = 0, found = 0; !graph_.in_places_ && tries < 4 && found < 2; ++tries) {
      const std::size_t slot = first + random.below(static_cast<std::uint32_t>(graph_.degree_ - first));
      const std::int32_t record = row(i)[slot];
      // A record with two new rows at once could get the same label from both.
      if (labelled && (!mine[at(record)] || !givers_[at(record)].empty())) continue;
      ++found;
      const std::int32_t wrong = errors(record);
      if (wrong <= most) continue;
      most = wrong;
      best = slot;
    }
    for (const std::int32_t item : items_) counted_.emplace_back(item, has_[at(item)]);
    forget();
    return best;
  }

  // Whether rows carry labels that have to differ around each record.
  bool differing() const { return !graph_.labels_.empty() && !graph_.in_places_; }

  // Counts the items of a row's records.
  void count(const std::int32_t* row) {
    for (std::size_t slot = 0; slot < graph_.degree_; ++slot) {
      const std::int32_t weight = graph_.weights_[at(row[slot])];
      for (const std::int32_t item : graph_.sets_.of(row[slot])) {
        Votes& votes = has_[at(item)];
        if (votes.records++ == 0) items_.push_back(item);
        votes.weight += weight;
      }
    }
    count_common();
  }

  // Restores the counts of a row, without the record that it gives away.
  void recall(std::size_t i) {
    for (std::size_t place = counted_starts_[i]; place < counted_starts_[i + 1]; ++place) {
      items_.push_back(counted_[place].first);
      has_[at(counted_[place].first)] = counted_[place].second;
    }
    const std::int32_t weight = graph_.weights_[at(given(i))];
    for (const std::int32_t item : graph_.sets_.of(given(i))) {
      --has_[at(item)].records;
      has_[at(item)].weight -= weight;
    }
    count_common();
  }

  void count_common() {
    common_ = 0;
    for (const std::int32_t item : items_) common_ += 2 * has_[at(item)].records > degree();
  }

  void forget() {
    for (const std::int32_t item : items_) has_[at(item)] = {};
    items_.clear();
  }

  std::int32_t degree() const { return static_cast<std::int32_t>(graph_.degree_); }

  // How far a record is from what most of the counted ones have, times its weight.
  std::int32_t errors(std::int32_t record) const {
    const auto items = graph_.sets_.of(record);
    std::int32_t shared = 0;
    for (const std::int32_t item : items) shared += 2 * has_[at(item)].records > degree();
    return (common_ + static_cast<std::int32_t>(items.size()) - 2 * shared) * graph_.weights_[at(record)];
  }

  // The cost for the row of each record near its own that some row gives away; the cheapest ones, after the
  // one it gives away itself.
  void offer(std::size_t i, QuickRandom& random) {
    const std::size_t begin = edges_.size(), slot = given_[i];
    if (slot == kNone) {
      edges_.push_back({static_cast<std::int32_t>(i), 0.0});  // a column of its own: nothing changes
      return;
    }
    std::int32_t* const members = row(i);
    weigh(i);
    const std::int64_t now = price(members[slot]);
    edges_.push_back({static_cast<std::int32_t>(i), 0.0});
    const std::int32_t mark = ++turn_;
    for (std::size_t other = 0; other < graph_.degree_; ++other) seen_[at(members[other])] = mark;
    const auto degree = static_cast<std::uint32_t>(graph_.degree_);
    const auto all = degree * static_cast<std::uint32_t>(graph_.near_);
    // All neighbours of all members if these are few enough, the nearest ones first; otherwise random ones.
    const bool random_ones = all > 4 * kLooks;
    std::uint32_t member = 0, rank = 0;
    std::size_t looks = 0;
    for (std::size_t step = 0; step < std::min<std::size_t>(all, 4 * kLooks) && looks < kLooks; ++step) {
      if (random_ones) {
        const std::uint32_t which = random.below(all);
        member = which % degree;
        rank = which / degree;
      } else if (step > 0 && ++member == degree) {
        member = 0;
        ++rank;
      }
      const std::int32_t record = graph_.neighbours_[at(members[member]) * graph_.near_ + rank];
      if (!offered_[at(record)] || seen_[at(record)] == mark) continue;
      seen_[at(record)] = mark;
      const auto& givers = givers_[at(record)];
      const std::int32_t giver = givers[random.below(static_cast<std::uint32_t>(givers.size()))];
      // At one place of all rows, each record is once.
      if (graph_.in_places_ && graph_.labels_[at(rows_[at(giver)])] != graph_.labels_[at(rows_[i])]) continue;
      ++looks;
      const auto cost = static_cast<double>(price(record) - now);
      const bool full = edges_.size() - begin > kOffers;
      if (full && cost >= edges_.back().cost) continue;
      if (differing() && clashes(record, rows_[at(giver)], rows_[i])) continue;
      if (!full) edges_.emplace_back();
      std::size_t place = edges_.size() - 1;
      for (; place > begin + 1 && edges_[place - 1].cost > cost; --place) edges_[place] = edges_[place - 1];
      edges_[place] = {giver, cost};
    }
    for (const std::int32_t item : items_) prices_[at(item)] = {};
    forget();
  }

  // Prepares the cost for the row of records in place of the one that it gives away.
  void weigh(std::size_t i) {
    recall(i);
    std::int32_t all = -graph_.weights_[at(given(i))];
    for (std::size_t slot = 0; slot < graph_.degree_; ++slot) all += graph_.weights_[at(row(i)[slot])];
    for (const std::int32_t item : items_) {
      const Votes& votes = has_[at(item)];
      if (2 * votes.records > degree()) prices_[at(item)] = {-2, 0};  // published in any case, and right
      // If one more has it, it is published: right for all who have it, wrong for the others.
      else if (2 * votes.records + 2 > degree())
        prices_[at(item)] = {-1, all - 2 * votes.weight};
    }
  }

  // The errors of the row with a record in place of that one, except for a constant.
  std::int64_t price(std::int32_t record) const {
    const auto items = graph_.sets_.of(record);
    auto wrong = common_ + static_cast<std::int32_t>(items.size());
    std::int64_t others = 0;
    for (const std::int32_t item : items) {
      wrong += prices_[at(item)].wrong;
      others += prices_[at(item)].others;
    }
    return std::int64_t{wrong} * graph_.weights_[at(record)] + others;
  }

  // Whether a record would be in two rows with the same label if it went from one row to another.
  bool clashes(std::int32_t record, std::int32_t from, std::int32_t to) const {
    const std::int32_t label = graph_.labels_[at(to)];
    const std::int32_t* rows = graph_.rows_of_.data() + at(record) * graph_.degree_;
    for (std::size_t i = 0; i < graph_.degree_; ++i)
      if (rows[i] != from && graph_.labels_[at(rows[i])] == label) return true;
    return false;
  }

  std::int64_t take(const std::vector<std::int32_t>& from) {
    taken_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t giver = at(from[i]);
      if (giver != i && given(giver) != given(i)) taken_.emplace_back(i, given(giver));
    }
    if (differing())
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const std::size_t giver = at(from[i]);
        if (giver == i) continue;
        std::int32_t* rows = graph_.rows_of_.data() + at(given(giver)) * graph_.degree_;
        *std::find(rows, rows + graph_.degree_, rows_[giver]) = rows_[i];
      }
    for (const auto& [i, record] : taken_) row(i)[given_[i]] = record;
    return static_cast<std::int64_t>(taken_.size());
  }

  SetGraph& graph_;
  std::span<const std::int32_t> rows_;
  std::size_t place_ = 0;            // the slot that all rows give away, if records keep their places
  std::vector<std::size_t> given_;   // per row of the part: the slot it gives away, or none
  std::vector<Votes> has_;           // per item
  std::vector<std::int32_t> items_;  // the items that any of them has
  std::vector<std::pair<std::int32_t, Votes>> counted_;  // per row of the part: its items, and their votes
  std::vector<std::size_t> counted_starts_;
  std::int32_t common_ = 0;                        // how many items most of a row's records have
  std::vector<Price> prices_;                      // per item
  std::vector<std::vector<std::int32_t>> givers_;  // per record: the rows of the part that give it away
  std::vector<char> offered_;                      // per record: whether a row of the part gives it away
  std::vector<std::int32_t> seen_;                 // per record: the last turn in which it was seen
  std::int32_t turn_ = 0;
  std::vector<std::pair<std::size_t, std::int32_t>> taken_;  // row, record
  std::vector<std::int64_t> starts_;
  std::vector<Edge> edges_;
  SparseAssignment solver_;
};

SetGraph::SetGraph(const ItemSets& sets, std::span<const std::int32_t> weights,
                   std::vector<std::int32_t> members, std::size_t degree,
                   std::span<const std::int32_t> neighbours, std::span<const std::int32_t> labels,
                   bool in_places)
    : sets_(sets), weights_(weights), members_(std::move(members)), degree_(degree), neighbours_(neighbours),
      near_(neighbours.size() / (members_.size() / degree)), labels_(labels), in_places_(in_places) {
  if (!labels_.empty() && !in_places_) rows_of_ = rows_of(members_, degree_);
}

std::int64_t SetGraph::reassign(std::int32_t times, double temperature, RandomWords& random) {
  const auto cut = parts(members_, degree_, kPart, random);
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < cut.size(); ++i)
    seeds.push_back(std::uint64_t{random.below(0xffffffffU)} << 32U | random.below(0xffffffffU));
  // A record may stand in rows of several parts; with labels, only one of them moves it.
  std::vector<std::int32_t> part_of(at(sets_.size()));
  std::vector<std::int32_t> home(rows_of_.empty() ? 0 : part_of.size());
  for (std::size_t i = 0; i < cut.size(); ++i)
    for (const std::int32_t row : cut[i]) part_of[at(row)] = static_cast<std::int32_t>(i);
  for (std::size_t record = 0; record < home.size(); ++record)
    home[record] = part_of[at(rows_of_[record * degree_])];
  std::atomic<std::int64_t> moved{0};
  share_parts(cut.size(), [&] {
    return [&, part = Part(*this), mine = std::vector<char>(home.size(), 0)](std::size_t i) mutable {
      for (std::size_t record = 0; record < home.size(); ++record)
        mine[record] = home[record] == static_cast<std::int32_t>(i);
      QuickRandom quick(seeds[i]);
      for (std::int32_t time = 0; time < times; ++time) moved += part.run(cut[i], mine, temperature, quick);
    };
  });
  return moved;
}

std::int64_t SetGraph::cost() const {
  std::atomic<std::int64_t> sum{0};
  share(members_.size() / degree_, 256, [&] {
    return [&, has = std::vector<std::size_t>(at(sets_.width), 0)](std::size_t row) mutable {
      const auto members = std::span(members_).subspan(row * degree_, degree_);
      std::int64_t common = 0, wrong = 0;
      for (const std::int32_t record : members)
        for (const std::int32_t item : sets_.of(record)) common += ++has[at(item)] == degree_ / 2 + 1;
      for (const std::int32_t record : members) {
        std::int64_t errors = common;
        for (const std::int32_t item : sets_.of(record)) errors += 2 * has[at(item)] > degree_ ? -1 : 1;
        wrong += errors * weights_[at(record)];
      }
      for (const std::int32_t record : members)
        for (const std::int32_t item : sets_.of(record)) has[at(item)] = 0;
      sum += wrong;
    };
  });
  return sum;
}

}  // namespace shoal
