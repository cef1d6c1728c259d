// Cheap points of a sum of leaves that are enough: raised, made cheaper, exchanged.
//
// Notation: a point is a cell for each feature f, all cells c in one row, those of f from first[f]
// on. `taken` has a row of leaves for each cell. The sum at a point is that of the leaves that
// every cell of the point takes. It is enough where it lies in [low, high].
#pragma once
#include <span>

#include "sums/layout.hpp"

namespace trust {

struct LeafSum {
    Mask taken;
    std::span<const double> values;  // of the leaves
    std::span<const double> costs;   // of the cells
    std::span<const i64> first, sizes;
    double low, high;
};

// Change a point into a cheap one that is enough; its cost, infinite if that failed. `work` is how
// many leaves may be read, roughly.
double mend(const LeafSum& sum, std::span<i64> point, i64 work);

}  // namespace trust
