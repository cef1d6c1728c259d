// The order of keys, ascending, NaN last.
//
// Keys are often equal (costs and excesses of 0), and answers that cost the same depend on the
// order of equal keys. std::sort leaves that order to the library. This quicksort fixes it: up to
// 15 keys keep their order if equal; beyond them the pivots below decide, the same on every
// platform.
#pragma once
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace trust {

namespace sorting {

inline constexpr i64 SMALL = 15;  // ranges of fewer steps are sorted by insertion

struct Range {
    i64 low, high;  // both included
};

inline bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

// Sorts one range of `order` by its keys.
inline void insert(std::span<const double> keys, std::span<i64> order, Range range) {
    for (i64 i = range.low + 1; i <= range.high; ++i) {
        const i64 moved = order[i];
        i64 j = i;
        for (; j > range.low && before(keys[moved], keys[order[j - 1]]); --j)
            order[j] = order[j - 1];
        order[j] = moved;
    }
}

// Splits one range around the median of its first, middle and last key; returns where that lies.
inline i64 partition(std::span<const double> keys, std::span<i64> order, Range range) {
    const auto [low, high] = range;
    const i64 middle = (low + high) / 2;
    const auto swap_if_less = [&](i64 a, i64 b) {
        if (before(keys[order[a]], keys[order[b]])) std::swap(order[a], order[b]);
    };
    swap_if_less(middle, low);
    swap_if_less(high, middle);
    swap_if_less(middle, low);
    const double pivot = keys[order[middle]];
    std::swap(order[high], order[middle]);  // out of the way until the end
    i64 i = low, j = high - 1;
    while (true) {
        while (i < high && before(keys[order[i]], pivot)) ++i;
        while (j >= low && before(pivot, keys[order[j]])) --j;
        if (i >= j) break;
        std::swap(order[i++], order[j--]);
    }
    std::swap(order[i], order[high]);
    return i;
}

}  // namespace sorting

// The indices of the keys in ascending order of the keys.
inline std::vector<i64> argsort(std::span<const double> keys) {
    using sorting::Range;
    std::vector<i64> order(keys.size());
    std::iota(order.begin(), order.end(), i64{0});
    std::vector<Range> left{{0, static_cast<i64>(keys.size()) - 1}};
    while (!left.empty()) {
        auto [low, high] = left.back();
        left.pop_back();
        while (high - low >= sorting::SMALL) {
            const i64 at = sorting::partition(keys, order, {low, high});
            const Range below{low, at - 1}, above{at + 1, high};
            const bool larger_above = high - at > at - low;  // the larger part waits
            left.push_back(larger_above ? above : below);
            low = larger_above ? below.low : above.low;
            high = larger_above ? below.high : above.high;
        }
        sorting::insert(keys, order, {low, high});
    }
    return order;
}

}  // namespace trust
