// The values among which a search chooses, and ranges of them.
//
// Notation: d features, f. Feature f has the candidates 0 .. offset[f + 1] - offset[f] - 1; in rows
// of all features they begin at offset[f]. A box is a range of candidates for each feature; a point
// is one candidate for each.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

using Point = std::span<i32>;

// A view of a box: the first and the last candidate of each feature. Of a point both are the same.
struct Box {
    const i32* first;
    const i32* last;

    Box(const i32* first, const i32* last) : first(first), last(last) {}
    explicit Box(Point point) : first(point.data()), last(point.data()) {}

    i32 width(i64 f) const { return last[f] - first[f]; }
    bool has(i64 f, i64 c) const { return first[f] <= c && c <= last[f]; }
};

// A view of a box that can be narrowed.
struct OpenBox {
    i32* first;
    i32* last;

    operator Box() const { return {first, last}; }  // NOLINT: a box that is open is a box
    i32 width(i64 f) const { return last[f] - first[f]; }
};

// Where to cut a box: after a candidate of a feature, which is negative if there is no such cut.
struct Cut {
    i64 feature;
    i32 after;
};

struct Candidates {
    std::vector<i64> offset;
    std::vector<double> codes;
    std::vector<double> costs;
    std::vector<i64> valley;  // the cheapest, where the costs fall and then rise; else -1

    i64 features() const { return i64(offset.size()) - 1; }
    i64 many() const { return offset.back(); }
    i64 at(i64 f, i64 c) const { return offset[f] + c; }
    double cost(i64 f, i64 c) const { return costs[at(f, c)]; }

    // The cheapest candidate of a range.
    i32 cheapest(i64 f, i32 a, i32 b) const {
        if (valley[f] >= 0) return std::min(std::max(i32(valley[f]), a), b);
        i32 best = a;
        for (i32 c = a + 1; c <= b; ++c)
            if (cost(f, c) < cost(f, best)) best = c;
        return best;
    }

    double cost(Point point) const {
        double total = 0.0;
        for (i64 f = 0; f < features(); ++f) total += cost(f, point[f]);
        return total;
    }
};

}  // namespace trust
