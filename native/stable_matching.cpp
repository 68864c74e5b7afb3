#include "stable_matching.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "workers.hpp"

namespace shoal {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

struct Offer {
  double cost;
  std::int32_t record, box;
};

class Round {
 public:
  Round(BoxTree& tree, std::vector<std::int32_t> records, std::vector<std::int32_t> boxes,
        std::span<const std::pair<std::int32_t, std::int32_t>> settled)
      : tree_(tree), records_(std::move(records)), boxes_(std::move(boxes)), holder_(at(tree.rows()), -1) {
    std::vector<double> limits(at(tree.rows()), -1.0);  // boxes that do not take part accept nothing
    for (const std::int32_t box : boxes_) limits[at(box)] = kFree;
    for (const auto& [record, box] : settled) {
      boxes_.push_back(box);
      if (tree.has_member(box, record)) {  // an exchange in an earlier round brought it there
        limits[at(box)] = kFree;
        records_.push_back(record);
      } else {
        limits[at(box)] = 0.0;  // nothing is cheaper
        holder_[at(box)] = record;
      }
    }
    tree.set_all_limits(limits);
  }

  Matching run() {
    std::vector<std::int32_t> free = std::move(records_), stuck;
    while (!free.empty()) {
      std::vector<Offer> offers = ask(free);
      std::sort(offers.begin(), offers.end(), [](const Offer& x, const Offer& y) {
        return x.cost != y.cost ? x.cost < y.cost : x.record < y.record;
      });
      free.clear();
      for (const Offer& offer : offers) {
        if (offer.box < 0) {
          stuck.push_back(offer.record);
        } else if (offer.cost < tree_.limit(offer.box)) {
          std::int32_t& holder = holder_[at(offer.box)];
          if (holder >= 0) free.push_back(holder);
          holder = offer.record;
          tree_.set_limit(offer.box, offer.cost);
        } else {
          free.push_back(offer.record);
        }
      }
    }
    matching_.box_of.assign(at(tree_.rows()), -1);
    for (const std::int32_t box : boxes_)
      if (holder_[at(box)] >= 0) matching_.box_of[at(holder_[at(box)])] = box;
    matching_.dead_ends = static_cast<std::int64_t>(stuck.size());
    for (const std::int32_t record : stuck) exchange(record);
    return std::move(matching_);
  }

 private:
  std::vector<Offer> ask(const std::vector<std::int32_t>& free) {
    std::vector<Offer> offers(free.size());
    std::atomic<std::int64_t> visited{0};
    share(free.size(), 64, [&] {
      return [&, search = BoxTree::Search{}](std::size_t i) mutable {
        const std::int64_t before = search.visited;
        const Nearest found = tree_.nearest_box(free[i], search);
        offers[i] = {found.cost, free[i], found.box};
        visited += search.visited - before;
      };
    });
    matching_.queries += static_cast<std::int64_t>(free.size());
    matching_.visited += visited;
    return offers;
  }

  // Gives the record a box by the shortest chain of exchanges, and among those of one exchange by the
  // cheapest: it takes the box of another record, which takes a free one.
  void exchange(std::int32_t record) {
    double least = kFree;
    std::int32_t chosen = -1, spare = -1;
    for (const std::int32_t free : boxes_) {
      if (holder_[at(free)] >= 0) continue;
      for (const std::int32_t box : boxes_) {
        const std::int32_t other = holder_[at(box)];
        if (other < 0 || tree_.has_member(box, record) || tree_.has_member(free, other)) continue;
        const double cost = tree_.extra_cost(box, tree_.codes(record)) +
                            tree_.extra_cost(free, tree_.codes(other)) -
                            tree_.extra_cost(box, tree_.codes(other));
        if (cost < least) {
          least = cost;
          chosen = box;
          spare = free;
        }
      }
    }
    if (chosen >= 0) {
      give(spare, holder_[at(chosen)]);
      give(chosen, record);
    } else {
      exchange_along_path(record);
    }
  }

  // In small tables, where boxes have nearly all records, the chain may be longer: a breadth-first search.
  void exchange_along_path(std::int32_t record) {
    std::vector<std::int32_t> came_from(at(tree_.rows()), -1);  // box -> the record that wants it
    std::vector<std::int32_t> queue{record};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::int32_t box : boxes_) {
        if (came_from[at(box)] >= 0 || tree_.has_member(box, queue[i])) continue;
        came_from[at(box)] = queue[i];
        if (holder_[at(box)] >= 0) {
          queue.push_back(holder_[at(box)]);
          continue;
        }
        for (std::int32_t next = box; next >= 0;) {
          const std::int32_t taker = came_from[at(next)];
          const std::int32_t left = matching_.box_of[at(taker)];
          give(next, taker);
          next = taker == record ? -1 : left;
        }
        return;
      }
    }
    throw std::logic_error("a regular graph has a perfect matching, but none was found");
  }

  void give(std::int32_t box, std::int32_t record) {
    holder_[at(box)] = record;
    matching_.box_of[at(record)] = box;
  }

  BoxTree& tree_;
  std::vector<std::int32_t> records_, boxes_;
  std::vector<std::int32_t> holder_;
  Matching matching_;
};

}  // namespace

Matching match_cheapest_first(BoxTree& tree, std::vector<std::int32_t> records,
                              std::vector<std::int32_t> boxes,
                              std::span<const std::pair<std::int32_t, std::int32_t>> settled) {
  return Round(tree, std::move(records), std::move(boxes), settled).run();
}

}  // namespace shoal
