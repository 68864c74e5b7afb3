// Numbers that all folders share: indices, c log c, and tolerances for rounding.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace shoal {

// A number as an index: values[at(record)].
template <std::integral Number>
constexpr std::size_t at(Number number) {
  return static_cast<std::size_t>(number);
}

// The number of bits that are set. std::popcount is a call of a function where the processor may be an old
// one.
constexpr std::int64_t count_bits(std::uint64_t bits) {
  bits -= bits >> 1U & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + (bits >> 2U & 0x3333333333333333U);
  bits = (bits + (bits >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<std::int64_t>(bits * 0x0101010101010101U >> 56U);
}

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The audit accepts a value that misses its limit by this share. Methods allow themselves half of it (see
// Variety::eased), so that no release is rejected because two sums were rounded differently. Python reads
// the same number as `shoal.kernels.ROUNDING`.
constexpr double kRounding = 1e-9;

// A change is made only if it gains more than this; a smaller gain may be due to rounding.
constexpr double kWorthwhile = 1e-9;        // for sums over many records
constexpr double kWorthwhileAlone = 1e-12;  // for the cost of single rows

// c log c for a count c, in nats and in bits; 0 for a count of 0.
template <typename Number>
double c_log_c(Number count) {
  return count > 1 ? static_cast<double>(count) * std::log(static_cast<double>(count)) : 0.0;
}
inline double c_log2_c(double count) {
  return count > 1.0 ? count * std::log2(count) : 0.0;
}

// Counts and their c log2 c, summed up: enough to know the entropy of the values that were counted.
struct CountSums {
  double count = 0.0, logs = 0.0;

  static CountSums of(double count) { return {count, c_log2_c(count)}; }
  CountSums operator+(const CountSums& other) const { return {count + other.count, logs + other.logs}; }
  CountSums operator-(const CountSums& other) const { return {count - other.count, logs - other.logs}; }
  double entropy() const {  // in bits
    if (count <= 1.0) return 0.0;
    const double entropy = std::log2(count) - logs / count;
    return entropy > 0.0 ? entropy : 0.0;
  }
};

}  // namespace shoal
