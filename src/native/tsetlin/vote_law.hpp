// The law of the vote, by convolving one clause at a time.
//
// Notation: C clauses, j, that vote for class 1 and against it by turns; q_j the probability that
// clause j fires; v the vote, from -C/2 to C/2. The law of v has C + 1 entries, v = -C/2 first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

namespace trust::tsetlin {

// Writes the law to `law`; `room` has the same size. `firing(j)` is q_j.
//
// Before clause j the law reaches from -⌊j/2⌋ to ⌈j/2⌉ around the middle. Each step reads one array
// and writes the other; beyond what was reached both are 0.
template <class Firing>
[[gnu::always_inline]] inline void vote_law(std::size_t C, const Firing& firing, double* law,
                                            double* room) {
    const std::size_t half = C / 2;
    std::fill_n(law, C + 1, 0.0);
    std::fill_n(room, C + 1, 0.0);
    double *from = law, *to = room;
    from[half] = 1.0;
    for (std::size_t j = 0; j < C; ++j) {
        const double p = firing(j);
        const std::size_t low = half - j / 2, high = half + (j + 1) / 2;
        const double* __restrict before = from;
        double* __restrict after = to;
        if (j % 2 == 0) {
            after[low] = before[low] * (1.0 - p);
            for (std::size_t w = low + 1; w <= high + 1; ++w)
                after[w] = before[w] + p * (before[w - 1] - before[w]);
        } else {
            for (std::size_t w = low - 1; w < high; ++w)
                after[w] = before[w] + p * (before[w + 1] - before[w]);
            after[high] = before[high] * (1.0 - p);
        }
        std::swap(from, to);
    }
    if (from != law) std::copy_n(from, C + 1, law);
}

// The mean of g under a law of n entries, added up from the first on.
inline double mean_under(const double* law, const double* g, std::size_t n) {
    double mean = 0.0;
    for (std::size_t w = 0; w < n; ++w) mean += law[w] * g[w];
    return mean;
}

}  // namespace trust::tsetlin
