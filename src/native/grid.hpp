// From values to cells.
#pragma once
#include <cmath>
#include <cstddef>
#include <span>

#include "kernel.hpp"

namespace trust {

// All cuts in one row, those of feature f from first[f] up to first[f + 1], and the cells of each
// feature.
struct Cuts {
    std::span<const double> cuts;
    std::span<const i64> first, sizes;
};

// The number of ascending cuts below a code. Both halves are one load away: no branch to
// mispredict.
inline i64 cuts_below(std::span<const double> cuts, double code) {
    const double* at = cuts.data();
    for (std::size_t left = cuts.size(); left > 0;) {
        const std::size_t half = left / 2;
        const bool more = at[half] < code;
        at += more ? half + 1 : 0;
        left = more ? left - half - 1 : half;
    }
    return at - cuts.data();
}

// Writes the cell of each code: the number of its feature's cuts below it. The cell of a missing
// code, NaN, is the feature's last. Codes and cells are rows of d features.
inline void cells_of(const Cuts& grid, std::span<const double> codes, std::span<i32> cells) {
    const std::size_t d = grid.sizes.size();
    for (std::size_t i = 0; i < codes.size(); i += d)
        for (std::size_t f = 0; f < d; ++f) {
            const double code = codes[i + f];
            const auto cuts = grid.cuts.subspan(grid.first[f], grid.first[f + 1] - grid.first[f]);
            const i64 cell = std::isnan(code) ? grid.sizes[f] - 1 : cuts_below(cuts, code);
            cells[i + f] = static_cast<i32>(cell);
        }
}

}  // namespace trust
