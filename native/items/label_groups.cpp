#include "items/label_groups.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/interruption.hpp"
#include "base/numbers.hpp"

namespace shoal {
namespace {

std::size_t number_of(std::span<const std::int32_t> labels) {
  return labels.empty() ? 0 : at(*std::max_element(labels.begin(), labels.end())) + 1;
}

// The labels of one stretch, and how often the most frequent one occurs.
class Stretch {
 public:
  explicit Stretch(std::size_t labels) : counts_(labels, {0, 0}) {}
  void begin() {
    ++turn_;
    size_ = most_ = 0;
  }
  void add(std::int32_t label) {
    auto& [turn, count] = counts_[at(label)];
    if (turn != turn_) count = 0;
    turn = turn_;
    most_ = std::max(most_, ++count);
    ++size_;
  }
  bool is_diverse(std::int64_t different) const { return most_ * different <= size_; }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> counts_;  // per label: the last turn, and how often
  std::int64_t turn_ = 0, size_ = 0, most_ = 0;
};

class VariedGroups {
 public:
  VariedGroups(std::span<const std::int32_t> labels, std::size_t columns)
      : labels_(labels), columns_(columns), numbers_(number_of(labels)),
        group_of_(labels.size() / columns, -1), taken_(columns * numbers_, 0) {}

  void gather(std::size_t first, std::size_t different, std::size_t window) {
    if (group_of_[first] >= 0) return;
    ++turn_;
    members_.assign(1, first);
    take(first);
    const std::size_t end = std::min(first + 1 + window, group_of_.size());
    for (std::size_t other = first + 1; other < end && members_.size() < different; ++other) {
      if (group_of_[other] >= 0 || is_taken(other)) continue;
      members_.push_back(other);
      take(other);
    }
    if (members_.size() < different) return;
    for (const std::size_t member : members_) join(member, groups_);
    ++groups_;
  }

  void settle(std::size_t place, std::size_t window) {
    if (group_of_[place] >= 0) return;
    const auto here = group_of_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto before = static_cast<std::ptrdiff_t>(std::min(window, place));
    const auto after = static_cast<std::ptrdiff_t>(std::min(window, group_of_.size() - place));
    near_.assign(here - before, here + after);
    std::erase(near_, -1);
    std::sort(near_.begin(), near_.end());
    near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    if (near_.empty()) {
      near_.resize(at(groups_));
      std::iota(near_.begin(), near_.end(), 0);
    }
    const auto fits = [&](std::int32_t group) {
      for (std::size_t column = 0; column < columns_; ++column)
        if (used_.contains(key(group, place, column))) return false;
      return true;
    };
    const auto chosen = std::find_if(near_.begin(), near_.end(), fits);
    join(place, chosen == near_.end() ? near_.front() : *chosen);
  }

  std::size_t size() const { return group_of_.size(); }
  bool any() const { return groups_ > 0; }
  std::vector<std::int32_t> groups() && { return std::move(group_of_); }

 private:
  std::size_t label(std::size_t place, std::size_t column) const {
    return column * numbers_ + at(labels_[place * columns_ + column]);
  }
  std::uint64_t key(std::int32_t group, std::size_t place, std::size_t column) const {
    return at(group) * columns_ * numbers_ + label(place, column);
  }
  void take(std::size_t place) {
    for (std::size_t column = 0; column < columns_; ++column) taken_[label(place, column)] = turn_;
  }
  bool is_taken(std::size_t place) const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (taken_[label(place, column)] == turn_) return true;
    return false;
  }
  void join(std::size_t place, std::int32_t group) {
    group_of_[place] = group;
    for (std::size_t column = 0; column < columns_; ++column) used_.insert(key(group, place, column));
  }

  std::span<const std::int32_t> labels_;
  std::size_t columns_, numbers_;
  std::vector<std::int32_t> group_of_;
  std::vector<std::int64_t> taken_;         // per column and label: the last turn that had it
  std::unordered_set<std::uint64_t> used_;  // of each group: its columns and labels
  std::vector<std::size_t> members_;
  std::vector<std::int32_t> near_;
  std::int64_t turn_ = 0;
  std::int32_t groups_ = 0;
};

}  // namespace

std::vector<std::int64_t> cut_where_diverse(std::span<const std::int32_t> labels,
                                            std::span<const std::int64_t> ends, std::int64_t different) {
  Stretch stretch(number_of(labels));
  std::vector<std::int64_t> cuts{0};
  stretch.begin();
  std::int64_t place = 0;
  for (const std::int64_t end : ends) {
    pause_sometimes();
    for (; place < end; ++place) stretch.add(labels[at(place)]);
    if (!stretch.is_diverse(different)) continue;
    cuts.push_back(end);
    stretch.begin();
  }
  if (cuts.back() == place) return cuts;
  std::int64_t begin = cuts.back();  // what is left over is counted already
  while (cuts.size() > 1) {
    cuts.pop_back();
    while (begin > cuts.back()) stretch.add(labels[at(--begin)]);
    if (stretch.is_diverse(different)) break;
  }
  cuts.push_back(place);
  return cuts;
}

std::vector<std::int32_t> varied_groups(std::span<const std::int32_t> labels, std::size_t columns,
                                        std::size_t different, std::size_t window) {
  VariedGroups made(labels, columns);
  const Turns turns(2 * made.size());
  for (std::size_t first = 0; first < made.size(); ++first) {
    pause_sometimes();
    turns.done(first);
    made.gather(first, different, window);
  }
  if (!made.any()) return std::vector<std::int32_t>(made.size(), 0);
  for (std::size_t place = 0; place < made.size(); ++place) {
    pause_sometimes();
    turns.done(made.size() + place);
    made.settle(place, window);
  }
  return std::move(made).groups();
}

}  // namespace shoal
