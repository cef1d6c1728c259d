// Cheap points of a sum that are enough: raised, made cheaper, exchanged.
//
// Notation: a point is a cell of each feature f, counted from the first of the feature. It is
// enough where side * the sum at it lies within low and high.
#pragma once
#include <span>

#include "sums/layout.hpp"
#include "sums/table_sum.hpp"

namespace trust {

// A sum of leaves. All cells lie in one row, those of feature f from first[f] on; `taken` has a row
// of leaves for each cell. The sum at a point is that of the leaves that every cell of it takes.
struct LeafSum {
    Mask taken;
    std::span<const double> values;  // of the leaves
    std::span<const i64> first, sizes;
};

struct Enough {
    double side, low, high;
    std::span<const double> costs;  // of the cells, infinite where there is no candidate
};

// Change a point into a cheap one that is enough; its cost, infinite if that failed. `work` is how
// many leaves may be read, roughly.
double primal(const LeafSum& sum, const Enough& asked, std::span<i64> point, i64 work);
double primal(const TableSum& sum, const Enough& asked, std::span<i64> point);

}  // namespace trust
