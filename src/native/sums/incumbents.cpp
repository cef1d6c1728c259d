#include "sums/incumbents.hpp"

#include <algorithm>
#include <vector>

#include "argsort.hpp"

namespace trust {

namespace {

constexpr double TINY = 1e-12;     // of a sum or a cost, which rounding can bring
constexpr double CHEAPEST = 1e-9;  // what a change costs at least, so that rates are finite

struct Point {
    std::vector<i64> at;
    std::vector<i32> misses;  // of each leaf: features whose cell it does not take
};

class Mending {
  public:
    Mending(const LeafSum& sum, i64 work)
        : s_(sum),
          d_(i64(sum.sizes.size())),
          work_(work),
          sums_(d_ > 0 ? std::ranges::max(sum.sizes) : 0),
          leaves_(sum.values.size()) {}

    double mend(std::span<i64> given) {
        Point point = started(given);
        const bool enough = raise(point, NONE);
        if (enough) settle(point);
        std::ranges::copy(point.at, given.begin());
        return enough ? cost(point) : INF;
    }

  private:
    static constexpr i64 NONE = -1;

    const LeafSum& s_;
    i64 d_, work_;
    std::vector<double> sums_;  // for each cell of a feature
    std::vector<i32> leaves_;

    struct Change {
        double worth;
        i64 f = NONE, cell = NONE;
        bool found() const { return f != NONE; }
    };

    bool enough(double sum) const { return s_.low <= sum && sum <= s_.high; }

    double cost(const Point& point) const {
        double total = 0.0;
        for (const i64 c : point.at) total += s_.costs[c];
        return total;
    }

    Point started(std::span<const i64> given) const {
        Point point{{given.begin(), given.end()}, std::vector<i32>(s_.values.size(), 0)};
        for (const i64 c : point.at) {
            const bool* takes = s_.taken.row(c);
            for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf)
                point.misses[leaf] += takes[leaf] ? 0 : 1;
        }
        return point;
    }

    // The sum for each cell of one feature, the others as they are. Leaves are added in their
    // order.
    const std::vector<double>& sums(const Point& point, i64 f) {
        work_ -= i64(s_.values.size());
        const std::span<const i32> leaves = undecided(point, f);
        for (i64 c = 0; c < s_.sizes[f]; ++c) {
            const bool* takes = s_.taken.row(s_.first[f] + c);
            double total = 0.0;
            for (const i32 leaf : leaves) total += takes[leaf] ? s_.values[leaf] : 0.0;
            sums_[c] = total;
        }
        return sums_;
    }

    // The leaves that no other feature of the point misses.
    std::span<const i32> undecided(const Point& point, i64 f) {
        const bool* own = s_.taken.row(point.at[f]);
        std::size_t n = 0;
        for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf) {
            leaves_[n] = i32(leaf);  // kept if the next line counts it
            n += point.misses[leaf] == (own[leaf] ? 0 : 1);
        }
        return {leaves_.data(), n};
    }

    void move(Point& point, i64 f, i64 cell) const {
        const bool* old = s_.taken.row(point.at[f]);
        const bool* next = s_.taken.row(cell);
        for (std::size_t leaf = 0; leaf < point.misses.size(); ++leaf)
            point.misses[leaf] += i32(old[leaf]) - i32(next[leaf]);
        point.at[f] = cell;
    }

    // Change one feature at a time, the most gain for the cost first, until it is enough. The
    // locked feature stays.
    bool raise(Point& point, i64 locked) {
        for (i64 turn = 0; turn < 3 * d_; ++turn) {
            Change best{0.0};
            for (i64 f = 0; f < d_; ++f) {
                const auto& sum = sums(point, f);
                const i64 first = s_.first[f];
                const double now = sum[point.at[f] - first];
                if (enough(now)) return true;
                if (f == locked) continue;
                for (i64 c = 0; c < s_.sizes[f]; ++c) {
                    const double gain = std::min(sum[c], s_.low) - now;
                    if (!(gain > TINY && sum[c] <= s_.high)) continue;
                    const double more = s_.costs[first + c] - s_.costs[point.at[f]];
                    const double rate = gain / std::max(more, CHEAPEST);
                    if (rate > best.worth) best = {rate, f, first + c};
                }
            }
            if (!best.found()) return false;
            move(point, best.f, best.cell);
        }
        return false;
    }

    // Make a point that is enough cheaper, one feature at a time, the most expensive first.
    void walk_back(Point& point) {
        bool moved = true;
        while (moved && work_ > 0) {
            moved = false;
            for (const i64 f : most_expensive_first(point)) {
                const double now = s_.costs[point.at[f]];
                if (now <= 0.0) break;
                const auto& sum = sums(point, f);
                Change best{now - TINY};
                for (i64 c = 0; c < s_.sizes[f]; ++c) {
                    const double cost = s_.costs[s_.first[f] + c];
                    if (enough(sum[c]) && cost < best.worth) best = {cost, f, s_.first[f] + c};
                }
                if (!best.found()) continue;
                move(point, f, best.cell);
                moved = true;
            }
        }
    }

    std::vector<i64> most_expensive_first(const Point& point) const {
        std::vector<double> keys;
        for (const i64 c : point.at) keys.push_back(-s_.costs[c]);
        return argsort(keys);
    }

    // Make one feature cheaper and another more expensive, if both together are cheaper and enough.
    bool exchange(Point& point) {
        for (i64 f = 0; f < d_; ++f) {
            const i64 own = point.at[f];
            for (i64 c = s_.first[f]; c < s_.first[f] + s_.sizes[f]; ++c) {
                if (s_.costs[c] >= s_.costs[own] - TINY || work_ <= 0) continue;
                move(point, f, c);
                const Change best = cheapest_return(point, f, s_.costs[own] - s_.costs[c] - TINY);
                if (best.found()) {
                    move(point, best.f, best.cell);
                    return true;
                }
                move(point, f, own);
            }
        }
        return false;
    }

    // The cheapest change of another feature that makes a point enough and costs less than `saved`.
    Change cheapest_return(const Point& point, i64 f, double saved) {
        Change best{saved};
        for (i64 g = 0; g < d_; ++g) {
            if (g == f) continue;
            const auto& sum = sums(point, g);
            for (i64 k = 0; k < s_.sizes[g]; ++k) {
                const double more = s_.costs[s_.first[g] + k] - s_.costs[point.at[g]];
                if (more < best.worth && enough(sum[k])) best = {more, g, s_.first[g] + k};
            }
        }
        return best;
    }

    void settle(Point& point) {
        bool better = true;
        while (better && work_ > 0) {
            walk_back(point);
            better = exchange(point) || replace_one(point);
        }
    }

    // Without one of the changes: is another point that is enough cheaper?
    bool replace_one(Point& point) {
        for (i64 f = 0; f < d_; ++f) {
            const auto costs = s_.costs.subspan(s_.first[f], s_.sizes[f]);
            const i64 cheapest = s_.first[f] + (std::ranges::min_element(costs) - costs.begin());
            if (point.at[f] == cheapest || work_ <= 0) continue;
            Point other = point;
            move(other, f, cheapest);
            if (!raise(other, f)) continue;
            walk_back(other);
            if (cost(other) < cost(point) - TINY) {
                point = std::move(other);
                return true;
            }
        }
        return false;
    }
};

}  // namespace

double mend(const LeafSum& sum, std::span<i64> point, i64 work) {
    return Mending(sum, work).mend(point);
}

}  // namespace trust
