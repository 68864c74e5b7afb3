#include "rows/prices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// Of the entropies of pairs of neighbours, the least of each and of those on the way to the root: the next
// ancestor of a pair is the lower one of those to both sides that are higher.
std::vector<double> least_above(const std::vector<double>& entropy, const std::vector<double>& rank) {
  const auto n = static_cast<std::int32_t>(rank.size());
  std::vector<std::int32_t> parent(rank.size(), -1), higher, by_rank(rank.size());
  const auto lift = [&](std::int32_t pair, std::int32_t to) {
    std::int32_t& above = parent[at(pair)];
    if (above < 0 || rank[at(to)] < rank[at(above)]) above = to;
  };
  for (std::int32_t pair = 0; pair < n; ++pair) {
    for (; !higher.empty() && rank[at(higher.back())] < rank[at(pair)]; higher.pop_back())
      lift(higher.back(), pair);
    if (!higher.empty()) lift(pair, higher.back());
    higher.push_back(pair);
    by_rank[static_cast<std::size_t>(rank[at(pair)])] = pair;
  }
  std::vector<double> least(rank.size());
  for (std::size_t i = rank.size(); i-- > 0;) {
    const std::int32_t pair = by_rank[i], above = parent[at(pair)];
    const double own = entropy[at(pair)];
    least[i] = above < 0 ? own : std::min(own, least[static_cast<std::size_t>(rank[at(above)])]);
  }
  return least;
}

}  // namespace

Entropy::Entropy(const BoxTree& tree, const std::vector<Attribute>& attributes,
                 const std::vector<std::vector<double>>& tables)
    : tree_(tree), attributes_(attributes), counts_(attributes.size()), before_(attributes.size()),
      by_rank_(attributes.size()), least_(attributes.size()), ranks_(attributes.size()),
      sums_(at(tree.rows()) * attributes.size()), now_(sums_.size()) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const std::vector<double>& table = tables[a];
    if (attributes[a].kind == Kind::range) {
      before_[a].emplace_back();
      for (const double count : table) before_[a].push_back(before_[a].back() + CountSums::of(count));
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
      least_[a] = least_above(table, rank);
      ranks_[a] = StretchMaximum(rank);
    } else {
      for (const double count : table) counts_[a].push_back(CountSums::of(count));
    }
  }
  for (std::int32_t box = 0; box < tree.rows(); ++box) renew(box);
}

double Entropy::between(std::size_t a, std::int32_t low, std::int32_t high) const {
  if (attributes_[a].kind == Kind::range) {
    return (before_[a][at(high) + 1] - before_[a][at(low)]).entropy();
  }
  return low == high ? 0.0 : by_rank_[a][static_cast<std::size_t>(ranks_[a](at(low), at(high)))];
}

