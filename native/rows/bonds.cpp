#include "rows/bonds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"

namespace shoal {

Bonds::Bonds(std::vector<std::int32_t> component_of, std::vector<std::vector<std::int32_t>> edges)
    : component_of_(std::move(component_of)), parent_(edges.size()), edges_(std::move(edges)),
      is_source_(edges_.size(), 0), is_seen_(edges_.size(), 0), leads_back_(edges_.size(), 0) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

std::int32_t Bonds::root(std::int32_t component) {
  while (parent_[at(component)] != component)
    component = parent_[at(component)] = parent_[at(parent_[at(component)])];
  return component;
}

void Bonds::link(std::span<const std::int32_t> from, std::int32_t to) {
  const std::int32_t target = component(to);
  ++turn_;
  sources_.clear();
  for (const std::int32_t vertex : from) {
    const std::int32_t source = component(vertex);
    if (source == target || is_source_[at(source)] == turn_) continue;
    is_source_[at(source)] = turn_;
    sources_.push_back(source);
  }
  if (sources_.empty()) return;
  if (find_circle(target)) unite_circle(target);
  const std::int32_t now = root(target);
  for (const std::int32_t source : sources_)
    if (root(source) != now) edges_[at(root(source))].push_back(now);
}

// Finds the components reachable from the start that lead on to a source; a new edge leads back from there.
// As there are no cycles yet, a component is decided once all that follow it are.
bool Bonds::find_circle(std::int32_t start) {
  const auto enter = [&](std::int32_t component) {
    tidy(component);
    is_seen_[at(component)] = turn_;
    leads_back_[at(component)] = is_source_[at(component)] == turn_;
    seen_.push_back(component);
    path_.push_back({component, 0});
  };
  seen_.clear();
  enter(start);
  while (!path_.empty()) {
    auto& [component, next] = path_.back();
    if (next < edges_[at(component)].size()) {
      const std::int32_t following = edges_[at(component)][next++];
      if (is_seen_[at(following)] != turn_)
        enter(following);
      else if (leads_back_[at(following)] != 0)
        leads_back_[at(component)] = 1;
      continue;
    }
    const bool back = leads_back_[at(component)] != 0;
    path_.pop_back();
    if (back && !path_.empty()) leads_back_[at(path_.back().component)] = 1;
  }
  return leads_back_[at(start)] != 0;
}

void Bonds::unite_circle(std::int32_t start) {
  std::int32_t largest = start;
  for (const std::int32_t component : seen_)
    if (leads_back_[at(component)] != 0 && edges_[at(component)].size() > edges_[at(largest)].size())
      largest = component;
  for (const std::int32_t component : seen_) {
    if (leads_back_[at(component)] == 0 || component == largest) continue;
    parent_[at(component)] = largest;
    auto& all = edges_[at(largest)];
    all.insert(all.end(), edges_[at(component)].begin(), edges_[at(component)].end());
    edges_[at(component)] = {};
  }
}

// Lists each component that edges lead to once, and by its present number.
void Bonds::tidy(std::int32_t component) {
  auto& edges = edges_[at(component)];
  for (std::int32_t& following : edges) following = root(following);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::erase(edges, component);
}

}  // namespace shoal
