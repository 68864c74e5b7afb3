#include "prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "workers.hpp"

namespace shoal {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

double times_log(double x) {
  return x * std::log2(std::max(x, 1.0));
}

// Keeps the cheapest few in order; the first of those that cost the same.
template <typename Near>
void keep_cheapest(std::vector<Near>& found, std::size_t count) {
  count = std::min(count, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
  found.resize(count);
}

}  // namespace

double Entropy::Sums::entropy() const {
  const double some = std::max(weight, 1.0);
  return std::max(std::log2(some) - logs / some, 0.0);
}

Entropy::Entropy(const BoxTree& tree, const std::vector<Attribute>& attributes,
                 std::vector<std::vector<double>> tables)
    : tree_(tree), attributes_(attributes), before_(attributes.size()), by_rank_(attributes.size()),
      ranks_(attributes.size()), sums_(at(tree.rows()) * attributes.size()), now_(sums_.size()) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const std::vector<double>& table = tables[a];
    if (attributes[a].kind == Kind::range) {
      before_[a].push_back({0.0, 0.0});
      for (const double count : table)
        before_[a].push_back({before_[a].back().weight + count, before_[a].back().logs + times_log(count)});
    } else if (attributes[a].kind == Kind::tree) {
      std::vector<std::int32_t> order(table.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
        return attributes[a].interval_cost(x, x + 1) < attributes[a].interval_cost(y, y + 1);
      });
      std::vector<double> rank(table.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        rank[at(order[i])] = static_cast<double>(i);
        by_rank_[a].push_back(table[at(order[i])]);
      }
      ranks_[a] = StretchMaximum(rank);
    }
  }
  counts_ = std::move(tables);
  for (std::int32_t box = 0; box < tree.rows(); ++box) renew(box);
}

double Entropy::between(std::size_t a, std::int32_t low, std::int32_t high) const {
  if (attributes_[a].kind == Kind::range) {
    const Sums &from = before_[a][at(low)], &to = before_[a][at(high) + 1];
    return Sums{to.weight - from.weight, to.logs - from.logs}.entropy();
  }
  return low == high ? 0.0 : by_rank_[a][static_cast<std::size_t>(ranks_[a](at(low), at(high)))];
}

void Entropy::renew(std::int32_t box) {
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const std::size_t place = at(box) * attributes_.size() + a;
    if (attributes_[a].kind == Kind::set) {
      Sums all{0.0, 0.0};
      for (const std::int32_t code : tree_.codes_of_set(box, a)) {
        all.weight += counts_[a][at(code)];
        all.logs += times_log(counts_[a][at(code)]);
      }
      sums_[place] = all;
      now_[place] = all.entropy();
    } else {
      now_[place] = between(a, tree_.cells(box)[a].low(), tree_.cells(box)[a].high());
    }
  }
}

double Entropy::cost(std::int32_t box) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size(); ++a)
    sum += attributes_[a].weight * now_[at(box) * attributes_.size() + a];
  return sum;
}

// The entropy of one attribute when the box takes in a code that it has not.
double Entropy::with(std::int32_t box, std::size_t a, std::int32_t code) const {
  if (attributes_[a].kind == Kind::set) {
    const Sums now = sums(box, a);
    const double count = counts_[a][at(code)];
    return Sums{now.weight + count, now.logs + times_log(count)}.entropy();
  }
  Cell cell = tree_.cells(box)[a];
  cell.unite(attributes_[a], Cell(attributes_[a], code));
  return between(a, cell.low(), cell.high());
}

double Entropy::extra(std::int32_t box, const std::int32_t* record) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const Cell cell = tree_.cells(box)[a];
    const bool has = attributes_[a].kind == Kind::set ? tree_.has_code(box, a, record[a])
                                                      : cell.low() <= record[a] && record[a] <= cell.high();
    if (!has)
      sum += attributes_[a].weight * (with(box, a, record[a]) - now_[at(box) * attributes_.size() + a]);
  }
  return sum;
}

