#include "baselines/forest.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

struct LightLink {
  std::int32_t one, other;
  std::int64_t weight;  // in steps
};

class Forest {
 public:
  Forest(std::int32_t vertices, const std::vector<LightLink>& edges, std::int32_t k)
      : k_(k), real_(vertices), links_(at(vertices)) {
    for (const auto& [one, other, weight] : edges) {
      links_[at(one)].push_back({weight, other});
      links_[at(other)].push_back({weight, one});
    }
  }

  std::vector<std::int32_t> parts() {
    std::vector<std::int32_t> part(at(real_), -1);
    std::int32_t count = 0;
    for (std::int32_t vertex = 0; vertex < real_; ++vertex) {
      if (part[at(vertex)] >= 0) continue;
      std::vector<std::int32_t> roots{vertex};
      while (!roots.empty()) {
        pause_sometimes();
        const std::int32_t root = roots.back();
        look_at(root);
        const std::int32_t other = size() > std::max(2 * k_ - 1, 3 * k_ - 5) ? decompose() : -1;
        if (other >= 0) {
          roots.push_back(other);  // and the root again, with what is left of its tree
          continue;
        }
        roots.pop_back();
        for (const Seen& seen : seen_)
          if (seen.vertex < real_) part[at(seen.vertex)] = count;
        ++count;
      }
    }
    return part;
  }

 private:
  struct Link {
    std::int64_t weight;
    std::int32_t to;
    auto operator<=>(const Link&) const = default;
  };
  struct Seen {  // a vertex of the tree that is looked at, from the root down
    std::int32_t vertex;
    std::size_t parent;   // its place here
    std::int64_t weight;  // of the link to it
    std::int32_t below;   // number of records in it and below it
  };

  std::int32_t size() const { return seen_[0].below; }

  void look_at(std::int32_t root) {
    seen_.assign(1, {root, 0, 0, 0});
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const std::int32_t vertex = seen_[i].vertex;
      seen_[i].below = vertex < real_;
      for (const auto& [weight, to] : links_[at(vertex)])
        if (i == 0 || to != seen_[seen_[i].parent].vertex) seen_.push_back({to, i, weight, 0});
    }
    for (std::size_t i = seen_.size(); i-- > 1;) seen_[seen_[i].parent].below += seen_[i].below;
  }

  // Divides the tree into two, each of at least k records, and returns a vertex of the one without the
  // root; -1 if that is impossible. The heaviest link that may be cut is cut. If there is none, some vertex
  // has no branch of k records or more: its branches are divided into two groups, and a stand-in that is no
  // record replaces the vertex in the other one. Both groups have k if the tree has 3k - 4 and the vertex
  // is a record, or 3k - 2 if not.
  std::int32_t decompose() {
    const std::int32_t all = size();
    std::size_t heaviest = 0;
    std::tuple<std::int64_t, std::int32_t, std::int32_t> key;
    for (std::size_t i = 1; i < seen_.size(); ++i) {
      if (seen_[i].below < k_ || all - seen_[i].below < k_) continue;
      const auto [one, other] = std::minmax({seen_[i].vertex, seen_[seen_[i].parent].vertex});
      const std::tuple own{-seen_[i].weight, one, other};
      if (heaviest == 0 || own < key) {
        key = own;
        heaviest = i;
      }
    }
    if (heaviest > 0) {
      const std::int32_t below = seen_[heaviest].vertex, above = seen_[seen_[heaviest].parent].vertex;
      unlink(below, above);
      unlink(above, below);
      return below;
    }
    return divide_hub();
  }

  std::int32_t divide_hub() {
    std::size_t place = 0;  // goes down as long as there are k records or more below
    for (std::size_t i = 1; i < seen_.size(); ++i)
      if (seen_[i].below >= k_) place = i;  // these lie below each other, from the root down
    const std::int32_t hub = seen_[place].vertex;
    std::vector<std::pair<Link, std::int32_t>> branches;  // and how many records each has
    if (place > 0)
      branches.push_back(
          {{seen_[place].weight, seen_[seen_[place].parent].vertex}, size() - seen_[place].below});
    for (std::size_t i = 1; i < seen_.size(); ++i)
      if (seen_[i].parent == place) branches.push_back({{seen_[i].weight, seen_[i].vertex}, seen_[i].below});
    std::sort(branches.begin(), branches.end());
    const bool record = hub < real_;
    const std::int32_t wanted = record ? k_ - 1 : k_;
    std::vector<std::pair<Link, std::int32_t>> group;
    std::int32_t count = 0;
    for (const auto& branch : branches)
      if (record && branch.second == wanted && group.empty()) {
        group.push_back(branch);
        count = wanted;
      }
    for (std::size_t i = 0; i < branches.size() && count < wanted; ++i) {
      group.push_back(branches[i]);
      count += branches[i].second;
    }
    const bool with_hub = record && count == k_ - 1;
    if (size() - count - with_hub < k_) return -1;
    const auto stand_in = static_cast<std::int32_t>(links_.size());
    links_.emplace_back();
    for (const auto& branch : branches) {
      const Link link = branch.first;
      const bool grouped = std::find(group.begin(), group.end(), branch) != group.end();
      if (grouped == with_hub) continue;  // it stays with the hub
      unlink(hub, link.to);
      links_[at(stand_in)].push_back(link);
      *std::find(links_[at(link.to)].begin(), links_[at(link.to)].end(), Link{link.weight, hub}) = {
          link.weight, stand_in};
    }
    // The one of both that the root is not in.
    const std::int32_t root = seen_[0].vertex;
    look_at(stand_in);
    const bool inside =
        std::any_of(seen_.begin(), seen_.end(), [&](const Seen& seen) { return seen.vertex == root; });
    return inside ? hub : stand_in;
  }

  void unlink(std::int32_t from, std::int32_t to) {
    auto& links = links_[at(from)];
    links.erase(std::find_if(links.begin(), links.end(), [&](const Link& link) { return link.to == to; }));
  }

  std::int32_t k_, real_;
  std::vector<std::vector<Link>> links_;
  std::vector<Seen> seen_;
};

