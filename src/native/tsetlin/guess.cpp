#include "tsetlin/guess.hpp"

#include <algorithm>
#include <cmath>

#include "tsetlin/clones.hpp"
#include "tsetlin/lanes.hpp"
#include "tsetlin/machine_number.hpp"

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

Guess::Guess(const MachineTables& tables, const Question& question, State& state)
    : m_(tables),
      asked_(question),
      state_(state),
      linear_(tables.link == Link::linear),
      products_(tables.C),
      firing_(tables.C),
      law_(tables.C + 1),
      room_(tables.C + 1),
      per_(tables.C),
      gains_(question.costs.size()) {}

// The number at a point, turned so that more is better.
double Guess::value(std::span<const i64> point) {
    const Values of{products_.data(), firing_.data(), law_.data(), room_.data()};
    const double number = number_at(m_, asked_, point.data(), of);
    state_.left -= work_of_value();
    return asked_.side > 0 ? number : -number;
}

// The gains of all candidates at a point whose value was computed last.
void Guess::look(std::span<const i64> point) {
    for (std::size_t f = 0; f < m_.d; ++f)
        gains_at(m_, asked_, f, point[f], products_.data(), per_.data(), gains_.data());
    state_.left -= work_of_look();
}

i64 Guess::work_of_value() const {
    const i64 d = static_cast<i64>(m_.d), C = static_cast<i64>(m_.C);
    return C * (d + 2) + (linear_ ? 0 : C * C / 2);
}

i64 Guess::work_of_look() const {
    const i64 d = static_cast<i64>(m_.d), C = static_cast<i64>(m_.C);
    return C * (2 * d + asked_.offset[m_.d]);
}

double Guess::cost_of(std::span<const i64> point) const {
    double total = 0.0;
    for (std::size_t f = 0; f < m_.d; ++f) total += asked_.costs[asked_.offset[f] + point[f]];
    return total;
}

// Make the moves of most gain for their cost until the level is reached, by points that cost less
// than `most`. A forced feature stays as it is; -1 forces none.
Guess::Outcome Guess::reach(std::span<i64> point, double most, i64 forced) {
    const i64 d = static_cast<i64>(m_.d);
    while (state_.step < 4 * d) {
        if (state_.left <= 0) return Outcome::more;
        const double here = value(point);
        if (here >= asked_.level) {
            state_.step = 0;
            return Outcome::found;
        }
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
        ++state_.step;
    }
    state_.step = 0;
    return Outcome::none;
}

// Find the candidate that saves most while the level is kept; false if there is more to do.
bool Guess::best_to_take_back(std::span<i64> point, double here) {
    const i64 d = static_cast<i64>(m_.d);
    double best = TINY;
    if (state_.its > 0) {
        const i64 f = state_.its - 1;
        best = asked_.costs[asked_.offset[f] + point[f]] - asked_.costs[state_.to];
    }
    for (i64 f = 0; f < d; ++f) {
        const i64 now = point[f];
        const double paid = asked_.costs[asked_.offset[f] + now];
        for (i64 c = std::max(asked_.offset[f], state_.step); c < asked_.offset[f + 1]; ++c) {
            if (!(paid - asked_.costs[c] > best)) continue;
            bool kept;
            if (linear_) {
                kept = here + gains_[c] >= asked_.level + TINY;
            } else {
                if (state_.left <= 0) {
                    state_.step = c;
                    return false;
                }
                point[f] = c - asked_.offset[f];
                kept = value(point) >= asked_.level;
                point[f] = now;
            }
            if (!kept) continue;
            best = paid - asked_.costs[c];
            state_.its = f + 1;
            state_.to = c;
        }
    }
    return true;
}

// Take back what saves most while the level is kept, until nothing more can be.
Guess::Outcome Guess::take_back(std::span<i64> point) {
    while (true) {
        if (state_.left <= 0) return Outcome::more;
        double here = 0.0;
        if (linear_) {
            here = value(point);
            look(point);
        }
        if (!best_to_take_back(point, here)) return Outcome::more;
        const i64 its = state_.its - 1;
        state_.step = state_.its = 0;
        if (its < 0) return Outcome::found;
        point[its] = state_.to - asked_.offset[its];
    }
}

// The point that follows where feature f has a candidate, and costs less than `least`.
Guess::Outcome Guess::follow(i64 f, i64 candidate, double least) {
    const std::span<i64> best = asked_.point, trial = asked_.trial;
    if (state_.trying == 0) {
        const i64 place = candidate - asked_.offset[f];
        if (best[f] == place || asked_.costs[candidate] >= least) return Outcome::none;
        std::ranges::copy(best, trial.begin());
        trial[f] = place;
        state_.trying = 1;
    }
    if (state_.trying == 1) {
        const Outcome said = reach(trial, least, f);
        if (said != Outcome::found) return said;
        state_.trying = 2;
    }
    return take_back(trial);
}

Guess::Outcome Guess::run() {
    const std::span<i64> best = asked_.point;
    if (state_.phase == 0) {
        const Outcome said = reach(best, INF, -1);
        if (said != Outcome::found) return said;
        state_.phase = 1;
    }
    if (state_.phase == 1) {
        if (take_back(best) == Outcome::more) return Outcome::more;
        state_.phase = 2;
    }
    double least = cost_of(best);
    for (; state_.round < ROUNDS; ++state_.round) {
        i64 f = 0;
        for (; state_.forced < static_cast<i64>(asked_.forced.size()); ++state_.forced) {
            const i64 candidate = asked_.forced[state_.forced];
            while (candidate >= asked_.offset[f + 1]) ++f;
            const Outcome said = follow(f, candidate, least);
            if (said == Outcome::more) return said;
            state_.trying = 0;
            if (said == Outcome::none) continue;
            const double cost = cost_of(asked_.trial);
            if (cost < least * (1.0 - TINY)) {
                least = cost;
                state_.better = 1;
                std::ranges::copy(asked_.trial, best.begin());
            }
        }
        state_.forced = 0;
        if (state_.better == 0) {
            ++state_.round;
            break;
        }
        state_.better = 0;
    }
    return Outcome::found;
}

}  // namespace trust::tsetlin
