#include "matching/ring.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr double kDear = 0.5;     // from this multiple of the mean cost on, a record searches the whole ring
constexpr std::size_t kRuns = 6;  // the number of stretches it tries

}  // namespace

// A stretch of the ring, and what it costs to put a record between two of its places.
class Ring::Search {
 public:
  explicit Search(const Ring& ring) : ring_(ring), columns_(ring.attributes_.size()) {
    std::int32_t largest = 0;
    for (const Attribute& attribute : ring.attributes_) largest = std::max(largest, attribute.size);
    seen_.assign(at(largest), -1);
  }

  // Reads some places before a record and some from it on (it excluded), all without `out`. Returns whether
  // `out` was not among them.
  bool read(std::int32_t start, std::int64_t before, std::int64_t after, std::int32_t out) {
    bool clean = true;
    owners_.clear();
    const auto walk = [&](std::int32_t record, std::int64_t wanted,
                          const std::vector<std::int32_t>& onwards) {
      for (; wanted > 0; record = onwards[at(record)]) {
        if (record == out) {
          clean = false;
          continue;
        }
        const std::int64_t some = std::min(wanted, ring_.places(record));
        owners_.insert(owners_.end(), at(some), record);
        wanted -= some;
      }
    };
    walk(ring_.last_[at(start)], before, ring_.last_);
    std::reverse(owners_.begin(), owners_.end());
    walk(start, after, ring_.next_);
    return clean;
  }

  // The cost of each window.
  const std::vector<double>& windows(std::int32_t k) {
    windows_.assign(owners_.size() - at(k) + 1, 0.0);
    for (std::size_t a = 0; a < columns_; ++a) {
      prepare(a, -1);
      add_windows(a, at(k), -1, windows_);
    }
    return windows_;
  }

  // What the record adds to the cost of all windows if it goes before a place of the stretch, for each
  // place with k - 1 places before it and from it on.
  void price(std::int32_t record) {
    const std::size_t size = owners_.size(), k = at(ring_.k_);
    const std::size_t copies = std::min(at(ring_.copies_[at(record)]), k);
    windows_.assign(size - k + 1, 0.0);
    with_.resize(std::max(with_.size(), copies + 1));
    for (std::size_t c = 1; c <= copies; ++c) with_[c].assign(size - (k - c) + 1, 0.0);
    for (std::size_t a = 0; a < columns_; ++a) {
      const std::int32_t code = ring_.codes_[at(record) * columns_ + a];
      prepare(a, code);
      add_windows(a, k, -1, windows_);
      for (std::size_t c = 1; c <= std::min(copies, k - 1); ++c) add_windows(a, k - c, code, with_[c]);
    }
    // The k - 1 windows across the place give way to windows with one copy at either end, with two, ..., and
    // those around all copies.
    const std::size_t others = k - copies, first = k - 1, last = size - (k - 1);
    prices_.assign(size + 1, 0.0);
    double around = 0.0, across = 0.0;
    for (std::size_t i = first - others; i < first; ++i) around += with_[copies][i];
    for (std::size_t i = 0; i < first; ++i) across += windows_[i];
    for (std::size_t place = first; place <= last; ++place) {
      around += with_[copies][place];
      double sum = around - across;
      for (std::size_t c = 1; c < copies; ++c) sum += with_[c][place - (k - c)] + with_[c][place];
      prices_[place] = sum;
      around -= with_[copies][place - others];
      if (place < last) across += windows_[place] - windows_[place - first];
    }
  }

  // The cheapest place for a record, other than between two copies of another one.
  std::pair<double, std::int32_t> cheapest() const {
    const std::size_t first = at(ring_.k_) - 1;
    std::pair<double, std::int32_t> best{kUnlimited, -1};
    for (std::size_t place = first; place <= owners_.size() - first; ++place)
      if (prices_[place] < best.first && owners_[place - 1] != owners_[place])
        best = {prices_[place], owners_[place]};
    return best;
  }

  double price_at(std::size_t place) const { return prices_[place]; }

  UnionTree::Nearby nearby;

