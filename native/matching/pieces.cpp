#include "matching/pieces.hpp"

#include <algorithm>

namespace shoal {

Pieces::Pieces(const Neighbourhood& here)
    : here_(here), filled_(at(here.rows())), bits_(at(here.rows()) * here.words()),
      ends_(at(here.rows()) * here.intervals().size()) {}

void Pieces::clear(std::size_t size) {
  size_ = size;
  records_.resize(filled_.size() * size);
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(bits_.begin(), bits_.end(), 0);
}

void Pieces::add(std::int32_t row, std::int32_t record) {
  const std::size_t words = here_.words(), intervals = here_.intervals().size();
  for (std::size_t w = 0; w < words; ++w) bits_[at(row) * words + w] |= here_.bits(record)[w];
  const bool is_first = filled_[at(row)] == 0;
  for (std::size_t i = 0; i < intervals; ++i) {
    const std::int32_t code = here_.codes(record)[here_.intervals()[i]];
    Ends& ends = ends_[at(row) * intervals + i];
    ends = is_first ? Ends{code, code} : Ends{std::min(ends.low, code), std::max(ends.high, code)};
  }
  records_[at(row) * size_ + filled_[at(row)]++] = record;
}

double Pieces::added(std::int32_t row, std::int32_t record) const {
  double sum = added_bits(row, here_.bits(record)) + added_codes(row, &record, 1);
  for (std::size_t i = 0; i < here_.intervals().size(); ++i) {
    const std::int32_t code = here_.codes(record)[here_.intervals()[i]];
    sum += added_ends(row, i, {code, code});
  }
  return sum;
}

double Pieces::added(std::int32_t row, const Pieces& others, std::int32_t other, double enough) const {
  double sum = added_bits(row, others.bits_.data() + at(other) * here_.words());
  const std::size_t intervals = here_.intervals().size();
  for (std::size_t i = 0; i < intervals && sum < enough; ++i)
    sum += added_ends(row, i, others.ends_[at(other) * intervals + i]);
  return sum < enough ? sum + added_codes(row, others.records(other), others.filled_[at(other)]) : sum;
}

double Pieces::added_bits(std::int32_t row, const std::uint64_t* coming) const {
  const std::size_t words = here_.words();
  const std::uint64_t* own = bits_.data() + at(row) * words;
  double sum = 0.0;
  for (std::size_t w = 0; w < words; ++w) sum += here_.bit_costs(coming[w] & ~own[w], w);
  return sum;
}

double Pieces::added_ends(std::int32_t row, std::size_t interval, const Ends& coming) const {
  const Ends& own = ends_[at(row) * here_.intervals().size() + interval];
  if (own.low <= coming.low && coming.high <= own.high) return 0.0;
  const Attribute& attribute = here_.attribute(here_.intervals()[interval]);
  const Ends both{std::min(own.low, coming.low), std::max(own.high, coming.high)};
  return attribute.weight *
         (attribute.interval_cost(both.low, both.high) - attribute.interval_cost(own.low, own.high));
}

// Codes of large sets are looked up.
double Pieces::added_codes(std::int32_t row, const std::int32_t* coming, std::size_t count) const {
  double sum = 0.0;
  const std::int32_t *first = records(row), *end = first + filled_[at(row)];
  for (const std::size_t a : here_.large_sets())
    for (const std::int32_t* one = coming; one < coming + count; ++one) {
      const auto same = [&](std::int32_t record) { return here_.codes(record)[a] == here_.codes(*one)[a]; };
      if (std::none_of(coming, one, same) && std::none_of(first, end, same)) sum += here_.unit(a);
    }
  return sum;
}

}  // namespace shoal
