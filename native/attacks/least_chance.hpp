// The least chance with which an attacker must be right about some record, and assignments that attain it.
//
// Let x(r, j) be the probability that row j carries record r. Each row carries one record and each record has
// one row, so x is doubly stochastic on the edges of the coverage graph; conversely each such x is that of
// some random assignment (Birkhoff and von Neumann). The least chance t is the smallest maximum of any x.
//
// Example: the records 20, 21 and 30, and the rows 20..21, 20..30 and 20..30. 30 is in two rows, so one of
// them carries it with a probability of at least 1/2; x = 1/2 on all edges but 20..21 x 30 attains t = 1/2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attacks/exact_links.hpp"
#include "attacks/maximum_matching.hpp"
#include "base/random_words.hpp"

namespace shoal {

// A number as a fraction in lowest terms; the denominator is 0 if there is no assignment at all.
struct Fraction {
  std::int64_t numerator, denominator;
};

// For each component, the least chance. Exact: t is the largest (n(B) - m(not A) - n(C)) / e(A, not C) over
// sets A of records and C of boxes, where B are all boxes, m and n count copies, and e counts edges between
// copies. Newton's method finds it: a maximum flow with capacities t either routes everything, or its minimum
// cut is a pair of sets with a larger quotient. All capacities are whole numbers. Records without a box are
// allowed, boxes without a record are not. O(edges) memory, for one component at a time.
std::vector<Fraction> least_chances(const Neighbourhoods& graph, const Parts& components);

// Draws an assignment of all records to boxes. Each copy of a record gets each copy of a box with a
// probability of at most the least chance of their component, and nearly as evenly as possible below that.
// The probabilities are whole multiples of 1/d for some d, and drawn exactly. Each component has as many
// copies of records as of boxes.
Matched draw_assignment(const Neighbourhoods& graph, const Parts& components, RandomWords& random);

// The probabilities themselves: how many copies of each record have a copy of each box, on average.
Links evenest_links(const Neighbourhoods& graph, const Parts& components);

}  // namespace shoal
