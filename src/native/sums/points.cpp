#include "sums/points.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trust {

Points::Points(std::span<const double> numbers, std::span<const i64> first) {
    if (numbers.empty() || first.empty())
        throw std::invalid_argument("points: given no numbers or no features, expected both");
    model_ = std::make_shared<const Model>(
        Model{{numbers.begin(), numbers.end() - 1}, {first.begin(), first.end()}, numbers.back()});
}

std::unique_ptr<Kernel> Points::clone() const {
    return std::unique_ptr<Kernel>(new Points(model_));
}

void Points::interval(Span span, double* out, const double* /*memory*/) {
    const Model& model = *model_;
    const std::size_t d = model.first.size();
    out[0] = -model.rounding;
    out[1] = model.rounding;
    for (std::size_t f = 0; f < d; ++f) {
        double least = INF, most = -INF;
        for (i64 c = model.first[f] + span[f]; c <= model.first[f] + span[d + f]; ++c) {
            least = std::min(least, model.points[c]);
            most = std::max(most, model.points[c]);
        }
        out[0] += least;
        out[1] += most;
        out[2 + f] = most - least;
    }
}

// The gains are the points themselves.
double Points::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                          double /*budget*/, double* gains, double* /*memory*/) {
    const Model& model = *model_;
    const std::size_t d = model.first.size();
    double total = 0.0;
    for (std::size_t f = 0; f < d; ++f) {
        double most = -INF;
        for (i64 c = model.first[f] + span[f]; c <= model.first[f] + span[d + f]; ++c) {
            gains[c] = spend[c] < INF ? static_cast<double>(side) * model.points[c] : -INF;
            most = std::max(most, gains[c]);
        }
        total += most;
    }
    const double base = side > 0 ? 0.0 : 1.0;  // the level of side -1 is one of 1 - number
    gains[spend.size()] = base + total + model.rounding;
    return level - base - model.rounding;
}

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
