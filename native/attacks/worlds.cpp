#include "attacks/worlds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/numbers.hpp"
#include "base/workers.hpp"

namespace shoal {
namespace {

constexpr std::size_t kFew = 4;           // up to this many sets are examined one by one
constexpr std::size_t kFewBitmaps = 128;  // up to this many if they have bitmaps
constexpr std::size_t kWords = 8;         // bitmaps of no more words than these are worth their memory

Lists joined(const std::vector<std::vector<std::int32_t>>& lists) {
  Lists all;
  all.starts.reserve(lists.size() + 1);
  for (const auto& list : lists)
    all.starts.push_back(all.starts.back() + static_cast<std::int64_t>(list.size()));
  all.values.reserve(at(all.starts.back()));
  for (const auto& list : lists) all.values.insert(all.values.end(), list.begin(), list.end());
  return all;
}

// Sets as words over an alphabet whose first letters are the rarest items, in the order of a dictionary. A
// search reads down the dictionary and stops at the first item that no possible world has, or lacks.
class Dictionary {
 public:
  Dictionary(ListsView sets, std::int32_t width) : rank_(at(width)), order_(sets.size()) {
    std::vector<std::int64_t> often(at(width), 0);
    for (const std::int32_t item : sets.values) ++often[at(item)];
    std::vector<std::int32_t> by_rank(at(width));
    std::iota(by_rank.begin(), by_rank.end(), 0);
    std::stable_sort(by_rank.begin(), by_rank.end(),
                     [&](std::int32_t x, std::int32_t y) { return often[at(x)] < often[at(y)]; });
    for (std::int32_t rank = 0; rank < width; ++rank) rank_[at(by_rank[at(rank)])] = rank;
    Lists words{{sets.starts.begin(), sets.starts.end()}, {sets.values.begin(), sets.values.end()}};
    for (std::int32_t& letter : words.values) letter = rank_[at(letter)];
    for (std::size_t i = 0; i < sets.size(); ++i)
      std::sort(words.values.begin() + words.starts[i], words.values.begin() + words.starts[i + 1]);
    const ListsView unsorted{words.starts, words.values};
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](std::int32_t x, std::int32_t y) {
      return std::ranges::lexicographical_compare(unsorted[at(x)], unsorted[at(y)]);
    });
    words_.values.reserve(words.values.size());
    for (const std::int32_t set : order_) {
      words_.values.insert(words_.values.end(), unsorted[at(set)].begin(), unsorted[at(set)].end());
      words_.starts.push_back(static_cast<std::int64_t>(words_.values.size()));
    }
    words_of_bits_ = (at(width) + 63) / 64;
    if (has_bitmaps()) {
      bits_.resize(size() * words_of_bits_);
      for (std::size_t i = 0; i < size(); ++i)
        for (const std::int32_t letter : word(i)) set_bit(bits_.data() + i * words_of_bits_, letter);
    }
    std::size_t place = 0;
    for (std::int32_t letter = 0; letter <= width; ++letter) {
      while (place < size() && (word(place).empty() || word(place)[0] < letter)) ++place;
      first_.push_back(place);
    }
  }

  // The first word whose first letter is no lower.
  std::size_t first(std::int32_t letter) const { return first_[at(letter)]; }
  std::int32_t rank(std::int32_t item) const { return rank_[at(item)]; }
  std::size_t size() const { return order_.size(); }
  std::int32_t set(std::size_t place) const { return order_[place]; }
  std::span<const std::int32_t> word(std::size_t place) const {
    return ListsView{words_.starts, words_.values}[place];
  }

  // One bit for each letter, if there are not too many.
  bool has_bitmaps() const { return words_of_bits_ <= kWords; }
  const std::uint64_t* bitmap(std::size_t place) const { return bits_.data() + place * words_of_bits_; }
  std::size_t words_of_bits() const { return words_of_bits_; }
  static void set_bit(std::uint64_t* bits, std::int32_t letter) {
    bits[at(letter) / 64] |= std::uint64_t{1} << (at(letter) % 64);
  }

 private:
  std::vector<std::int32_t> rank_, order_;
  std::vector<std::size_t> first_;
  Lists words_;
  std::size_t words_of_bits_ = 0;
  std::vector<std::uint64_t> bits_;
};

class WorldSearch {
 public:
  explicit WorldSearch(const Dictionary& dictionary) : dictionary_(dictionary) {}

  std::vector<std::int32_t> find(std::span<const std::int32_t> base, std::span<const std::int32_t> uncertain,
                                 std::int32_t most_errors) {
    found_.clear();
    most_errors_ = most_errors;
    letters_.clear();
    auto doubt = uncertain.begin();
    for (const std::int32_t item : base) {
      for (; doubt != uncertain.end() && *doubt < item; ++doubt) add(*doubt, kExtra);
      const bool doubtful = doubt != uncertain.end() && *doubt == item;
      if (doubtful) ++doubt;
      add(item, doubtful ? kLikely : kCertain);
    }
    for (; doubt != uncertain.end(); ++doubt) add(*doubt, kExtra);
    std::sort(letters_.begin(), letters_.end(),
              [](const Letter& x, const Letter& y) { return x.rank < y.rank; });
    if (dictionary_.has_bitmaps()) draw_bitmaps();
    search(0, dictionary_.size(), 0, 0, 0);
    std::sort(found_.begin(), found_.end());
    return found_;
  }

 private:
  enum Status {
    kExtra,
    kLikely,
    kCertain
  };  // an uncertain item outside of the base, or in it; a certain one
  struct Letter {
    std::int32_t rank;
    Status status;
  };