 private:
  // Gathers the codes of one attribute. Of sets also, for each place, where the same code stands before and
  // after it, and where `code` stands next.
  void prepare(std::size_t a, std::int32_t code) {
    const std::size_t size = owners_.size();
    codes_.resize(size);
    for (std::size_t i = 0; i < size; ++i) codes_[i] = ring_.codes_[at(owners_[i]) * columns_ + a];
    if (ring_.attributes_[a].kind != Kind::set) return;
    const auto nowhere = static_cast<std::int32_t>(size) + ring_.k_;
    before_.resize(size);
    after_.assign(size, nowhere);
    coming_.assign(size + 1, nowhere);
    for (std::size_t i = 0; i < size; ++i) {
      std::int32_t& seen = seen_[at(codes_[i])];
      before_[i] = seen;
      if (seen >= 0) after_[at(seen)] = static_cast<std::int32_t>(i);
      seen = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = size; i-- > 0;) {
      seen_[at(codes_[i])] = -1;
      coming_[i] = codes_[i] == code ? static_cast<std::int32_t>(i) : coming_[i + 1];
    }
  }

  // Adds the cost of each window of this length in one attribute, united with a code unless that is -1.
  void add_windows(std::size_t a, std::size_t length, std::int32_t code, std::vector<double>& sums) {
    const Attribute& attribute = ring_.attributes_[a];
    const std::size_t size = owners_.size(), count = size - length + 1;
    if (attribute.kind == Kind::set) {
      const double unit = attribute.weight * attribute.set_cost(2);
      const auto span = static_cast<std::int32_t>(length);
      std::int32_t more = -1;  // values beyond the first
      for (std::size_t i = 0; i < length; ++i) more += before_[i] < 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto begin = static_cast<std::int32_t>(i), end = begin + span;
        sums[i] += unit * (more + (code >= 0 && coming_[i] >= end));
        if (i + 1 < count) more += (before_[i + length] <= begin) - (after_[i] >= end);
      }
      return;
    }
    slide(length, lows_, [](std::int32_t x, std::int32_t y) { return std::min(x, y); });
    slide(length, highs_, [](std::int32_t x, std::int32_t y) { return std::max(x, y); });
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t low = code < 0 ? lows_[i] : std::min(lows_[i], code);
      sums[i] += attribute.weight * attribute.interval_cost(low, std::max(highs_[i], code));
    }
  }

  // The lowest or highest code of each window: that of the end of one block of `length` places and the
  // beginning of the next (van Herk 1992).
  template <typename Better>
  void slide(std::size_t length, std::vector<std::int32_t>& result, const Better& better) {
    const std::size_t size = codes_.size();
    result.resize(size);
    prefix_.resize(size);
    for (std::size_t begin = 0; begin < size; begin += length) {
      const std::size_t end = std::min(begin + length, size);
      prefix_[begin] = codes_[begin];
      for (std::size_t i = begin + 1; i < end; ++i) prefix_[i] = better(prefix_[i - 1], codes_[i]);
      result[end - 1] = codes_[end - 1];
      for (std::size_t i = end - 1; i-- > begin;) result[i] = better(result[i + 1], codes_[i]);
    }
    for (std::size_t i = 0; i + length <= size; ++i) result[i] = better(result[i], prefix_[i + length - 1]);
  }

  const Ring& ring_;
  std::size_t columns_;
  std::vector<std::int32_t> owners_;  // the record at each place of the stretch
  std::vector<std::int32_t> codes_, before_, after_, coming_, seen_, lows_, highs_, prefix_;
  std::vector<double> windows_, prices_;
  std::vector<std::vector<double>> with_;  // windows short of c places, united with the record
};

Ring::Ring(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
           const std::vector<Attribute>& attributes, std::int32_t k)
    : codes_(codes), copies_(copies), attributes_(attributes), k_(k), next_(copies.size()),
      last_(copies.size()), due_(copies.size(), true), disturbed_(copies.size(), 0) {
  const std::size_t n = copies.size();
  total_ = std::accumulate(copies.begin(), copies.end(), std::int64_t{0});
  for (std::size_t r = 0; r < n; ++r) {
    next_[r] = static_cast<std::int32_t>((r + 1) % n);
    last_[r] = static_cast<std::int32_t>((r + n - 1) % n);
  }
  Search search(*this);
  search.read(0, 0, total_ + k_ - 1, -1);
  const auto& windows = search.windows(k_);
  cost_ = std::accumulate(windows.begin(), windows.end(), 0.0);
}

std::vector<std::int32_t> Ring::order() const {
  std::vector<std::int32_t> order{0};
  for (std::int32_t record = next_[0]; record != 0; record = next_[at(record)]) order.push_back(record);
  return order;
}

