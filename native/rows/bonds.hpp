// Components of a directed graph that merge when edges are added (Tassa et al. 2012, Section 6.2.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"

namespace shoal {

// Only the edges between components are known, and they never form a cycle.
//
// Example: the components 0, 1 and 2 with the edges 0 -> 1 -> 2. An edge 2 -> 0, added by link({vertex of
// 2}, vertex of 0), closes a cycle: afterwards all three are one component.
class Bonds {
 public:
  // The component of each vertex, 0, 1, 2, ..., and for each component those that its edges lead to.
  Bonds(std::vector<std::int32_t> component_of, std::vector<std::vector<std::int32_t>> edges);

  bool together(std::int32_t vertex, std::int32_t other) { return component(vertex) == component(other); }
  std::int32_t component(std::int32_t vertex) { return root(component_of_[at(vertex)]); }

  // Adds edges from some vertices to one.
  void link(std::span<const std::int32_t> from, std::int32_t to);

 private:
  std::int32_t root(std::int32_t component);
  bool find_circle(std::int32_t start);
  void unite_circle(std::int32_t start);
  void tidy(std::int32_t component);

  struct Visit {
    std::int32_t component;
    std::size_t next;  // of its edges
  };
  std::vector<std::int32_t> component_of_, parent_;
  std::vector<std::vector<std::int32_t>> edges_;
  // Of the current search, by its number:
  std::int32_t turn_ = 0;
  std::vector<std::int32_t> is_source_, is_seen_;
  std::vector<std::uint8_t> leads_back_;
  std::vector<std::int32_t> seen_, sources_;
  std::vector<Visit> path_;
};

}  // namespace shoal
