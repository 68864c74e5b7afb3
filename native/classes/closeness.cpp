#include "classes/closeness.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kListed = 1 << 14;  // values: 32 MiB of bits

}  // namespace

Closeness::Closeness(const std::vector<Component>& components, double power, double limit)
    : size_(components[0].numbers.size()), power_(power), limit_(limit) {
  double sum = 0.0;
  for (const Component& component : components) sum += component.weight;
  for (const Component& component : components)
    parts_.push_back(
        {component.kind, component.weight / sum, component.diameter, StretchMaximum(component.steps)});
  numbers_.reserve(size_ * parts_.size());
  for (std::size_t value = 0; value < size_; ++value)
    for (const Component& component : components) numbers_.push_back(component.numbers[value]);
  if (size_ > kListed) return;
  listed_.resize(size_ * row_bytes());
  shoal::share(size_, 16, [&] {
    return [&](std::size_t a) {
      for (std::size_t b = 0; b < size_; ++b)
        if (norm(a, b) <= limit_)
          listed_[a * row_bytes() + b / 8] |= static_cast<std::uint8_t>(1u << (b % 8));
    };
  });
  bits_ = listed_;
}

double Closeness::share(const Part& part, double x, double y) const {
  if (part.kind == Kind::set) return x == y ? 0.0 : 1.0;
  if (part.kind == Kind::tree) {
    const auto low = static_cast<std::size_t>(std::min(x, y)),
               high = static_cast<std::size_t>(std::max(x, y));
    return low == high ? 0.0 : part.steps(low, high);
  }
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0.0 : 1.0;
  const double distance = std::abs(x - y);
  if (part.diameter <= 0.0) return distance > 0.0 ? 1.0 : 0.0;
  return std::min(distance / part.diameter, 1.0);
}

// The same sums in the same order as in Python, so that both always agree.
double Closeness::norm(std::size_t a, std::size_t b) const {
  const std::size_t d = parts_.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < d; ++i) {
    const double s = share(parts_[i], numbers_[a * d + i], numbers_[b * d + i]);
    if (std::isinf(power_))
      sum = std::max(sum, s);
    else
      sum += parts_[i].weight * (power_ == 1.0 ? s : power_ == 2.0 ? s * s : std::pow(s, power_));
  }
  if (power_ == 1.0 || std::isinf(power_)) return sum;
  return power_ == 2.0 ? std::sqrt(sum) : std::pow(sum, 1.0 / power_);
}

std::vector<std::int64_t> Closeness::degrees(std::span<const std::int64_t> counts) const {
  std::vector<std::int64_t> degrees(size_);
  shoal::share(size_, 16, [&] {
    return [&](std::size_t value) {
      std::int64_t sum = -1;
      for (std::size_t other = 0; other < size_; ++other)
        if ((*this)(static_cast<std::int32_t>(value), static_cast<std::int32_t>(other))) sum += counts[other];
      degrees[value] = sum;
    };
  });
  return degrees;
}

std::vector<std::int64_t> Closeness::near(std::span<const std::int32_t> values,
                                          std::span<const std::int64_t> counts) const {
  const std::size_t many = values.size();
  std::vector<std::int64_t> sums(counts.size(), 0);
  for (std::size_t i = 0; i < many; ++i)
    for (std::size_t j = 0; j < many; ++j) {
      if (!(*this)(values[i], values[j])) continue;
      for (std::size_t row = 0; row < counts.size(); row += many) sums[row + i] += counts[row + j];
    }
  return sums;
}

}  // namespace shoal
