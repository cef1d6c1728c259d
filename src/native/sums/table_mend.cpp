#include "sums/table_mend.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "argsort.hpp"

namespace trust {

static constexpr double LITTLE = 1e-12;  // costs and gains this close are taken for equal
static constexpr double LEAST_COST = 1e-9;
static constexpr std::size_t NO_FEATURE = static_cast<std::size_t>(-1);

namespace {

class Mending {
  public:
    Mending(const TableSum& sum, const TableAsked& asked)
        : sum_(sum), asked_(asked), side_(static_cast<double>(asked.side)) {
        i64 most = 0;
        for (std::size_t f = 0; f < sum.features(); ++f) most = std::max(most, size(f));
        numbers_.resize(most);
    }

    bool raise(std::span<i64> point, std::size_t locked);
    double walk_back(std::span<i64> point);
    i64 cheapest(std::size_t f) const {
        return std::min_element(costs(f), costs(f) + size(f)) - costs(f);
    }

  private:
    i64 size(std::size_t f) const { return sum_.first[f + 1] - sum_.first[f]; }
    const double* costs(std::size_t f) const { return asked_.costs.data() + sum_.first[f]; }
    bool is_enough(double number) const { return asked_.low <= number && number <= asked_.high; }
    double number(std::span<const i64> point) const;
    void set_numbers(std::span<const i64> point, double now, std::size_t f);

    const TableSum& sum_;
    const TableAsked& asked_;
    double side_;
    std::vector<double> numbers_;  // side * number with each cell of one feature
};

// Side * the number of a point.
double Mending::number(std::span<const i64> point) const {
    double total = 0.25;
    for (std::size_t f = 0; f < sum_.features(); ++f)
        total += sum_.points[sum_.first[f] + point[f]];
    for (std::size_t e = 0; e < sum_.entries.size(); e += 2) {
        const TableSum::Entry &own = sum_.entries[e], &other = sum_.entries[e + 1];
        total += *sum_.row(e, other.bin[point[other.feature]], own.bin[point[own.feature]]);
    }
    return side_ * total;
}

// The same with each cell of one feature, the others as they are; with its own it is `now`.
void Mending::set_numbers(std::span<const i64> point, double now, std::size_t f) {
    const i64 first = sum_.first[f];
    for (i64 c = 0; c < size(f); ++c) numbers_[c] = side_ * sum_.points[first + c];
    for (const std::size_t e : sum_.entries_of[f]) {
        const TableSum::Entry& entry = sum_.entries[e];
        const TableSum::Entry& other = sum_.entries[TableSum::other(e)];
        const double* row = sum_.row(e, other.bin[point[other.feature]]);
        for (i64 c = 0; c < size(f); ++c) numbers_[c] += side_ * row[entry.bin[c]];
    }
    const double rest = now - numbers_[point[f]];
    for (i64 c = 0; c < size(f); ++c) numbers_[c] += rest;
}

// Changes one feature at a time, the most gain for the cost first, until it is enough.
bool Mending::raise(std::span<i64> point, std::size_t locked) {
    const std::size_t d = sum_.features();
    double now = number(point);
    for (std::size_t turn = 0; turn < 3 * d; ++turn) {
        if (is_enough(now)) return true;
        double best = 0.0, next = now;
        std::size_t feature = NO_FEATURE;
        i64 cell = -1;
        for (std::size_t f = 0; f < d; ++f) {
            if (f == locked) continue;
            set_numbers(point, now, f);
            const double* cost = costs(f);
            for (i64 c = 0; c < size(f); ++c) {
                const double gain = std::min(numbers_[c], asked_.low) - now;
                if (gain > LITTLE && numbers_[c] <= asked_.high && cost[c] < INF) {
                    const double rate = gain / std::max(cost[c] - cost[point[f]], LEAST_COST);
                    if (rate > best) {
                        best = rate;
                        feature = f;
                        cell = c;
                        next = numbers_[c];
                    }
                }
            }
        }
        if (feature == NO_FEATURE) return false;
        point[feature] = cell;
        now = next;
    }
    return is_enough(now);
}

// Makes a point that is enough cheaper, a feature at a time, the most expensive first. Returns its
// cost.
double Mending::walk_back(std::span<i64> point) {
    const std::size_t d = sum_.features();
    std::vector<double> cheap(d);  // minus the costs
    for (bool moved = true; moved;) {
        moved = false;
        double now = number(point);
        for (std::size_t f = 0; f < d; ++f) cheap[f] = -costs(f)[point[f]];
        for (const i64 at : argsort(cheap)) {
            const std::size_t f = static_cast<std::size_t>(at);
            set_numbers(point, now, f);
            const double* cost = costs(f);
            double best = cost[point[f]] - LITTLE;
            i64 cell = -1;
            for (i64 c = 0; c < size(f); ++c)
                if (is_enough(numbers_[c]) && cost[c] < best) {
                    best = cost[c];
                    cell = c;
                }
            if (cell >= 0) {
                point[f] = cell;
                now = numbers_[cell];
                moved = true;
            }
        }
    }
    double total = 0.0;
    for (const double each : cheap) total -= each;
    return total;
}

}  // namespace

double mend(const TableSum& sum, const TableAsked& asked, std::span<i64> point) {
    Mending mending(sum, asked);
    if (!mending.raise(point, NO_FEATURE)) return INF;
    double cost = mending.walk_back(point);
    for (bool better = true; better;) {
        better = false;
        for (std::size_t f = 0; f < sum.features(); ++f) {
            const i64 own = mending.cheapest(f);
            if (point[f] == own) continue;
            // Without this change another one may do.
            std::vector<i64> other(point.begin(), point.end());
            other[f] = own;
            if (!mending.raise(other, f)) continue;
            const double found = mending.walk_back(other);
            if (found < cost - LITTLE) {
                std::ranges::copy(other, point.begin());
                cost = found;
                better = true;
            }
        }
    }
    return cost;
}

}  // namespace trust
