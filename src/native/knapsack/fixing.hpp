// A cheap choice of one candidate for each feature whose gains reach what is needed.
#pragma once
#include <span>

#include "kernel.hpp"

namespace trust {

// The candidates of all features in one row, those of feature f from first[f] up to first[f + 1].
struct Priced {
    std::span<const double> costs, gains;
    std::span<const i64> first;
};

// Changes one feature so that a point gains what is needed, then makes the point cheaper. Returns
// its cost, infinite if no single change is enough. `point` has the candidate of each feature.
double mend_choice(const Priced& candidates, double needed, std::span<i64> point);

}  // namespace trust
