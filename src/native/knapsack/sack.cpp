// Values on lines. Places t stay floats: they count up to 2^53 steps.
#include "knapsack/sack.hpp"

#include <algorithm>
#include <cmath>

namespace trust::knapsack {

static constexpr double EXACT = 9007199254740992.0;  // 2^53: whole numbers below it are floats

// t within 0 and last; 0 for NaN.
static double clamped(double t, double last) { return t > 0.0 ? std::min(t, last) : 0.0; }

static double sign(const Line& line) { return line.slope > 0.0 ? 1.0 : -1.0; }

std::vector<Line> lines_of(std::span<const double> rows) {
    std::vector<Line> lines;
    for (std::size_t at = 0; at < rows.size(); at += LINE) {
        const double* row = rows.data() + at;
        lines.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]});
    }
    return lines;
}

// Writes where a line starts and how many values it has. Returns false if these are too large.
static bool begin(Line& line, double low, double high) {
    const double p = line.p, q = line.q, own = line.own;
    const double first = std::rint(low * q / p), last = std::rint(high * q / p);
    const double most = own * q / p;
    const double furthest =
        std::max(std::max(std::max(std::abs(first), std::abs(last)), std::abs(most)), 1.0);
    if (!(furthest * p < EXACT && q < EXACT)) return false;
    double k = std::floor(most) - 1.0;
    if (line.slope > 0.0) {
        while (k * p / q <= own) k += 1.0;
        line.start = std::max(k, first);
        line.many = std::max(last - line.start + 1.0, 0.0);
    } else {
        k += 3.0;
        while (k * p / q >= own) k -= 1.0;
        line.start = std::min(k, last);
        line.many = std::max(line.start - first + 1.0, 0.0);
    }
    return true;
}

bool begin(std::span<double> rows, std::span<const double> own, std::span<const double> low,
           std::span<const double> high) {
    std::vector<Line> lines = lines_of(rows);
    for (std::size_t f = 0; f < lines.size(); ++f) {
        Line& line = lines[f];
        line.own = own[f];
        line.many = 0.0;
        const bool none = line.slope == 0.0 || low[f] > high[f];
        const bool done = none || (!std::isnan(own[f]) && begin(line, low[f], high[f]));
        double* row = rows.data() + f * LINE;
        row[0] = line.own;
        row[6] = line.start;
        row[7] = line.many;
        if (!done) return false;
    }
    return true;
}

// Cost and gain of a line's t-th value.
Value Sack::on_line(std::size_t f, double t) const {
    const Line& line = lines_[f];
    const double away = std::abs((line.start + sign(line) * t) * line.p / line.q - line.own);
    const double moved = away * line.weight / line.scale;
    const double cost = parts_.l0 * line.weight + parts_.l1 * moved + parts_.l2 * moved * moved;
    return {cost, std::abs(line.slope) * away};
}

// A line's t-th value has cost - multiplier gain = a t^2 + b t + c.
Sack::Parabola Sack::parabola(std::size_t f, double multiplier) const {
    const Line& line = lines_[f];
    const auto [l0, l1, l2] = parts_;
    const double unit = line.weight / line.scale;
    const double step = line.p / line.q * unit;
    const double near = std::abs(line.start * line.p / line.q - line.own) * unit;
    const double rate = l1 - multiplier * std::abs(line.slope) / unit;
    const double constant = l0 * line.weight + (rate + l2 * near) * near;
    return {l2 * step * step, (2.0 * l2 * near + rate) * step, constant};
}

// The place on a line with the least cost - multiplier gain: the nearest to the vertex.
double Sack::best_on_line(std::size_t f, double multiplier) const {
    const double last = lines_[f].many - 1.0;
    const auto [a, b, c] = parabola(f, multiplier);
    if (a == 0.0) return b < 0.0 ? last : 0.0;
    return clamped(std::floor(0.5 - b / (2.0 * a)), last);
}

Sack::Window Sack::window(std::size_t f, double multiplier, double most) const {
    if (!has_line(f)) return {};
    const double last = lines_[f].many - 1.0;
    const auto [a, b, c] = parabola(f, multiplier);
    double low = 0.0, high = last;
    const double left = most - c;
    if (a > 0.0) {
        const double root = std::sqrt(std::max(b * b + 4.0 * a * left, 0.0));
        const double lost = ROUNDING * (std::abs(b) + root);  // where these nearly cancel
        low = (-b - root - lost) / (2.0 * a);
        high = (-b + root + lost) / (2.0 * a);
    } else if (b > 0.0) {
        high = left / b;
    } else if (b < 0.0) {
        low = left / b;
    }
    low = clamped(std::floor(low) - 1.0, last);
    const double beyond = std::ceil(high) + 1.0;
    high = std::max(beyond < last ? beyond : last, low);
    return {static_cast<i64>(low), static_cast<i64>(high) + 1};
}

// The first place on a line that gains what is needed; `many` if none does, NaN if `needed` is.
double Sack::enough_on_line(std::size_t f, double needed) const {
    const Line& line = lines_[f];
    const double step = line.p / line.q;
    const double away = needed / std::abs(line.slope) - std::abs(line.start * step - line.own);
    double t = std::min(std::max(std::ceil(away / step), 0.0), line.many);
    while (t > 0.0 && on_line(f, t - 1.0).gain >= needed) t -= 1.0;
    while (t < line.many && on_line(f, t).gain < needed) t += 1.0;
    return t;
}

// ---------------------------------------------------------------- choices of a feature

Value Sack::at(std::size_t f, i64 choice) const {
    if (choice >= 0) return {costs_[choice], gains_[choice]};
    return on_line(f, -1.0 - static_cast<double>(choice));
}

Value Sack::total(std::span<const i64> point) const {
    Value sum{0.0, 0.0};
    for (std::size_t f = 0; f < point.size(); ++f) {
        const Value each = at(f, point[f]);
        sum.cost += each.cost;
        sum.gain += each.gain;
    }
    return sum;
}

double Sack::most_gain(std::size_t f) const {
    double most = -INF;
    for (i64 k = first_[f]; k < first_[f + 1]; ++k) most = std::max(most, gains_[k]);
    return has_line(f) ? std::max(most, on_line(f, lines_[f].many - 1.0).gain) : most;
}

Best Sack::bought(std::size_t f, double multiplier) const {
    Best best;
    for (i64 k = first_[f]; k < first_[f + 1]; ++k) {
        const double value = costs_[k] - multiplier * gains_[k];
        if (value < best.least) best = {value, gains_[k], k};
    }
    if (has_line(f)) {
        const double t = best_on_line(f, multiplier);
        const auto [cost, gain] = on_line(f, t);
        const double value = cost - multiplier * gain;
        if (value < best.least) best = {value, gain, -1 - static_cast<i64>(t)};
    }
    return best;
}

Best Sack::cheapest(std::size_t f, double needed) const {
    Best best{INF, -INF, 0};
    for (i64 k = first_[f]; k < first_[f + 1]; ++k) {
        const double cost = costs_[k], gain = gains_[k];
        const bool better = cost < best.least || (cost == best.least && gain > best.gain);
        if (gain >= needed && better) best = {cost, gain, k};
    }
    if (has_line(f)) {
        const double t = enough_on_line(f, needed);
        if (t < lines_[f].many) {
            const auto [cost, gain] = on_line(f, t);
            if (cost < best.least) best = {cost, gain, -1 - static_cast<i64>(t)};
        }
    }
    return best;
}

}  // namespace trust::knapsack
