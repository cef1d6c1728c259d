#include "sums/table_sum.hpp"

#include <stdexcept>

namespace trust {

namespace {

// Where the parts of a layout begin; its head has the numbers of features, pairs, atoms and cells.
enum Head : std::size_t {
    FEATURES = 0,
    PAIRS = 1,
    ATOMS = 3,
    CELLS = 5,
    FEATURE = 8,
    ATOM = 9,
    MAP = 10,
    BIN = 11,
    TABLE = 12,
    ENTRIES = 13,
    ENTRY = 14,
    FIRST = 15,
    HEAD = 16,
};

class Layout {
  public:
    explicit Layout(std::span<const i64> all) : all_(all) { require(all.size() >= HEAD); }

    static void require(bool fits) {
        if (!fits) throw std::invalid_argument("tables: the layout does not fit the numbers");
    }
    std::size_t count(Head part) const {
        require(all_[part] >= 0);
        return static_cast<std::size_t>(all_[part]);
    }
    std::span<const i64> part(Head part, std::size_t many) const {
        const std::size_t begin = count(part);
        require(begin <= all_.size() && many <= all_.size() - begin);
        return all_.subspan(begin, many);
    }

  private:
    std::span<const i64> all_;
};

}  // namespace

TableSum::TableSum(std::span<const double> numbers, std::span<const i64> layout) {
    const Layout head(layout);
    const std::size_t d = head.count(FEATURES), e = 2 * head.count(PAIRS);
    const std::size_t cells = head.count(CELLS);
    Layout::require(numbers.size() >= 2 + cells && d > 0);
    rounding = numbers[0];
    start = numbers[1];
    atoms = static_cast<i64>(head.count(ATOMS));
    points.assign(numbers.begin() + 2, numbers.begin() + 2 + cells);
    tables.assign(numbers.begin() + 2 + cells, numbers.end());
    const auto starts = head.part(FIRST, d);
    first.assign(starts.begin(), starts.end());
    first.push_back(static_cast<i64>(cells));
    for (std::size_t f = 0; f < d; ++f) Layout::require(0 <= first[f] && first[f] < first[f + 1]);

    const auto feature = head.part(FEATURE, e), atom = head.part(ATOM, e + 1);
    const auto map = head.part(MAP, e + 1), table = head.part(TABLE, e + 1);
    const auto bin = head.part(BIN, static_cast<std::size_t>(map[e]));
    Layout::require(atom[e] == atoms);
    entries_of.resize(d);
    for (std::size_t k = 0; k < e; ++k) {
        const std::size_t f = static_cast<std::size_t>(feature[k]);
        Layout::require(f < d && map[k + 1] - map[k] == first[f + 1] - first[f]);
        const auto own = bin.subspan(map[k], map[k + 1] - map[k]);
        const i64 many = atom[k + 1] - atom[k], others = atom[other(k) + 1] - atom[other(k)];
        const i64 begin = table[k];
        Layout::require(begin >= 0 && many > 0 &&
                        begin + many * others <= static_cast<i64>(tables.size()));
        for (const i64 each : own) Layout::require(0 <= each && each < many);
        entries.push_back({feature[k], atom[k], many, begin, {own.begin(), own.end()}});
        entries_of[f].push_back(k);
    }
}

}  // namespace trust
