#include "sums/primal.hpp"

#include <algorithm>
#include <vector>

#include "argsort.hpp"

namespace trust {

namespace {

constexpr double TINY = 1e-12;     // of a sum or a cost, which rounding can bring
constexpr double CHEAPEST = 1e-9;  // what a change costs at least, so that rates are finite
constexpr i64 NONE = -1;

// ---------------------------------------------------------------- the two storages
//
// `numbers(point, f)` are the sums with each cell of feature f, the others as they are; those with
// the point's own cell are the same for every feature.

class Leaves {
  public:
    // Whether it pays to make one feature cheaper and another more expensive.
    static constexpr bool EXCHANGES = true;

    struct Point {
        std::vector<i64> at;
        std::vector<i32> misses;  // of each leaf: features whose cell it does not take
    };

    Leaves(const LeafSum& sum, i64 work)
        : s_(sum), work_(work), sums_(std::ranges::max(sum.sizes)), leaves_(sum.values.size()) {}

    i64 features() const { return i64(s_.sizes.size()); }
    i64 first(i64 f) const { return s_.first[f]; }
    i64 size(i64 f) const { return s_.sizes[f]; }
    bool has_work() const { return work_ > 0; }
    void refresh(Point& /*point*/) const {}

    Point started(std::span<const i64> given) const {
        Point point{{given.begin(), given.end()}, std::vector<i32>(s_.values.size(), 0)};
        for (i64 f = 0; f < features(); ++f) {
            const bool* takes = row(f, point.at[f]);
            for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf)
                point.misses[leaf] += takes[leaf] ? 0 : 1;
        }
        return point;
    }

    // Leaves are added in their order.
    std::span<const double> numbers(const Point& point, i64 f) {
        work_ -= i64(s_.values.size());
        const std::span<const i32> leaves = undecided(point, f);
        for (i64 c = 0; c < size(f); ++c) {
            const bool* takes = row(f, c);
            double total = 0.0;
            for (const i32 leaf : leaves) total += takes[leaf] ? s_.values[leaf] : 0.0;
            sums_[c] = total;
        }
        return sums_;
    }

    void move(Point& point, i64 f, i64 cell, double /*number*/) const {
        const bool* old = row(f, point.at[f]);
        const bool* next = row(f, cell);
        for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf)
            point.misses[leaf] += i32(old[leaf]) - i32(next[leaf]);
        point.at[f] = cell;
    }

  private:
    const bool* row(i64 f, i64 cell) const { return s_.taken.row(s_.first[f] + cell); }

    // The leaves that no other feature of the point misses.
    std::span<const i32> undecided(const Point& point, i64 f) {
        const bool* own = row(f, point.at[f]);
        std::size_t n = 0;
        for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf) {
            leaves_[n] = i32(leaf);  // kept if the next line counts it
            n += point.misses[leaf] == (own[leaf] ? 0 : 1);
        }
        return {leaves_.data(), n};
    }

    const LeafSum& s_;
    i64 work_;
    std::vector<double> sums_;  // for each cell of a feature
    std::vector<i32> leaves_;
};

class Dense {
  public:
    static constexpr bool EXCHANGES = false;

    struct Point {
        std::vector<i64> at;
        double now = 0.0;  // side * the sum
    };

    Dense(const TableSum& sum, double side) : s_(sum), side_(side) {
        i64 most = 0;
        for (i64 f = 0; f < features(); ++f) most = std::max(most, size(f));
        numbers_.resize(most);
    }

    i64 features() const { return i64(s_.features()); }
    i64 first(i64 f) const { return s_.first[f]; }
    i64 size(i64 f) const { return s_.first[f + 1] - s_.first[f]; }
    bool has_work() const { return true; }
    Point started(std::span<const i64> given) const { return {{given.begin(), given.end()}}; }

    void refresh(Point& point) const {
        double total = s_.start;
        for (i64 f = 0; f < features(); ++f) total += s_.points[s_.first[f] + point.at[f]];
        for (std::size_t e = 0; e < s_.entries.size(); e += 2) {
            const TableSum::Entry &own = s_.entries[e], &other = s_.entries[e + 1];
            total += *s_.row(e, other.bin[point.at[other.feature]], own.bin[point.at[own.feature]]);
        }
        point.now = side_ * total;
    }

    std::span<const double> numbers(const Point& point, i64 f) {
        const i64 many = size(f);
        for (i64 c = 0; c < many; ++c) numbers_[c] = side_ * s_.points[s_.first[f] + c];
        for (const std::size_t e : s_.entries_of[f]) {
            const TableSum::Entry& entry = s_.entries[e];
            const TableSum::Entry& other = s_.entries[TableSum::other(e)];
            const double* row = s_.row(e, other.bin[point.at[other.feature]]);
            for (i64 c = 0; c < many; ++c) numbers_[c] += side_ * row[entry.bin[c]];
        }
        const double rest = point.now - numbers_[point.at[f]];
        for (i64 c = 0; c < many; ++c) numbers_[c] += rest;
        numbers_[point.at[f]] = point.now;
        return numbers_;
    }

    void move(Point& point, i64 f, i64 cell, double number) const {
        point.at[f] = cell;
        point.now = number;
    }

  private:
    const TableSum& s_;
    double side_;
    std::vector<double> numbers_;  // with each cell of one feature
};

// ---------------------------------------------------------------- the heuristic

template <class Storage>
class Primal {
  public:
    using Point = typename Storage::Point;