void Entropy::offer(std::int32_t box, Offers& offers) const {
  const std::size_t d = attributes_.size();
  offers.extra.resize(d);
  offers.least_after.assign(d, 0.0);
  double after = 0.0;
  for (std::size_t a = d; a-- > 0;) {
    const Cell cell = tree_.cells(box)[a];
    const double weight = attributes_[a].weight, now = now_[at(box) * d + a];
    auto& extra = offers.extra[a];
    extra.resize(at(attributes_[a].size));
    for (std::int32_t code = 0; code < attributes_[a].size; ++code) {
      const bool inside = attributes_[a].kind != Kind::set && cell.low() <= code && code <= cell.high();
      extra[at(code)] = inside ? 0.0 : weight * (with(box, a, code) - now);
    }
    if (attributes_[a].kind == Kind::set)
      for (const std::int32_t code : tree_.codes_of_set(box, a)) extra[at(code)] = 0.0;
    offers.least_after[a] = after;
    after += *std::min_element(extra.begin(), extra.end());
  }
}

double Entropy::extra(const Offers& offers, const std::int32_t* record, double enough) const {
  double sum = 0.0;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    sum += offers.extra[a][at(record[a])];
    if (sum + offers.least_after[a] > enough + kRounding) return kUnlimited;
  }
  return sum;
}

Prices::Prices(const BoxTree& tree, const std::vector<Attribute>& attributes,
               std::vector<std::vector<double>> tables)
    : tree_(tree) {
  if (!tables.empty()) entropy_.emplace(tree, attributes, std::move(tables));
}

Outside Prices::nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const {
  if (!entropy_) return tree_.nearest_outside(box, enough, search.tree);
  Outside found;
  entropy_->offer(box, search.offers);
  for (std::int32_t record = 0; record < tree_.rows(); ++record) {
    const double extra = entropy_->extra(search.offers, tree_.codes(record), found.nearest.cost);
    // What is covered costs nothing, up to rounding: most of the others need not be asked.
    if (std::abs(extra) < kRounding && tree_.covers(box, tree_.codes(record)))
      ++found.covered;
    else if (extra < found.nearest.cost)
      found.nearest = {extra, record};
  }
  return found;
}

std::vector<NearRecord> Prices::nearest_records(std::int32_t box, std::size_t count, Search& search) const {
  if (!entropy_) return tree_.nearest_records(box, count, search.tree);
  std::vector<NearRecord> found;
  entropy_->offer(box, search.offers);
  for (std::int32_t record = 0; record < tree_.rows(); ++record)
    if (!tree_.has_member(box, record))
      found.push_back({entropy_->extra(search.offers, tree_.codes(record), kUnlimited), record});
  keep_cheapest(found, count);
  return found;
}

// The cheapest boxes of all that are accepted, on all cores.
template <typename Price>
std::vector<NearBox> Prices::scan(std::size_t count, const std::function<bool(std::int32_t)>& accept,
                                  const Price& price) const {
  constexpr std::size_t kStretch = 1024;
  std::vector<NearBox> best;
  std::mutex mutex;
  const std::size_t n = at(tree_.rows());
  share((n + kStretch - 1) / kStretch, 1, [&] {
    return [&](std::size_t stretch) {
      std::vector<NearBox> found;
      for (std::size_t i = stretch * kStretch; i < std::min(n, (stretch + 1) * kStretch); ++i) {
        const auto box = static_cast<std::int32_t>(i);
        if (accept(box)) found.push_back({price(box), box});
      }
      keep_cheapest(found, count);
      const std::lock_guard lock(mutex);
      best.insert(best.end(), found.begin(), found.end());
    };
  });
  keep_cheapest(best, count);
  return best;
}

std::vector<NearBox> Prices::nearest_boxes(std::int32_t record, std::size_t count,
                                           const std::function<bool(std::int32_t)>& accept,
                                           Search& search) const {
  if (!entropy_) return tree_.nearest_boxes(record, count, accept, search.tree);
  return scan(count, accept, [&](std::int32_t box) { return extra(box, record); });
}

Nearest Prices::nearest_partner(std::int32_t record, bool mutual,
                                const std::function<bool(std::int32_t)>& accept, Search& search) const {
  if (!entropy_) return tree_.nearest_partner(record, mutual, accept, search.tree);
  const auto found = scan(
      1, accept, [&](std::int32_t box) { return extra(box, record) + (mutual ? extra(record, box) : 0.0); });
  return found.empty() ? Nearest{} : Nearest{found[0].box, found[0].cost};
}

}  // namespace shoal
