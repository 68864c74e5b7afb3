// What a box spans in one attribute, in eight bytes.
//
// - range, tree: the lowest and the highest code;
// - set: one bit for each code, or for each bin of codes where there are more than 64. Then a bit says only
//   "perhaps", and the exact codes have to be looked up elsewhere.
//
// Example: an attribute `age` (range) and an attribute `job` (set of three codes):
//   Cell ages = Cell::interval(20, 29);
//   ages.unite(age, Cell(age, 35));  // low() is 20, high() is 35
//   Cell jobs(job, 2);               // bits() is 0b100
//   jobs.unite(job, Cell(job, 0));   // bits() is 0b101: may_have(0), may_have(2), not may_have(1)
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/space.hpp"

namespace shoal {

class Cell {
 public:
  Cell() = default;
  // One code; in a set with more than 64 codes, its bin is the code modulo 64.
  Cell(const Attribute& attribute, std::int32_t code)
      : Cell(attribute.kind == Kind::set ? Cell(bit(code)) : interval(code, code)) {}
  static Cell interval(std::int32_t low, std::int32_t high) {
    return Cell(static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) |
                static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32);
  }
  static Cell set(std::uint64_t bits) { return Cell(bits); }

  std::int32_t low() const { return static_cast<std::int32_t>(bits_ & 0xffffffffU); }
  std::int32_t high() const { return static_cast<std::int32_t>(bits_ >> 32); }
  std::uint64_t bits() const { return bits_; }
  bool may_have(std::int32_t code) const { return (bits_ & bit(code)) != 0; }
  bool may_share(Cell other) const { return (bits_ & other.bits_) != 0; }
  // The code of this interval that is nearest to another interval.
  std::int32_t nearest_to(Cell other) const { return std::clamp(other.low(), low(), high()); }

  // Grows to the smallest cell around both. An interval that contains numbers and the missing value
  // contains everything.
  void unite(const Attribute& attribute, Cell other) {
    if (attribute.kind == Kind::set) {
      bits_ |= other.bits_;
      return;
    }
    const std::int32_t high = std::max(this->high(), other.high());
    const std::int32_t low = std::min(this->low(), other.low());
    *this = interval(attribute.is_missing(high) && low < high ? 0 : low, high);
  }

 private:
  explicit Cell(std::uint64_t bits) : bits_(bits) {}
  static std::uint64_t bit(std::int32_t code) {
    return std::uint64_t{1} << (static_cast<std::uint32_t>(code) & 63U);
  }
  std::uint64_t bits_ = 0;
};

}  // namespace shoal
