#include "attacks/matching_chains.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::int64_t kStepsPerLook = 4096;  // at the clock

}  // namespace

MatchingChains::MatchingChains(const Neighbourhoods& graph, const Parts& components, std::size_t chains,
                               std::span<const std::uint64_t> key)
    : chains_(chains), box_copies_(graph.box_copies.begin(), graph.box_copies.end()),
      component_starts_(components.starts.begin(), components.starts.end()),
      component_boxes_(components.boxes.begin(), components.boxes.end()) {
  std::vector<std::uint32_t> copies_before{0};
  for (const std::int64_t copies : graph.record_copies) {
    const auto record = static_cast<std::int32_t>(copies_before.size() - 1);
    record_of_.insert(record_of_.end(), at(copies), record);
    copies_before.push_back(static_cast<std::uint32_t>(record_of_.size()));
  }
  for (std::size_t box = 0; box < box_copies_.size(); ++box) {
    std::uint32_t inside = 0;
    for (auto i = at(graph.starts[box]); i < at(graph.starts[box + 1]); ++i) {
      const std::uint32_t first = copies_before[at(graph.begins[i])];
      stretches_.push_back({inside, first});
      inside += copies_before[at(graph.ends[i])] - first;
    }
    boxes_.push_back({graph.starts[box], inside});
  }
  boxes_.push_back({graph.starts.back(), 0});
  places_.assign(chains, std::vector<Place>(record_of_.size()));
  const std::size_t count = component_starts_.size() - 1;
  std::vector<std::uint8_t> known(record_of_.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> members;
    for (auto b = component_starts_[i]; b < component_starts_[i + 1]; ++b) {
      const std::size_t box = at(component_boxes_[at(b)]);
      for (auto s = at(graph.starts[box]); s < at(graph.starts[box + 1]); ++s)
        for (auto copy = copies_before[at(graph.begins[s])]; copy < copies_before[at(graph.ends[s])]; ++copy)
          if (std::exchange(known[copy], 1) == 0) members.push_back(copy);
    }
    members_.push_back(std::move(members));
  }
  states_.reserve(count * chains);
  for (std::size_t i = 0; i < count * chains; ++i)
    states_.push_back({RandomWords(key.subspan(4 * i, 4)), false, 0, {}});
}

// One chain of one component at work.
class MatchingChains::Walker {
 public:
  Walker(const MatchingChains& all, Chain& chain, std::vector<Place>& places,
         const std::vector<std::uint32_t>& members, Clock::time_point deadline)
      : all_(all), chain_(chain), places_(places), members_(members), deadline_(deadline) {}

  // Gives every record a box; false if there was no time for it.
  bool start(std::span<const std::int32_t> boxes) {
    for (const std::uint32_t copy : members_) places_[copy].box = -1;
    for (const std::int32_t box : boxes)
      for (std::int64_t i = 0; i < all_.box_copies_[at(box)]; ++i)
        for (std::int32_t lacking = box; lacking >= 0;) {
          if (late()) return false;
          lacking = std::exchange(places_[draw(lacking)].box, lacking);
        }
    return true;
  }

  // False if time was up before all walks were closed.
  bool walk(std::int32_t walks) {
    for (const std::uint32_t copy : members_) places_[copy] = {places_[copy].box, -1, 0};
    for (now_ = 0; now_ < walks; ++now_)
      if (!close_one()) return false;
    for (const std::uint32_t copy : members_) note(copy, places_[copy].box);
    return true;
  }

 private:
  bool late() { return ++chain_.steps % kStepsPerLook == 0 && Clock::now() > deadline_; }

  std::uint32_t draw(std::int32_t number) {
    const Box& box = all_.boxes_[at(number)];
    const std::uint32_t drawn = chain_.random.below(box.inside);
    const auto begin = all_.stretches_.begin() + box.begin;
    const auto end = all_.stretches_.begin() + (&box + 1)->begin;
    const auto after = std::upper_bound(begin, end, drawn, [](std::uint32_t copies, const Stretch& stretch) {
      return copies < stretch.before;
    });
    const Stretch& stretch = *(after - 1);
    return stretch.first + (drawn - stretch.before);
  }