    Primal(Storage sum, const Enough& asked)
        : s_(std::move(sum)), asked_(asked), d_(s_.features()) {}

    double improved(std::span<i64> given) {
        Point point = s_.started(given);
        const bool enough = raise(point, NONE);
        if (enough) settle(point);
        std::ranges::copy(point.at, given.begin());
        return enough ? cost(point) : INF;
    }

  private:
    struct Change {
        double worth;
        i64 f = NONE, cell = NONE;
        double number = 0.0;
        bool found() const { return f != NONE; }
    };

    Storage s_;
    const Enough& asked_;
    i64 d_;

    bool enough(double sum) const { return asked_.low <= sum && sum <= asked_.high; }
    const double* costs(i64 f) const { return asked_.costs.data() + s_.first(f); }
    void apply(Point& point, const Change& to) const { s_.move(point, to.f, to.cell, to.number); }

    double cost(const Point& point) const {
        double total = 0.0;
        for (i64 f = 0; f < d_; ++f) total += costs(f)[point.at[f]];
        return total;
    }

    // Change one feature at a time, the most gain for the cost first, until it is enough. The
    // locked feature stays.
    bool raise(Point& point, i64 locked) {
        s_.refresh(point);
        for (i64 turn = 0; turn < 3 * d_; ++turn) {
            Change best{0.0};
            for (i64 f = 0; f < d_; ++f) {
                if (f == locked && f > 0) continue;
                const auto numbers = s_.numbers(point, f);
                const double now = numbers[point.at[f]];
                if (enough(now)) return true;
                if (f == locked) continue;
                const double* price = costs(f);
                for (i64 c = 0; c < s_.size(f); ++c) {
                    const double gain = std::min(numbers[c], asked_.low) - now;
                    if (!(gain > TINY && numbers[c] <= asked_.high && price[c] < INF)) continue;
                    const double rate = gain / std::max(price[c] - price[point.at[f]], CHEAPEST);
                    if (rate > best.worth) best = {rate, f, c, numbers[c]};
                }
            }
            if (!best.found()) return false;
            apply(point, best);
        }
        return false;
    }

    // Make a point that is enough cheaper, one feature at a time, the most expensive first.
    void walk_back(Point& point) {
        bool moved = true;
        while (moved && s_.has_work()) {
            moved = false;
            s_.refresh(point);
            for (const i64 f : most_expensive_first(point)) {
                const double* price = costs(f);
                const double now = price[point.at[f]];
                if (now <= 0.0) break;
                const auto numbers = s_.numbers(point, f);
                Change best{now - TINY};
                for (i64 c = 0; c < s_.size(f); ++c)
                    if (enough(numbers[c]) && price[c] < best.worth)
                        best = {price[c], f, c, numbers[c]};
                if (!best.found()) continue;
                apply(point, best);
                moved = true;
            }
        }
    }

    std::vector<i64> most_expensive_first(const Point& point) const {
        std::vector<double> keys;
        for (i64 f = 0; f < d_; ++f) keys.push_back(-costs(f)[point.at[f]]);
        return argsort(keys);
    }

    // Make one feature cheaper and another more expensive, if both together are cheaper and enough.
    bool exchange(Point& point) {
        for (i64 f = 0; f < d_; ++f) {
            const i64 own = point.at[f];
            const double* price = costs(f);
            for (i64 c = 0; c < s_.size(f); ++c) {
                if (price[c] >= price[own] - TINY || !s_.has_work()) continue;
                s_.move(point, f, c, 0.0);
                const Change best = cheapest_return(point, f, price[own] - price[c] - TINY);
                if (best.found()) {
                    apply(point, best);
                    return true;
                }
                s_.move(point, f, own, 0.0);
            }
        }
        return false;
    }

    // The cheapest change of another feature that makes a point enough and costs less than `saved`.
    Change cheapest_return(const Point& point, i64 f, double saved) {
        Change best{saved};
        for (i64 g = 0; g < d_; ++g) {
            if (g == f) continue;
            const auto numbers = s_.numbers(point, g);
            const double* price = costs(g);
            for (i64 c = 0; c < s_.size(g); ++c) {
                const double more = price[c] - price[point.at[g]];
                if (more < best.worth && enough(numbers[c])) best = {more, g, c, numbers[c]};
            }
        }
        return best;
    }

    void settle(Point& point) {
        bool better = true;
        while (better && s_.has_work()) {
            walk_back(point);
            better = (Storage::EXCHANGES && exchange(point)) || replace(point);
        }
    }

    // Without one of the changes: is another point that is enough cheaper?
    bool replace(Point& point) {
        bool better = false;
        for (i64 f = 0; f < d_; ++f) {
            const i64 cheapest = std::min_element(costs(f), costs(f) + s_.size(f)) - costs(f);
            if (point.at[f] == cheapest || !s_.has_work()) continue;
            Point other = point;
            s_.move(other, f, cheapest, 0.0);
            if (!raise(other, f)) continue;
            walk_back(other);
            if (!(cost(other) < cost(point) - TINY)) continue;
            point = std::move(other);
            better = true;
            if (Storage::EXCHANGES) break;  // which may do better now
        }
        return better;
    }
};

}  // namespace

double primal(const LeafSum& sum, const Enough& asked, std::span<i64> point, i64 work) {
    if (point.empty()) return INF;
    return Primal(Leaves(sum, work), asked).improved(point);
}

double primal(const TableSum& sum, const Enough& asked, std::span<i64> point) {
    return Primal(Dense(sum, asked.side), asked).improved(point);
}

}  // namespace trust
