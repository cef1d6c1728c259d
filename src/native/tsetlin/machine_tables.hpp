// What the bounds of a machine read: a link, and tables of factors.
//
// Notation: C clauses, j; d features, f; F_jf the factor of a cell; q_j + E_j = Π_f F_jf, where q_j
// is the probability that clause j fires; g the link. Clauses that vote for class 1 come first, C/2
// of them, then those that vote against it.
//
// A range of cells is covered by two runs of 2^level cells each, whose least and greatest factors
// are tabulated.
#pragma once
#include <bit>
#include <span>
#include <vector>

#include "kernel.hpp"
#include "numpy.hpp"
#include "tsetlin/lanes.hpp"
#include "tsetlin/vote_law.hpp"

namespace trust::tsetlin {

// How the firing of clauses becomes the number that is bounded.
enum class Link : i64 {
    steps = 0,   // the mean of g(v), which rises in equal steps
    step = 1,    // the mean of g(v), which rises in one step
    linear = 2,  // a constant + Σ_j u_j q_j
};

class MachineTables {
  public:
    // `numbers` and `layout` are those of `trust_recourse.models.tsetlin.bounds`. Throws
    // std::invalid_argument where they do not fit together.
    MachineTables(Array<const double> numbers, Array<const i64> layout);

    struct Feature {
        i64 cells;
        i64 row;   // of its first run in the tables of runs
        i64 cell;  // its first in the row of all cells
    };

    // One row of a table for each of the two runs that together cover a range.
    struct Pair {
        const double *a, *b;
    };

    [[gnu::always_inline]] Pair runs(const double* table, Span span, std::size_t f) const {
        const Feature& feature = features[f];
        const i64 n = span[d + f] - span[f] + 1;
        const auto level = static_cast<i64>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
        const i64 first = feature.row + level * feature.cells + span[f];
        const i64 second = first + n - (i64{1} << level);
        const i64 width = static_cast<i64>(C);
        return {table + first * width, table + second * width};
    }

    // The log factors of a cell in the row of all cells.
    const double* logs_at(i64 cell) const { return logs + cell * static_cast<i64>(C); }

    // The factors of a feature's cell: runs of one cell are the factors themselves.
    const double* factors_at(std::size_t f, i64 cell) const {
        return least + (features[f].row + cell) * static_cast<i64>(C);
    }

    // Clauses [first, last) that vote for a side, +1 or -1.
    std::pair<std::size_t, std::size_t> clauses_of(i64 side) const {
        return side > 0 ? std::pair{std::size_t{0}, C / 2} : std::pair{C / 2, C};
    }

    std::size_t d, C;
    Link link;
    std::vector<Feature> features;
    const double* empty;         // E
    const double* g;             // g (C + 1), or u (C) and then the constant
    const double* rise;          // greatest step of g up to each vote; or what rounding may do
    const double* fall;          // greatest step of g from each vote on
    const double *least, *most;  // factors of runs
    const double* logs;          // log factors of cells
    const double *least_log, *most_log;  // log factors of runs

  private:
    Array<const double> numbers_;  // keeps what the pointers point to
};

// The number of a linear link where clauses fire with probabilities q.
[[gnu::always_inline]] inline double linear_number(const MachineTables& m, const double* q) {
    const double* u = m.g;
    return u[m.C] + sum_of<double>(m.C, [=](std::size_t j) { return u[j] * q[j]; });
}

// That of a link of votes. `law`, which receives the law of the vote, and `room` have C + 1
// entries.
[[gnu::always_inline]] inline double vote_number(const MachineTables& m, const double* q,
                                                 double* law, double* room) {
    const std::size_t half = m.C / 2;
    const auto firing = [=](std::size_t j) { return q[j / 2 + (j % 2 == 0 ? 0 : half)]; };
    vote_law(m.C, firing, law, room);
    return mean_under(law, m.g, m.C + 1);
}

}  // namespace trust::tsetlin