  bool close_one() {
    moved_.clear();
    const std::uint32_t out = members_[chain_.random.below(static_cast<std::uint32_t>(members_.size()))];
    std::int32_t lacking = places_[out].box;
    while (true) {
      if (late()) {
        for (const auto& [copy, before] : moved_) places_[copy].box = before;
        return false;
      }
      const std::uint32_t drawn = draw(lacking);
      Place& place = places_[drawn];
      if (std::exchange(place.walk, now_) != now_) moved_.emplace_back(drawn, place.box);
      lacking = std::exchange(place.box, lacking);
      if (drawn == out) break;
    }
    for (const auto& [copy, before] : moved_)
      if (places_[copy].box != before) note(copy, before);
    return true;
  }

  // The copy had the box up to now.
  void note(std::uint32_t copy, std::int32_t box) {
    const std::int64_t walks = now_ - std::exchange(places_[copy].since, now_);
    if (walks > 0) chain_.seen.add(all_.record_of_[copy], box, walks);
  }

  const MatchingChains& all_;
  Chain& chain_;
  std::vector<Place>& places_;
  const std::vector<std::uint32_t>& members_;
  Clock::time_point deadline_;
  std::int32_t now_ = 0;                                       // walks closed
  std::vector<std::pair<std::uint32_t, std::int32_t>> moved_;  // on this walk, and the box before it
};

bool MatchingChains::walk(std::int32_t component, std::size_t number, std::int32_t walks,
                          Clock::time_point deadline) {
  Chain& chain = this->chain(component, number);
  Walker walker(*this, chain, places_[number], members_[at(component)], deadline);
  if (!chain.started) {
    const auto begin = at(component_starts_[at(component)]);
    const auto end = at(component_starts_[at(component) + 1]);
    chain.started = walker.start(std::span(component_boxes_).subspan(begin, end - begin));
    if (!chain.started) return false;
  }
  chain.seen.clear();
  return walker.walk(walks);
}

SeenLinks MatchingChains::run(std::span<const std::int32_t> components, std::int32_t walks, double seconds) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  SeenLinks all;
  all.complete.assign(components.size(), 1);
  std::vector<std::uint8_t> done(components.size() * chains_);
  WorkStack<std::size_t> tasks(0);
  for (std::size_t task = 1; task < done.size(); ++task) tasks.push(task);
  const auto make_worker = [&] {
    return [&](std::size_t task) {
      done[task] = walk(components[task / chains_], task % chains_, walks, deadline) ? 1 : 0;
    };
  };
  if (!done.empty()) tasks.run(make_worker, static_cast<std::int64_t>(done.size()));

  struct Entry {
    std::uint64_t link;
    std::size_t chain;
    std::int64_t walks;
  };
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < components.size(); ++i) {
    entries.clear();
    for (std::size_t c = 0; c < chains_; ++c) {
      Chain& each = chain(components[i], c);
      all.steps += std::exchange(each.steps, 0);
      if (done[i * chains_ + c] == 0) all.complete[i] = 0;
      each.seen.visit_all(
          [&](std::uint64_t link, std::int64_t count) { entries.push_back({link, c, count}); });
    }
    if (all.complete[i] == 0) continue;
    std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) { return x.link < y.link; });
    for (std::size_t e = 0; e < entries.size(); ++e) {
      if (e == 0 || entries[e].link != entries[e - 1].link) {
        all.records.push_back(static_cast<std::int32_t>(entries[e].link >> 32U));
        all.boxes.push_back(static_cast<std::int32_t>(entries[e].link));
        all.shares.resize(all.shares.size() + chains_, 0.0);
      }
      all.shares[all.shares.size() - chains_ + entries[e].chain] =
          static_cast<double>(entries[e].walks) / static_cast<double>(walks);
    }
  }
  return all;
}

}  // namespace shoal