std::int64_t Ring::sweep() {
  const std::size_t n = next_.size();
  index();
  // Records that are looked at together stand far apart, so that the move of one seldom concerns another.
  Scattered scattered(n);
  const std::size_t together = 1 + n / (16 * at(k_));
  std::int64_t made = 0;
  std::vector<std::int32_t> records;
  std::vector<Move> moves;
  const Turns turns(n);
  for (std::size_t seen = 0; seen < n;) {
    turns.done(seen);
    records.clear();
    for (; records.size() < together && seen < n; ++seen) {
      const std::size_t record = scattered.next();
      if (due_[record]) records.push_back(static_cast<std::int32_t>(record));
    }
    moves.resize(records.size());
    share(records.size(), 2, [&] {
      return [&, search = Search(*this)](std::size_t i) mutable { moves[i] = best_move(records[i], search); };
    });
    ++batch_;
    for (const std::int32_t record : records) due_[at(record)] = false;
    for (const Move& move : moves) {
      if (move.before < 0 || disturbed_[at(move.record)] == batch_ || disturbed_[at(move.before)] == batch_)
        continue;
      make(move);
      ++made;
    }
  }
  return made;
}

Ring::Move Ring::best_move(std::int32_t record, Search& search) const {
  const std::int64_t copies = places(record), others = total_ - copies;
  if (others < k_) return {record, -1, 0.0};
  const std::int64_t side = std::min<std::int64_t>(k_, others / 2 + 1) + k_ - 1;
  search.read(next_[at(record)], side, side, record);
  search.price(record);
  const double now = search.price_at(at(side));
  auto [least, before] = search.cheapest();
  if (now > kDear * static_cast<double>(copies) * cost_ / static_cast<double>(total_)) {
    const std::int32_t* codes = codes_.data() + at(record) * attributes_.size();
    runs_->nearest(codes, kRuns, least / static_cast<double>(k_), search.nearby);
    for (const auto& [extra, run] : search.nearby.found) {
      if (extra * static_cast<double>(k_) >= least) continue;
      if (!search.read(heads_[at(run)], k_ - 1, 2 * k_ - 1, record)) continue;
      search.price(record);
      const auto [price, place] = search.cheapest();
      if (price < least) {
        least = price;
        before = place;
      }
    }
  }
  if (least >= now - kWorthwhile) return {record, -1, 0.0};
  return {record, before, least - now};
}

void Ring::make(const Move& move) {
  const std::int32_t record = move.record, from = next_[at(record)];
  next_[at(last_[at(record)])] = from;
  last_[at(from)] = last_[at(record)];
  const std::int32_t left = last_[at(move.before)];
  next_[at(left)] = last_[at(move.before)] = record;
  last_[at(record)] = left;
  next_[at(record)] = move.before;
  cost_ += move.change;
  disturb(from);
  disturb(record);
}

// Notes a change just before this record or in it, for all records that it affects.
void Ring::disturb(std::int32_t record) {
  const auto note = [&](std::int32_t other, const std::vector<std::int32_t>& onwards) {
    for (std::int64_t distance = 0; distance < 2 * k_; other = onwards[at(other)]) {
      due_[at(other)] = true;
      disturbed_[at(other)] = batch_;
      distance += places(other);
    }
  };
  note(record, next_);
  note(last_[at(record)], last_);
}

// Cuts the ring into runs of about k places and unites each.
void Ring::index() {
  std::vector<std::vector<const std::int32_t*>> runs;
  heads_.clear();
  std::int64_t filled = k_;
  for (const std::int32_t record : order()) {
    if (filled >= k_) {
      heads_.push_back(record);
      runs.emplace_back();
      filled = 0;
    }
    runs.back().push_back(codes_.data() + at(record) * attributes_.size());
    filled += places(record);
  }
  runs_.emplace(UnionTree::halves(static_cast<std::int32_t>(runs.size())), attributes_);
  for (auto node = static_cast<std::int32_t>(runs_->nodes().size()); node-- > 0;) {
    const auto& [begin, end, left, parent, equal] = runs_->nodes()[at(node)];
    if (left < 0)
      runs_->set_leaf(node, runs[at(begin)]);
    else
      runs_->unite(node);
  }
}

}  // namespace shoal
