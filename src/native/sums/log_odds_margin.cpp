#include "sums/log_odds_margin.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace trust {

LogOddsMargin::LogOddsMargin(Parts parts, std::shared_ptr<const Model> model)
    : Joined(std::move(parts)), model_(std::move(model)), ends_(model_->classes) {
    if (i64(model_->sums.size()) != parts_.size())
        throw std::invalid_argument("expected an offset, a width and an entropy for each part");
    if (model_->classes >= parts_.size() || model_->own >= model_->classes)
        throw std::invalid_argument("expected a tangent, and the own part among the classes");
}

std::unique_ptr<Kernel> LogOddsMargin::clone() const {
    return std::make_unique<LogOddsMargin>(parts_.clone(), model_);
}

// The least and the greatest sum of part i.
Parts::Bounds LogOddsMargin::bounds(i64 i, Span span, const double* memory) {
    const auto [low, high] = parts_.interval(i, span, memory);
    const Sum& sum = model_->sums[i];
    return {sum.offset + sum.width * low, sum.offset + sum.width * high};
}

// The greatest lead by tangent i.
double LogOddsMargin::tangent(i64 i, Span span, const double* memory) {
    return bounds(i, span, memory).most - model_->sums[i].entropy;
}

// log sum exp of the others at one end of their bounds, or the strongest of them.
double LogOddsMargin::rival(double Parts::Bounds::* end) const {
    double most = -INF, total = 0.0;
    for (i64 i = 0; i < model_->classes; ++i)
        if (i != model_->own) most = std::max(most, ends_[i].*end);
    if (model_->strongest) return most;
    for (i64 i = 0; i < model_->classes; ++i)
        if (i != model_->own) total += std::exp(ends_[i].*end - most);
    return most + std::log(total);
}

void LogOddsMargin::interval(Span span, double* out, const double* memory) {
    const Scale& scale = model_->scale;
    const std::span<double> loose(out + 2, parts_.looseness().size());
    std::ranges::fill(loose, 0.0);
    for (i64 i = 0; i < model_->classes; ++i) {
        ends_[i] = bounds(i, span, memory);
        const double width = model_->sums[i].width / scale.width;
        for (std::size_t f = 0; f < loose.size(); ++f) loose[f] += width * parts_.looseness()[f];
    }
    const bool apart = model_->own < 0;
    const Parts::Bounds own = apart ? Parts::Bounds{0.0, 0.0} : ends_[model_->own];
    const double least = own.least - rival(&Parts::Bounds::most);
    double most = own.most - rival(&Parts::Bounds::least);
    if (apart)  // tangents of differences bound more tightly than the differences one by one
        for (i64 i = model_->classes; i < parts_.size(); ++i)
            most = std::min(most, tangent(i, span, memory));
    out[0] = scale.number(least) - scale.rounding;
    out[1] = scale.number(most) + scale.rounding;
}

// The tangent that bounds the lead most tightly.
i64 LogOddsMargin::best_tangent(Span span, const double* memory) {
    i64 its = model_->classes;
    if (parts_.size() - its < 2) return its;
    double best = INF;
    for (i64 i = model_->classes; i < parts_.size(); ++i)
        if (const double most = tangent(i, span, memory); most < best) {
            best = most;
            its = i;
        }
    return its;
}

double LogOddsMargin::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                                 double budget, double* gains, double* memory) {
    if (side < 0) return no_relaxation(span, side, level, spend, budget, gains, memory);
    relaxed_ = best_tangent(span, memory);
    const Scale& scale = model_->scale;
    const Sum& sum = model_->sums[relaxed_];
    const double wanted = scale.lowest + (level - 0.25 - scale.rounding) * scale.width;
    const double own = (wanted + sum.entropy - sum.offset) / sum.width;
    const double needed = parts_.relaxation(relaxed_, span, own, spend, budget, gains, memory);
    const double by = sum.width / scale.width;
    for (std::size_t c = 0; c < spend.size(); ++c) gains[c] *= by;
    const double most = sum.offset + sum.width * gains[spend.size()] - sum.entropy;
    gains[spend.size()] = scale.number(most) + scale.rounding;
    return needed * by;
}

}  // namespace trust