// Between distinct records.
std::vector<LightLink> lightest_links(std::span<const std::int32_t> codes,
                                      std::span<const std::int32_t> copies, const ClosureCosts& costs,
                                      std::int32_t k) {
  const auto n = static_cast<std::int32_t>(copies.size());
  const ClosureTree tree(codes, n, costs);
  std::vector<std::int32_t> root(at(n)), sizes(at(n));  // all by place; members of each root
  std::vector<std::vector<std::int32_t>> members(at(n));
  for (std::int32_t place = 0; place < n; ++place) {
    root[at(place)] = place;
    sizes[at(place)] = copies[at(tree.record(place))];
    members[at(place)] = {place};
  }
  struct Candidate {
    std::int64_t weight;
    std::int32_t first, second;    // records
    std::int32_t asking, nearest;  // places
    auto operator<=>(const Candidate&) const = default;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> lightest;
  const auto push = [&](std::int32_t place, const ClosureTree::Nearest& nearest) {
    if (nearest.place < 0) return;
    const auto [first, second] = std::minmax({tree.record(place), tree.record(nearest.place)});
    lightest.push({nearest.distance, first, second, place, nearest.place});
  };
  std::vector<ClosureTree::Nearest> nearest(at(n));
  share(nearest.size(), 64, [&] {
    return [&, search = ClosureTree::Search{}](std::size_t place) mutable {
      if (sizes[place] < k) nearest[place] = tree.nearest(static_cast<std::int32_t>(place), {}, search);
    };
  });
  for (std::int32_t place = 0; place < n; ++place) push(place, nearest[at(place)]);
  std::vector<LightLink> edges;
  ClosureTree::Search search;
  while (!lightest.empty()) {
    pause_sometimes();
    const Candidate found = lightest.top();
    lightest.pop();
    std::int32_t here = root[at(found.asking)], there = root[at(found.nearest)];
    if (sizes[at(here)] >= k) continue;
    if (here == there) {
      push(found.asking, tree.nearest(found.asking, root, search));
      continue;
    }
    edges.push_back({found.first, found.second, found.weight});
    if (members[at(here)].size() > members[at(there)].size()) std::swap(here, there);
    for (const std::int32_t place : members[at(here)]) root[at(place)] = there;
    members[at(there)].insert(members[at(there)].end(), members[at(here)].begin(), members[at(here)].end());
    members[at(here)] = {};
    sizes[at(there)] += sizes[at(here)];
    if (sizes[at(there)] < k) push(found.asking, tree.nearest(found.asking, root, search));
  }
  return edges;
}

}  // namespace

std::vector<std::int32_t> forest(std::span<const std::int32_t> codes, std::span<const std::int32_t> copies,
                                 const ClosureCosts& costs, std::int32_t k) {
  std::vector<std::int32_t> first(1, 0);  // vertex of each distinct record
  std::vector<LightLink> edges;
  for (const std::int32_t count : copies) {
    for (std::int32_t i = 1; i < count; ++i) edges.push_back({first.back() + i - 1, first.back() + i, 0});
    first.push_back(first.back() + count);
  }
  for (const auto& [one, other, weight] : lightest_links(codes, copies, costs, k))
    edges.push_back({first[at(one)], first[at(other)], weight});
  return Forest(first.back(), edges, k).parts();
}

}  // namespace shoal
