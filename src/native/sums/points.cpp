#include "sums/points.hpp"

#include <cmath>

namespace trust {

void add_up(const Card& card, std::span<const double> codes, std::span<const i32> cells,
            Totals out) {
    const std::size_t d = card.first.size();
    for (std::size_t i = 0; i < out.sum.size(); ++i) {
        double total = 0.0, size = std::abs(card.base);
        for (std::size_t f = 0; f < d; ++f) {
            const double code = codes[i * d + f];
            const i64 at = card.first[f] + cells[i * d + f];
            const double more = card.slopes[at] * (std::isnan(code) ? 0.0 : code);
            const double here = card.points[at] + more;
            total = f == 0 ? here : total + here;
            size += std::abs(card.points[at]) + std::abs(more);
        }
        out.sum[i] = card.base + total;
        out.size[i] = size;
    }
}

}  // namespace trust
