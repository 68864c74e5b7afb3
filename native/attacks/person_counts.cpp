#include "attacks/person_counts.hpp"

#include <numeric>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// Tells what was seen before in the same turn, without clearing anything between turns.
class Seen {
 public:
  explicit Seen(std::size_t size) : last_(size, -1) {}
  bool first(std::int32_t turn, std::int32_t which) {
    if (last_[at(which)] == turn) return false;
    last_[at(which)] = turn;
    return true;
  }

 private:
  std::vector<std::int32_t> last_;
};

}  // namespace

PersonCounts count_persons(const ConsistencyGraph& graph, std::span<const std::int64_t> starts,
                           std::span<const std::int32_t> owners, std::int32_t persons) {
  const std::size_t boxes = graph.box_copies().size();
  PersonCounts counts{std::vector<std::int64_t>(boxes), std::vector<std::int64_t>(at(persons))};
  share(boxes, 64, [&] {
    return [&, seen = Seen(at(persons)), waiting = std::vector<std::int32_t>()](std::size_t number) mutable {
      const auto box = static_cast<std::int32_t>(number);
      std::int64_t different = 0;
      for (const std::int32_t record : graph.records_in(box, waiting))
        for (std::int64_t i = starts[at(record)]; i < starts[at(record) + 1]; ++i)
          different += seen.first(box, owners[at(i)]);
      counts.persons_of_box[number] = different;
    };
  });
  // The records of each person, one list after the other.
  std::vector<std::int64_t> begins(at(persons) + 1, 0);
  for (const std::int32_t owner : owners) ++begins[at(owner) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::int32_t> records(owners.size());
  std::vector<std::int64_t> filled(begins.begin(), begins.end() - 1);
  for (std::size_t record = 0; record + 1 < starts.size(); ++record)
    for (std::int64_t i = starts[record]; i < starts[record + 1]; ++i)
      records[at(filled[at(owners[at(i)])]++)] = static_cast<std::int32_t>(record);
  std::vector<std::int64_t> copies(boxes);  // as boxes came in
  for (std::size_t place = 0; place < boxes; ++place)
    copies[at(graph.boxes().order()[place])] = graph.box_copies()[place];
  share(at(persons), 16, [&] {
    return [&, seen = Seen(boxes), waiting = std::vector<std::int32_t>()](std::size_t number) mutable {
      const auto person = static_cast<std::int32_t>(number);
      std::int64_t around = 0;
      for (std::int64_t i = begins[number]; i < begins[number + 1]; ++i)
        for (const std::int32_t box : graph.boxes_around(records[at(i)], waiting))
          if (seen.first(person, box)) around += copies[at(box)];
      counts.boxes_of_person[number] = around;
    };
  });
  return counts;
}

}  // namespace shoal
