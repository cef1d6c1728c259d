// A cheap point of a sum of tables whose number reaches what is asked for.
#pragma once
#include <span>

#include "sums/table_sum.hpp"

namespace trust {

// That side * number lies within low and high, and what each cell costs, infinite where it has no
// candidate.
struct TableAsked {
    i64 side;
    double low, high;
    std::span<const double> costs;
};

// Changes a point, a cell of each feature, into a cheap one that is what is asked for. Returns its
// cost, infinite if that failed.
double mend(const TableSum& sum, const TableAsked& asked, std::span<i64> point);

}  // namespace trust
