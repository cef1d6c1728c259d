#include "knapsack/fixing.hpp"

#include <cstddef>

namespace trust {

static constexpr int ROUNDS = 4;  // in which a point is made cheaper

double mend_choice(const Priced& candidates, double needed, std::span<i64> point) {
    const auto& [costs, gains, first] = candidates;
    const std::size_t d = point.size();
    double gain = 0.0;
    for (const i64 its : point) gain += gains[its];
    if (gain < needed) {
        double best = INF;
        std::size_t at = d;
        i64 its = 0;
        for (std::size_t f = 0; f < d; ++f)
            for (i64 k = first[f]; k < first[f + 1]; ++k) {
                const double more = costs[k] - costs[point[f]];
                if (more < best && gain - gains[point[f]] + gains[k] >= needed) {
                    best = more;
                    at = f;
                    its = k;
                }
            }
        if (at == d) return INF;
        gain += gains[its] - gains[point[at]];
        point[at] = its;
    }
    for (int round = 0; round < ROUNDS; ++round) {
        bool better = false;
        for (std::size_t f = 0; f < d; ++f) {
            i64 its = point[f];
            for (i64 k = first[f]; k < first[f + 1]; ++k)
                if (costs[k] < costs[its] && gain - gains[point[f]] + gains[k] >= needed) its = k;
            if (its != point[f]) {
                gain += gains[its] - gains[point[f]];
                point[f] = its;
                better = true;
            }
        }
        if (!better) break;
    }
    double total = 0.0;
    for (const i64 its : point) total += costs[its];
    return total;
}

}  // namespace trust
