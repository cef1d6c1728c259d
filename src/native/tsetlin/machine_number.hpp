// The number of a machine whose clauses fire with given probabilities q.
#pragma once
#include <cstddef>

#include "tsetlin/lanes.hpp"
#include "tsetlin/machine_tables.hpp"
#include "tsetlin/vote_law.hpp"

namespace trust::tsetlin {

// That of a linear link.
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
