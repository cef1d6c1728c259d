#include "tsetlin/guess.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trust::tsetlin {

namespace {

constexpr i64 ROUNDS = 4;
constexpr double TINY = 1e-12;
constexpr double FLOOR = 1e-30;

// What one evaluation works in, of C entries; laws have C + 1.
struct Values {
    double *products, *firing, *law, *room;
};

// The number at a point of cells; leaves the products there.
TRUST_CLONES double number_at(const MachineTables& m, const Guess::Question& asked,
                              const i64* point, const Values& of) {
    double* __restrict products = of.products;
    std::fill_n(products, m.C, 1.0);
    for (std::size_t f = 0; f < m.d; ++f) {
        const double* factors = m.factors_at(f, asked.cells[asked.offset[f] + point[f]]);
        for (std::size_t j = 0; j < m.C; ++j) products[j] *= factors[j];
    }
    for (std::size_t j = 0; j < m.C; ++j) of.firing[j] = std::max(products[j] - m.empty[j], 0.0);
    if (m.link == Link::linear) return linear_number(m, of.firing);
    return vote_number(m, of.firing, of.law, of.room);
}

// gains[c]: what each candidate of feature f would add in place of the one at the point.
TRUST_CLONES void gains_at(const MachineTables& m, const Guess::Question& asked, std::size_t f,
                           i64 at, const double* products, double* per, double* gains) {
    const double* here = m.factors_at(f, asked.cells[asked.offset[f] + at]);
    const double side = static_cast<double>(asked.side);
    double now = 0.0;
    for (std::size_t j = 0; j < m.C; ++j) {
        const double sign = j < m.C / 2 ? 1.0 : -1.0, u = m.link == Link::linear ? m.g[j] : sign;
        per[j] = side * u * products[j] / std::max(here[j], FLOOR);
        now += side * u * products[j];
    }
    for (i64 c = asked.offset[f]; c < asked.offset[f + 1]; ++c) {
        const double* factors = m.factors_at(f, asked.cells[c]);
        gains[c] = sum_of<double>(m.C, [=](std::size_t j) { return factors[j] * per[j]; }) - now;
    }
}

}  // namespace

Guess::Guess(const MachineTables& tables, const Question& question)
    : m_(tables),
      asked_(question),
      left_(question.work),
      linear_(tables.link == Link::linear),
      products_(tables.C),
      firing_(tables.C),
      law_(tables.C + 1),
      room_(tables.C + 1),
      per_(tables.C),
      gains_(question.costs.size()) {}

void Guess::pause() {
    if (left_ > 0) return;
    if (!asked_.go_on()) throw Stopped{};
    left_ = asked_.work;
}

// The number at a point, turned so that more is better.
double Guess::value(std::span<const i64> point) {
    const Values of{products_.data(), firing_.data(), law_.data(), room_.data()};
    const double number = number_at(m_, asked_, point.data(), of);
    const i64 d = static_cast<i64>(m_.d), C = static_cast<i64>(m_.C);
    left_ -= C * (d + 2) + (linear_ ? 0 : C * C / 2);
    return asked_.side > 0 ? number : -number;
}

// The gains of all candidates at a point whose value was computed last.
void Guess::look(std::span<const i64> point) {
    for (std::size_t f = 0; f < m_.d; ++f)
        gains_at(m_, asked_, f, point[f], products_.data(), per_.data(), gains_.data());
    left_ -= static_cast<i64>(m_.C) * (2 * static_cast<i64>(m_.d) + asked_.offset[m_.d]);
}

double Guess::cost_of(std::span<const i64> point) const {
    double total = 0.0;
    for (std::size_t f = 0; f < m_.d; ++f) total += asked_.costs[asked_.offset[f] + point[f]];
    return total;
}

// Make the moves of most gain for their cost until the level is reached, by points that cost less
// than `most`. A forced feature stays as it is; -1 forces none.
bool Guess::reach(std::span<i64> point, double most, i64 forced) {
    const i64 d = static_cast<i64>(m_.d);
    for (i64 step = 0; step < 4 * d; ++step) {
        pause();
        const double here = value(point);
        if (here >= asked_.level) return true;
        look(point);
        const double total = cost_of(point);
        double best = 0.0;
        i64 its = -1, to = 0;
        for (i64 f = 0; f < d; ++f) {
            if (f == forced) continue;
            const double paid = asked_.costs[asked_.offset[f] + point[f]];
            for (i64 c = asked_.offset[f]; c < asked_.offset[f + 1]; ++c) {
                const double more = asked_.costs[c] - paid;
                const double gain = linear_ ? std::min(gains_[c], asked_.level - here) : gains_[c];
                if (gain > TINY && total + more < most && gain > best * std::max(more, TINY)) {
                    best = gain / std::max(more, TINY);
                    its = f;
                    to = c;
                }
            }
        }
        if (its < 0) break;
        point[its] = to - asked_.offset[its];
    }
    return false;
}

// Whether the level is kept where feature f takes a candidate.
bool Guess::keeps(std::span<i64> point, i64 f, i64 candidate, double here) {
    if (linear_) return here + gains_[candidate] >= asked_.level + TINY;
    pause();
    const i64 now = std::exchange(point[f], candidate - asked_.offset[f]);
    const bool kept = value(point) >= asked_.level;
    point[f] = now;
    return kept;
}

// Take back what saves most while the level is kept, until nothing more can be.
void Guess::take_back(std::span<i64> point) {
    i64 its = 0;
    while (its >= 0) {
        pause();
        double here = 0.0, best = TINY;
        if (linear_) {
            here = value(point);
            look(point);
        }
        i64 to = its = -1;
        for (i64 f = 0; f < static_cast<i64>(m_.d); ++f) {
            const double paid = asked_.costs[asked_.offset[f] + point[f]];
            for (i64 c = asked_.offset[f]; c < asked_.offset[f + 1]; ++c) {
                if (!(paid - asked_.costs[c] > best) || !keeps(point, f, c, here)) continue;
                best = paid - asked_.costs[c];
                its = f;
                to = c;
            }
        }
        if (its >= 0) point[its] = to - asked_.offset[its];
    }
}

// Force features to candidates in turn, and keep what follows where it costs less than the best.
void Guess::force(std::span<i64> best) {
    std::vector<i64> trial(best.size());
    double least = cost_of(best);
    bool better = true;
    for (i64 round = 0; round < ROUNDS && better; ++round) {
        better = false;
        i64 f = 0;
        for (const i64 candidate : asked_.forced) {
            while (candidate >= asked_.offset[f + 1]) ++f;
            const i64 place = candidate - asked_.offset[f];
            if (best[f] == place || asked_.costs[candidate] >= least) continue;
            std::ranges::copy(best, trial.begin());
            trial[f] = place;
            if (!reach(trial, least, f)) continue;
            take_back(trial);
            const double cost = cost_of(trial);
            if (cost < least * (1.0 - TINY)) {
                least = cost;
                better = true;
                std::ranges::copy(trial, best.begin());
            }
        }
    }
}

bool Guess::run(std::span<i64> point) {
    bool reached = false;
    try {
        reached = reach(point, INF, -1);
        if (reached) {
            take_back(point);
            force(point);
        }
    } catch (const Stopped&) {
    }
    return reached;
}

}  // namespace trust::tsetlin
