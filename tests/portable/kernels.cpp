// Runs kernels on made-up records, without Python, and prints what they find: the same on every platform,
// whatever its compiler, its word size and its order of bytes. tests/portable/run.sh compares them.

#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "attacks/exact_links.hpp"
#include "attacks/least_chance.hpp"
#include "base/grouping.hpp"
#include "base/random_words.hpp"
#include "base/space.hpp"
#include "classes/cut.hpp"
#include "classes/mondrian.hpp"
#include "matching/ring.hpp"
#include "matching/stable_matching.hpp"
#include "trees/box_tree.hpp"

namespace shoal {
namespace {

constexpr std::int32_t kRows = 600;
constexpr std::int32_t kAges = 90, kJobs = 12, kPlaces = 16;
constexpr std::array<std::uint64_t, 4> kKey = {0x0123456789abcdef, 0xfedcba9876543210, 3, 1ULL << 63};

// FNV-1a over the numbers themselves, not over their bytes in memory.
template <typename Numbers>
void print(const char* name, const Numbers& numbers) {
  std::uint64_t digest = 14695981039346656037ULL;
  std::size_t count = 0;
  for (const auto number : numbers) {
    auto word = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    for (int i = 0; i < 8; ++i, word >>= 8) digest = (digest ^ (word & 255)) * 1099511628211ULL;
    ++count;
  }
  std::printf("%s: %llu numbers, %016llx\n", name, static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(digest));
}

struct Sample {
  std::vector<std::int32_t> codes;
  std::vector<double> ages, jobs{double{kJobs}}, places;
  std::vector<Attribute> attributes;

  Sample() {
    RandomWords random(kKey);
    for (std::int32_t row = 0; row < kRows; ++row)
      for (const std::uint32_t size : {kAges, kJobs, kPlaces})
        codes.push_back(static_cast<std::int32_t>(random.below(size)));
    // Positions are multiples of powers of two, so that sums are exact.
    for (std::int32_t age = 0; age < kAges; ++age) ages.push_back(age / 128.0);
    for (std::int32_t place = 0; place + 1 < kPlaces; ++place) places.push_back(place % 4 == 3 ? 1.0 : 0.25);
    attributes.emplace_back(Kind::range, 1.0, kAges, ages);
    attributes.emplace_back(Kind::set, 1.0, kJobs, jobs);
    attributes.emplace_back(Kind::tree, 1.0, kPlaces, places);
  }
};

void classes(const Sample& sample) {
  std::vector<std::int32_t> groups(kRows);
  print("distinct rows", group_rows(sample.codes.data(), kRows, 3, groups.data()));
  print("groups", groups);
  print("mondrian", mondrian(sample.codes, kRows, sample.attributes, {}, 5, false));
  print("mondrian, relaxed", mondrian(sample.codes, kRows, sample.attributes, {}, 5, true));
  print("cut", cut(sample.codes, kRows, sample.attributes, 5));
}

void orders(const Sample& sample) {
  const std::vector<std::int32_t> copies(kRows, 1);
  Ring ring(sample.codes, copies, sample.attributes, 5);
  std::vector<std::int64_t> moves;
  for (int sweep = 0; sweep < 3; ++sweep) moves.push_back(ring.sweep());
  print("moves on a ring", moves);
  print("ring", ring.order());
}

void matchings(const Sample& sample) {
  BoxTree tree(sample.codes, kRows, sample.attributes, 3);
  std::vector<std::int32_t> all(kRows);
  for (std::int32_t i = 0; i < kRows; ++i) all[at(i)] = i;
  print("box tree", tree.order());
  print("stable matching", match_cheapest_first(tree, all, all, {}).box_of);
}

// Each box contains a stretch of records, some of them twice as many copies as others.
void attacks() {
  constexpr std::int32_t count = 8;
  std::vector<std::int64_t> copies, starts(1, 0);
  std::vector<std::int32_t> begins, ends, boxes;
  for (std::int32_t i = 0; i < count; ++i) {
    copies.push_back(1 + i % 2);
    boxes.push_back(i);
    begins.push_back(i < 2 ? 0 : i - 2);
    ends.push_back(i + 3 < count ? i + 3 : count);
    starts.push_back(static_cast<std::int64_t>(begins.size()));
  }
  const std::vector<std::int64_t> parts = {0, count};
  const Neighbourhoods graph{copies, copies, starts, begins, ends};
  const Parts whole{parts, boxes};
  std::vector<std::int64_t> chances;
  for (const Fraction& each : least_chances(graph, whole)) {
    chances.push_back(each.numerator);
    chances.push_back(each.denominator);
  }
  print("least chances", chances);
  RandomWords random(kKey);
  for (int i = 0; i < 20; ++i) {
    const Matched drawn = draw_assignment(graph, whole, random);
    if (i % 10 == 0) print("drawn records", drawn.records);
    if (i % 10 == 0) print("drawn boxes", drawn.boxes);
  }
  std::vector<std::int64_t> links;
  for (const double expected : exact_links(graph, whole).expected)
    links.push_back(static_cast<std::int64_t>(expected * 1e9 + 0.5));
  print("exact links", links);
}

}  // namespace
}  // namespace shoal

int main() {
  const shoal::Sample sample;
  shoal::print("records", sample.codes);
  shoal::classes(sample);
  shoal::orders(sample);
  shoal::matchings(sample);
  shoal::attacks();
}
