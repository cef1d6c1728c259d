#include "sums/sweeps.hpp"

#include <algorithm>

namespace trust {

static constexpr int STEPS = 24;  // of the search for the best price

Sweeps::Sweeps(const TermLayout& lay, std::span<const double> values)
    : values_(values),
      lay_(lay),
      box_(lay),
      marginal_(lay.atoms),
      best_(lay.atoms),
      theta_(lay.cells),
      sums_(lay.leaves),
      each_(lay.pair.size()),
      constants_(lay.terms, 0.0) {}

double Sweeps::least(const Gathered::Entry& entry, const Gathered::Pair& pair,
                     const double* h) const {
    double least = INF;
    for (const auto a : pair.all() ? box_.atoms(entry) : box_.taken(pair))
        least = std::min(least, h[a]);
    return least;
}

void Sweeps::sum_leaves(const double* h) {
    for (const auto& term : box_.terms())
        for (const auto& leaf : box_.leaves(term)) {
            double total = 0.0;
            i64 p = leaf.pair;
            for (const auto& entry : box_.entries(term)) {
                each_[p] = least(entry, box_.pair(p), h);
                total += each_[p++];
            }
            sums_[leaf.leaf] = total;
        }
}

void Sweeps::sweep(double side, double price, std::span<const double> spend, bool forward,
                   double* h) {
    for (i64 turn = 0; turn < lay_.d; ++turn) {
        const Places places = box_.places(forward ? turn : lay_.d - 1 - turn);
        collect(places, side, price, spend);
        i64 before = 0, after = 0;  // terms with another feature before, after this one
        for (const auto& place : places) {
            before += place.entry > box_.term(place).entry;
            after += place.entry < box_.term(place).entry_end - 1;
        }
        const double share = 1.0 / double(std::max({before, after, i64(1)}));
        for (const auto& place : places) {
            const auto& term = box_.term(place);
            const bool goes_on =
                forward ? place.entry < term.entry_end - 1 : place.entry > term.entry;
            hand_out(place, share, goes_on, price, h);
        }
    }
}

void Sweeps::collect(Places places, double side, double price, std::span<const double> spend) {
    if (!places.empty())
        for (const auto& [cell, atom] : box_.cells(box_.entry(places.front())))
            theta_[cell] = spend[cell];
    for (const auto& place : places) {
        const auto& term = box_.term(place);
        const auto& entry = box_.entry(place);
        for (const auto a : box_.atoms(entry)) marginal_[a] = INF;
        double whole = INF;  // the cheapest leaf that takes all atoms
        const i64 step = place.entry - term.entry;
        for (const auto& leaf : box_.leaves(term)) {
            const auto& pair = box_.pair(leaf.pair + step);
            double rest = sums_[leaf.leaf] - each_[leaf.pair + step];
            rest = price * (rest - side * values_[leaf.leaf]);
            if (pair.all())
                whole = std::min(whole, rest);
            else
                for (const auto a : box_.taken(pair)) marginal_[a] = std::min(marginal_[a], rest);
        }
        for (const auto a : box_.atoms(entry)) marginal_[a] = std::min(marginal_[a], whole);
        for (const auto& [cell, atom] : box_.cells(entry)) theta_[cell] += marginal_[atom];
    }
}

void Sweeps::hand_out(const Gathered::Place& place, double share, bool goes_on, double price,
                      double* h) {
    const auto& entry = box_.entry(place);
    const auto& term = box_.term(place);
    if (goes_on) {
        for (const auto a : box_.atoms(entry)) best_[a] = INF;
        for (const auto& [cell, atom] : box_.cells(entry))
            best_[atom] = std::min(best_[atom], theta_[cell]);
    }
    for (const auto a : box_.atoms(entry)) {
        const double given = goes_on ? share * best_[a] : 0.0;
        h[a] = marginal_[a] < INF ? (given - marginal_[a]) / price : 0.0;
    }
    const i64 step = place.entry - term.entry;
    for (const auto& leaf : box_.leaves(term)) {
        const i64 p = leaf.pair + step;
        const double low = least(entry, box_.pair(p), h);
        sums_[leaf.leaf] += low - each_[p];
        each_[p] = low;
    }
}

Sweeps::Constants Sweeps::sum_constants(double side) {
    Constants found{0.0, 0.0};
    for (const auto& term : box_.terms()) {
        double best = -INF, most = -INF;
        for (const auto& leaf : box_.leaves(term)) {
            const double v = side * values_[leaf.leaf];
            best = std::max(best, v - sums_[leaf.leaf]);
            most = std::max(most, v);
        }
        constants_[term.term] = best;
        found.total += best;
        found.most += most;
    }
    return found;
}

void clear_gains(const TermLayout& lay, Span span, double* gains) {
    for (i64 f = 0; f < lay.d; ++f)
        std::fill(gains + lay.first[f] + span[f], gains + lay.first[f] + span[lay.d + f] + 1, 0.0);
}

void Sweeps::fill_gains(Span span, const double* h, double* gains) const {
    clear_gains(lay_, span, gains);
    for (const auto& term : box_.terms())
        for (const auto& entry : box_.entries(term))
            for (const auto& [cell, atom] : box_.cells(entry)) gains[cell] += h[atom];
}

Priced priced(std::span<const i64> first, Span span, std::span<const double> spend,
              const double* gains, double price) {
    Priced found{0.0, 0.0};
    const std::size_t d = first.size();
    for (std::size_t f = 0; f < d; ++f) {
        double best = INF, its = 0.0;
        for (i64 c = first[f] + span[f]; c <= first[f] + span[d + f]; ++c) {
            if (!(spend[c] < INF)) continue;
            const double value = spend[c] - price * gains[c];
            if (value < best) {
                best = value;
                its = gains[c];
            }
        }
        found.total += best;
        found.gain += its;
    }
    return found;
}

// The function of the price is concave and made of lines. The lines at two prices, one on either
// side of the greatest value, meet at a price between them, which is tried next.
double best_price(std::span<const i64> first, Span span, std::span<const double> spend,
                  const double* gains, double needed, double price) {
    struct Line {
        double at, value, slope;
    };
    const Priced free = priced(first, span, spend, gains, 0.0);
    Line left{0.0, free.total, needed - free.gain}, right{INF, 0.0, 0.0};
    double best = free.total, found = 0.0, at = price;
    if (left.slope <= 0.0) return 0.0;
    for (int step = 0; step < STEPS; ++step) {
        const auto [total, gain] = priced(first, span, spend, gains, at);
        const Line line{at, at * needed + total, needed - gain};
        if (line.value > best) {
            best = line.value;
            found = at;
        }
        (line.slope > 0.0 ? left : right) = line;
        if (right.at == INF) {
            at *= 4.0;
            if (at > MOST_PRICE) return found;
            continue;
        }
        if (line.slope == 0.0 || left.slope <= right.slope) break;
        const double apart =
            left.value - left.slope * left.at - right.value + right.slope * right.at;
        at = -apart / (left.slope - right.slope);
        if (!(left.at < at && at < right.at)) break;
    }
    return found;
}

}  // namespace trust
