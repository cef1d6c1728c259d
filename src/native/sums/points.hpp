// Sums of points of rows of codes.
#pragma once
#include <span>

#include "kernel.hpp"

namespace trust {

// The sums of rows of codes, and of the sizes of what is added up.
struct Totals {
    std::span<double> sum, size;
};

// A card in one row of cells: a code x in cell c has points[c] + slopes[c] x, a missing one points
// alone.
struct Card {
    std::span<const i64> first;
    std::span<const double> points, slopes;
    double base;
};

// Adds up the points of rows of codes, which lie in these cells. The base is added last.
void add_up(const Card& card, std::span<const double> codes, std::span<const i32> cells,
            Totals out);

}  // namespace trust
