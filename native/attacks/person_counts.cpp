#include "attacks/person_counts.hpp"

#include <atomic>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

// Several threads add to the same counts.
void add(std::int64_t& count, std::int64_t more) {
  std::atomic_ref(count).fetch_add(more, std::memory_order_relaxed);
}

// The persons of the records by their places in the tree, where those of a box stand together.
class Placed {
 public:
  Placed(const LiveTree& records, const PersonLists& given) {
    starts_.reserve(records.order().size() + 1);
    origin_.reserve(given.persons.size());
    for (const std::int32_t record : records.order()) {
      starts_.push_back(static_cast<std::int64_t>(origin_.size()));
      for (std::int64_t i = given.starts[at(record)]; i < given.starts[at(record) + 1]; ++i)
        origin_.push_back(i);
    }
    starts_.push_back(static_cast<std::int64_t>(origin_.size()));
    persons_.reserve(origin_.size());
    for (const std::int64_t i : origin_) persons_.push_back(given.persons[at(i)]);
  }

  // Calls visit(person, number in the list that was given) for the records from one place up to another.
  template <typename Visit>
  void visit(std::int32_t begin, std::int32_t end, const Visit& visit) const {
    for (std::int64_t i = starts_[at(begin)]; i < starts_[at(end)]; ++i)
      visit(persons_[at(i)], at(origin_[at(i)]));
  }

 private:
  std::vector<std::int64_t> starts_, origin_;
  std::vector<std::int32_t> persons_;
};

// Counts each person once for each box.
class Counter {
 public:
  Counter(PersonCounts& counts, std::int32_t persons) : counts_(counts), last_(at(persons), -1) {}

  // Counts a person who has a record in a box, for as many boxes as there are copies.
  void count(std::int32_t person, std::int32_t box, std::int64_t copies) {
    if (last_[at(person)] == box) return;
    last_[at(person)] = box;
    ++counts_.persons_of_box[at(box)];
    add(counts_.boxes_of_person[at(person)], copies);
  }

 private:
  PersonCounts& counts_;
  std::vector<std::int32_t> last_;  // per person: the box that was counted last
};

// How many copies of one box carry records of a person; few persons are asked for at a time.
class Carriers {
 public:
  explicit Carriers(std::int32_t persons) : marks_(at(persons)) {}

  void mark(std::int32_t box, const PersonLists& carried) {
    box_ = box;
    for (std::int64_t i = carried.starts[at(box)]; i < carried.starts[at(box) + 1]; ++i) {
      Mark& mark = marks_[at(carried.persons[at(i)])];
      mark = {box, mark.box == box ? mark.copies + 1 : 1};
    }
  }
  std::int32_t copies(std::int32_t person) const {
    const Mark& mark = marks_[at(person)];
    return mark.box == box_ ? mark.copies : 0;
  }

 private:
  struct Mark {
    std::int32_t box = -1, copies = 0;
  };
  std::vector<Mark> marks_;
  std::int32_t box_ = -1;
};

}  // namespace

AllPersonCounts count_persons(const ConsistencyGraph& graph, const PersonLists& owners, std::int32_t persons,
                              std::span<const std::int32_t> of_record, std::span<const std::int32_t> of_box,
                              const PersonLists& carried) {
  const std::size_t boxes = graph.box_copies().size();
  const bool apart = !of_box.empty(), carry = !carried.starts.empty();
  const auto nothing = [&](bool any) {
    return PersonCounts{std::vector<std::int64_t>(any ? boxes : 0),
                        std::vector<std::int64_t>(any ? at(persons) : 0)};
  };
  AllPersonCounts found{nothing(true), nothing(apart),
                        std::vector<std::int64_t>(carry ? owners.persons.size() : 0)};
  const Placed placed(graph.records(), owners);
  share(boxes, 64, [&] {
    return [&, covering = Counter(found.covering, persons),
            matching = Counter(found.matching, apart ? persons : 0), carriers = Carriers(carry ? persons : 0),
            waiting = std::vector<std::int32_t>()](std::size_t place) mutable {
      const std::int32_t box = graph.boxes().order()[place];
      const std::int64_t copies = graph.box_copies()[place];
      if (carry) carriers.mark(box, carried);
      graph.visit_stretches_in(
          static_cast<std::int32_t>(place), waiting, [&](std::int32_t begin, std::int32_t end) {
            placed.visit(begin, end, [&](std::int32_t person, std::size_t number) {
              covering.count(person, box, copies);
              const std::int32_t own = carry ? carriers.copies(person) : 0;
              if (own > 0) add(found.carrying[number], own);
            });
            for (std::int32_t record = begin; apart && record < end; ++record)
              if (of_record[at(graph.records().order()[at(record)])] == of_box[at(box)])
                placed.visit(record, record + 1,
                             [&](std::int32_t person, std::size_t) { matching.count(person, box, copies); });
          });
    };
  });
  return found;
}

}  // namespace shoal