  void add(std::int32_t item, Status status) { letters_.push_back({dictionary_.rank(item), status}); }

  // Without a letter that may be lacking, or with one that may be there; too many for one that must be.
  bool lacks(const Letter& letter, std::int32_t& errors) const {
    if (letter.status == kCertain) return false;
    errors += letter.status == kLikely;
    return errors <= most_errors_;
  }
  bool has(const Letter& letter, std::int32_t& errors) const {
    errors += letter.status == kExtra;
    return errors <= most_errors_;
  }

  // Words from begin to end - 1 agree in the first `depth` letters, which are done, as are the first `next`
  // of the relevant letters, with this many errors.
  void search(std::size_t begin, std::size_t end, std::size_t depth, std::size_t next, std::int32_t errors) {
    if (errors > most_errors_) return;
    if (dictionary_.has_bitmaps() && end - begin <= kFewBitmaps) {
      for (; begin < end; ++begin)
        if (is_world(dictionary_.bitmap(begin))) found_.push_back(dictionary_.set(begin));
      return;
    }
    if (end - begin <= kFew) {
      for (; begin < end; ++begin)
        if (is_world(dictionary_.word(begin).subspan(depth), next, errors))
          found_.push_back(dictionary_.set(begin));
      return;
    }
    if (dictionary_.word(begin).size() == depth) {  // shorter words come first, and all are different
      if (is_world({}, next, errors)) found_.push_back(dictionary_.set(begin));
      ++begin;
    }
    for (; next < letters_.size() && begin < end; ++next) {
      const Letter& letter = letters_[next];
      begin = first_from(begin, end, depth, letter.rank);
      const std::size_t after = first_from(begin, end, depth, letter.rank + 1);
      std::int32_t with = errors;
      if (after > begin && has(letter, with)) search(begin, after, depth + 1, next + 1, with);
      begin = after;
      if (!lacks(letter, errors)) return;
    }
  }

  // The first word from `begin` on whose letter at this depth is no lower, `end` if there is none.
  std::size_t first_from(std::size_t begin, std::size_t end, std::size_t depth, std::int32_t rank) const {
    if (depth == 0) return dictionary_.first(rank);
    const auto lower = [&](std::size_t place) { return dictionary_.word(place)[depth] < rank; };
    if (begin == end || !lower(begin)) return begin;
    std::size_t step = 1;  // the target is often near
    while (begin + step < end && lower(begin + step)) {
      begin += step;
      step *= 2;
    }
    end = std::min(begin + step, end);
    for (++begin; begin < end;) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (lower(middle))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  bool is_world(std::span<const std::int32_t> word, std::size_t next, std::int32_t errors) const {
    for (const std::int32_t letter : word) {
      for (; next < letters_.size() && letters_[next].rank < letter; ++next)
        if (!lacks(letters_[next], errors)) return false;
      if (next == letters_.size() || letters_[next].rank != letter || !has(letters_[next], errors))
        return false;
      ++next;
    }
    for (; next < letters_.size(); ++next)
      if (!lacks(letters_[next], errors)) return false;
    return true;
  }

  void draw_bitmaps() {
    likely_.fill(0);
    fixed_.fill(~std::uint64_t{0});
    for (const Letter& letter : letters_) {
      if (letter.status != kExtra) Dictionary::set_bit(likely_.data(), letter.rank);
      if (letter.status != kCertain)
        fixed_[at(letter.rank) / 64] ^= std::uint64_t{1} << (at(letter.rank) % 64);
    }
  }

  bool is_world(const std::uint64_t* bitmap) const {
    std::int32_t errors = 0;
    for (std::size_t w = 0; w < dictionary_.words_of_bits(); ++w) {
      const std::uint64_t wrong = bitmap[w] ^ likely_[w];
      if ((wrong & fixed_[w]) != 0) return false;
      errors += std::popcount(wrong);
    }
    return errors <= most_errors_;
  }

  const Dictionary& dictionary_;
  std::array<std::uint64_t, kWords> likely_{}, fixed_{};  // the base; the letters that are not uncertain
  std::vector<Letter> letters_;
  std::int32_t most_errors_ = 0;
  std::vector<std::int32_t> found_;
};

}  // namespace

std::vector<std::int32_t> differences(ListsView left, ListsView right, std::span<const std::int32_t> lefts,
                                      std::span<const std::int32_t> rights) {
  std::vector<std::int32_t> found(lefts.size());
  share(found.size(), 1024, [&] {
    return [&](std::size_t i) {
      const auto x = left[at(lefts[i])], y = right[at(rights[i])];
      auto other = y.begin();
      std::ptrdiff_t common = 0;
      for (const std::int32_t item : x) {
        while (other != y.end() && *other < item) ++other;
        if (other != y.end() && *other == item) ++common;
      }
      found[i] = static_cast<std::int32_t>(std::ssize(x) + std::ssize(y) - 2 * common);
    };
  });
  return found;
}

Lists sets_among_worlds(ListsView sets, const WorldsView& worlds, std::int32_t width) {
  const Dictionary dictionary(sets, width);
  std::vector<std::vector<std::int32_t>> found(worlds.most_errors.size());
  share(found.size(), 64, [&] {
    return [&, search = WorldSearch(dictionary)](std::size_t i) mutable {
      if (worlds.most_errors[i] >= 0)
        found[i] = search.find(worlds.base[i], worlds.uncertain[i], worlds.most_errors[i]);
    };
  });
  return joined(found);
}

}  // namespace shoal
