#include "items/label_mixing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/interruption.hpp"
#include "base/numbers.hpp"
#include "matching/parts.hpp"

namespace shoal {
namespace {

class Mixing {
 public:
  Mixing(std::span<const std::int32_t> members, std::size_t degree, std::vector<std::int32_t> record_of,
         std::span<const std::int32_t> labels)
      : members_(members), degree_(degree), labels_(labels), record_of_(std::move(record_of)),
        row_of_(record_of_.size()), rows_of_(rows_of(members, degree)) {
    for (std::size_t row = 0; row < record_of_.size(); ++row)
      row_of_[at(record_of_[row])] = static_cast<std::int32_t>(row);
  }

  void step(RandomWords& random) {
    const auto draw = [&](std::size_t bound) { return random.below(static_cast<std::uint32_t>(bound)); };
    const bool three = draw(2) == 1;
    const auto first = static_cast<std::int32_t>(draw(record_of_.size()));
    const std::int32_t second = row_of_[at(members(first)[draw(degree_)])];
    const std::int32_t last = three ? row_of_[at(members(second)[draw(degree_)])] : second;
    if (second == first || last == first || (three && last == second)) return;
    if (!covers(last, record_of_[at(first)])) return;
    const std::array<std::int32_t, 3> all{first, second, last};
    const std::span<const std::int32_t> rows(all.data(), three ? 3 : 2);
    pass_on(rows);
    if (clash(rows)) {  // backwards
      const std::array<std::int32_t, 3> back{last, three ? second : first, first};
      pass_on(std::span<const std::int32_t>(back.data(), rows.size()));
    }
  }

  std::vector<std::int32_t> record_of() && { return std::move(record_of_); }

 private:
  std::span<const std::int32_t> members(std::int32_t row) const {
    return members_.subspan(at(row) * degree_, degree_);
  }
  bool covers(std::int32_t row, std::int32_t record) const {
    const auto records = members(row);
    return std::find(records.begin(), records.end(), record) != records.end();
  }

  // Each row takes the record of the next one, the last that of the first.
  void pass_on(std::span<const std::int32_t> rows) {
    const std::int32_t record = record_of_[at(rows.front())];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t taken = i + 1 < rows.size() ? record_of_[at(rows[i + 1])] : record;
      record_of_[at(rows[i])] = taken;
      row_of_[at(taken)] = rows[i];
    }
  }

  // Whether a record that one of the rows covers stands in two rows with the same label.
  bool clash(std::span<const std::int32_t> rows) const {
    for (const std::int32_t row : rows) {
      const std::int32_t label = labels_[at(record_of_[at(row)])];
      for (const std::int32_t record : members(row))
        for (std::size_t i = 0; i < degree_; ++i) {
          const std::int32_t other = rows_of_[at(record) * degree_ + i];
          if (other != row && labels_[at(record_of_[at(other)])] == label) return true;
        }
    }
    return false;
  }

  std::span<const std::int32_t> members_;
  std::size_t degree_;
  std::span<const std::int32_t> labels_;
  std::vector<std::int32_t> record_of_, row_of_, rows_of_;
};

}  // namespace

std::vector<std::int32_t> mix(std::span<const std::int32_t> members, std::size_t degree,
                              std::vector<std::int32_t> record_of, std::span<const std::int32_t> labels,
                              std::int64_t steps, RandomWords& random) {
  Mixing mixing(members, degree, std::move(record_of), labels);
  for (; steps > 0; --steps) {
    pause_sometimes();
    mixing.step(random);
  }
  return std::move(mixing).record_of();
}

}  // namespace shoal