void Entropy::renew(std::int32_t box) {
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const std::size_t place = at(box) * attributes_.size() + a;
    if (attributes_[a].kind == Kind::set) {
      CountSums all;
      for (const std::int32_t code : tree_.codes_of_set(box, a)) all = all + counts_[a][at(code)];
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
    return (sums_[at(box) * attributes_.size() + a] + counts_[a][at(code)]).entropy();
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

// The least entropy of a node around a stretch of a tree.
double Entropy::least_around(std::size_t a, std::int32_t low, std::int32_t high) const {
  return low == high ? 0.0 : least_[a][static_cast<std::size_t>(ranks_[a](at(low), at(high)))];
}

void Entropy::offer(std::int32_t box, Offers& offers) const {
  const std::size_t d = attributes_.size();
  offers.box = box;
  for (auto* lists : {&offers.extra, &offers.below, &offers.above}) lists->resize(d);
  offers.of_bit.resize(d);
  offers.least_after.assign(d, 0.0);
  double after = 0.0;
  for (std::size_t a = d; a-- > 0;) {
    const Attribute& attribute = attributes_[a];
    const Cell cell = tree_.cells(box)[a];
    const double weight = attribute.weight, now = now_[at(box) * d + a];
    offers.least_after[a] = after;
    if (attribute.kind == Kind::tree) {
      after += weight * (least_around(a, cell.low(), cell.high()) - now);
      continue;
    }
    auto& extra = offers.extra[a];
    extra.resize(at(attribute.size));
    for (std::int32_t code = 0; code < attribute.size; ++code) {
      const bool inside = attribute.kind != Kind::set && cell.low() <= code && code <= cell.high();
      extra[at(code)] = inside ? 0.0 : weight * (with(box, a, code) - now);
    }
    if (attribute.kind == Kind::set) {
      for (const std::int32_t code : tree_.codes_of_set(box, a)) extra[at(code)] = 0.0;
      auto& of_bit = offers.of_bit[a];
      of_bit.fill(kUnlimited);
      for (std::size_t code = 0; code < extra.size(); ++code)
        of_bit[code % 64] = std::min(of_bit[code % 64], extra[code]);
    } else {
      const auto least = [](double x, double y) { return std::min(x, y); };
      auto &below = offers.below[a], &above = offers.above[a];
      below.resize(extra.size());
      above.resize(extra.size());
      std::partial_sum(extra.begin(), extra.end(), below.begin(), least);
      std::partial_sum(extra.rbegin(), extra.rend(), above.rbegin(), least);
    }
    after += *std::min_element(extra.begin(), extra.end());
  }
}

double Entropy::extra(const Offers& offers, const std::int32_t* record, double enough) const {
  const std::size_t d = attributes_.size();
  double sum = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const std::int32_t code = record[a];
    if (attributes_[a].kind != Kind::tree) {
      sum += offers.extra[a][at(code)];
    } else if (const Cell cell = tree_.cells(offers.box)[a]; code < cell.low() || code > cell.high()) {
      const double then = between(a, std::min(code, cell.low()), std::max(code, cell.high()));
      sum += attributes_[a].weight * (then - now_[at(offers.box) * d + a]);
    }
    if (sum + offers.least_after[a] > enough + kRounding) return kUnlimited;
  }
  return sum;
}

double Entropy::least_extra(const Offers& offers, const Cell* cells) const {
  const std::size_t d = attributes_.size();
  double sum = 0.0;
  for (std::size_t a = 0; a < d; ++a) {
    const Cell there = cells[a], here = tree_.cells(offers.box)[a];
    if (attributes_[a].kind == Kind::tree) {
      // The nearest code leads to the lowest node that the box may grow to.
      const bool before = there.high()<here.low(), behind = there.low()> here.high();
      const double least =
          least_around(a, before ? there.high() : here.low(), behind ? there.low() : here.high());
      sum += attributes_[a].weight * (least - now_[at(offers.box) * d + a]);
    } else if (attributes_[a].kind == Kind::range) {
      sum += std::max(offers.below[a][at(there.high())], offers.above[a][at(there.low())]);
    } else {
      double least = kUnlimited;
      for (std::uint64_t bits = there.bits(); bits != 0; bits &= bits - 1)
        least = std::min(least, offers.of_bit[a][at(std::countr_zero(bits))]);
      sum += least;
    }
  }
  return sum;
}

Prices::Prices(const BoxTree& tree, const std::vector<Attribute>& attributes,
               const std::vector<std::vector<double>>& tables)
    : tree_(tree) {
  if (!tables.empty()) entropy_.emplace(tree, attributes, tables);
}

Outside Prices::nearest_outside(std::int32_t box, std::int64_t enough, Search& search) const {
  if (!entropy_) return tree_.nearest_outside(box, enough, search.tree);
  Outside found;
  entropy_->offer(box, search.offers);
  tree_.visit_nearer_first(
      search.tree, 0,
      [&](std::int32_t node, double) {
        return entropy_->least_extra(search.offers, tree_.records_below(node));
      },
      // Even if enough are covered, another record may make the box cheaper.
      [&](std::int32_t) {
        return found.covered < enough ? found.nearest.cost : std::min(found.nearest.cost, 0.0);
      },
      [&](std::int32_t record) {
        const double extra = entropy_->extra(search.offers, tree_.codes(record), found.nearest.cost);
        // What is covered costs nothing, up to rounding: most of the others need not be asked.
        if (std::abs(extra) < kRounding && tree_.covers(box, tree_.codes(record)))
          ++found.covered;
        else if (extra < found.nearest.cost)
          found.nearest = {extra, record};
      });
  return found;
}

std::vector<NearRecord> Prices::nearest_records(std::int32_t box, std::size_t count, Search& search) const {
  if (!entropy_) return tree_.nearest_records(box, count, search.tree);
  CheapestFew<NearRecord> best(count);
  entropy_->offer(box, search.offers);
  tree_.visit_nearer_first(
      search.tree, 0,
      [&](std::int32_t node, double) {
        return entropy_->least_extra(search.offers, tree_.records_below(node));
      },
      [&](std::int32_t) { return best.most(); },
      [&](std::int32_t record) {
        const double extra = entropy_->extra(search.offers, tree_.codes(record), best.most());
        if (extra >= best.most() || tree_.has_member(box, record)) return;
        best.add({extra, record});
      });
  return std::move(best).in_order();
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
      CheapestFew<NearBox> few(count);
      for (std::size_t i = stretch * kStretch; i < std::min(n, (stretch + 1) * kStretch); ++i) {
        const auto box = static_cast<std::int32_t>(i);
        if (const double cost = price(box); cost < few.most() && accept(box)) few.add({cost, box});
      }
      const auto found = std::move(few).in_order();
      const std::lock_guard lock(mutex);
      best.insert(best.end(), found.begin(), found.end());
    };
  });
  std::sort(best.begin(), best.end());
  best.resize(std::min(count, best.size()));
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
