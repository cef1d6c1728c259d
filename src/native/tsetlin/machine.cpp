// Bounds on a machine's number over boxes of cells: an interval, and one separable upper bound.
//
// Notation as in machine_tables.hpp. S_j = Σ_f log F_jf; the number is that of `side`, so a clause
// that votes for the side raises it and one that votes against it lowers it.
#include "tsetlin/machine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trust::tsetlin {

namespace {

constexpr double FLOOR = 1e-30;  // where a logarithm is needed, lower factors count as this

using Tables = MachineTables;

// least and most q_j + E_j on the span.
[[gnu::always_inline]] inline void products(const Tables& m, Span span, MachineRoom& room) {
    double* __restrict least = room.least.data();
    double* __restrict most = room.most.data();
    std::fill_n(least, m.C, 1.0);
    std::fill_n(most, m.C, 1.0);
    for (std::size_t f = 0; f < m.d; ++f) {
        const auto [least_a, least_b] = m.runs(m.least, span, f);
        const auto [most_a, most_b] = m.runs(m.most, span, f);
        for (std::size_t j = 0; j < m.C; ++j) least[j] *= std::min(least_a[j], least_b[j]);
        for (std::size_t j = 0; j < m.C; ++j) most[j] *= std::max(most_a[j], most_b[j]);
    }
}

// From products to firing: down[j] where the vote is least on the span, up[j] where it is greatest.
[[gnu::always_inline]] inline void extremes(const Tables& m, MachineRoom& room) {
    const std::size_t half = m.C / 2;
    const double *least = room.least.data(), *most = room.most.data();
    double* __restrict down = room.down.data();
    double* __restrict up = room.up.data();
    for (std::size_t j = 0; j < half; ++j) {
        down[j] = std::max(least[j] - m.empty[j], 0.0);
        up[j] = std::max(most[j] - m.empty[j], 0.0);
    }
    for (std::size_t j = half; j < m.C; ++j) {
        down[j] = std::max(most[j] - m.empty[j], 0.0);
        up[j] = std::max(least[j] - m.empty[j], 0.0);
    }
}

// loose[f]: how much of the spread of the weighted products each feature's range brings.
[[gnu::always_inline]] inline void looseness(const Tables& m, Span span,
                                             const double* __restrict weighted,
                                             double* __restrict loose) {
    for (std::size_t f = 0; f < m.d; ++f) {
        loose[f] = 0.0;
        if (span[m.d + f] <= span[f]) continue;
        const auto [least_a, least_b] = m.runs(m.least, span, f);
        const auto [most_a, most_b] = m.runs(m.most, span, f);
        double total = 0.0;
        for (std::size_t j = 0; j < m.C; ++j) {
            const double top = std::max(most_a[j], most_b[j]) + 1e-300;
            total += weighted[j] * (1.0 - std::min(least_a[j], least_b[j]) / top);
        }
        loose[f] = total;
    }
}

struct Ends {
    double low, high;
};

[[gnu::always_inline]] inline Ends numbers(const Tables& m, MachineRoom& room) {
    if (m.link == Link::linear)
        return {linear_number(m, room.down.data()), linear_number(m, room.up.data())};
    double* spare = room.law_room.data();
    return {vote_number(m, room.down.data(), room.law_down.data(), spare),
            vote_number(m, room.up.data(), room.law_up.data(), spare)};
}

TRUST_CLONES void interval_of(const Tables& m, Span span, double* out, MachineRoom& room) {
    products(m, span, room);
    const double* weighted = room.most.data();
    double rounding = ROUNDING;
    if (m.link == Link::linear) {
        rounding = m.rise[0];
        for (std::size_t j = 0; j < m.C; ++j) room.weight[j] = std::abs(m.g[j]) * room.most[j];
        weighted = room.weight.data();
    }
    looseness(m, span, weighted, out + 2);
    extremes(m, room);
    const Ends ends = numbers(m, room);
    out[0] = ends.low - rounding;
    out[1] = ends.high + rounding;
}

// Means under the law of the vote without one clause, for eight clauses at a time.
//
// The law is keep · b[w] + (1 - keep) · b[w - 1], where b is that of the other clauses, and keep
// the probability that this one leaves w as it is. b is recovered from the end at which the
// recursion does not magnify errors: from the first entry where keep is a half or more, else from
// the last. Each recursion waits for its own last step, so eight side by side take as long as one.
struct Eight {
    std::size_t many = 0;
    std::size_t clause[8];
    double rest[8], scale[8];

    void add(std::size_t j, double keep, bool forward) {
        clause[many] = j;
        rest[many] = forward ? 1.0 - keep : keep;
        scale[many] = 1.0 / (forward ? keep : 1.0 - keep);
        ++many;
    }

    // mean[j] of each clause: E[gain] under its b.
    [[gnu::always_inline]] void take(const double* law, const double* gain, std::size_t C,
                                     bool forward, double* mean) {
        for (std::size_t l = many; l < 8; ++l) rest[l] = scale[l] = 0.0;
        double b[8] = {}, total[8] = {};
        for (std::size_t t = 0; t < C; ++t) {
            const double at = forward ? law[t] : law[C - t];
            const double worth = forward ? gain[t] : gain[C - 1 - t];
            for (std::size_t l = 0; l < 8; ++l) {
                b[l] = (at - rest[l] * b[l]) * scale[l];
                total[l] += b[l] * worth;
            }
        }
        for (std::size_t l = 0; l < many; ++l) mean[clause[l]] = total[l];
        many = 0;
    }
};

// mean[j]: E[gain] under the law of the clauses but j, which fire with probabilities q.
[[gnu::always_inline]] inline void without_each(const double* law, const double* q,
                                                const double* gain, std::size_t C, double* mean) {
    for (const bool forward : {true, false}) {
        Eight eight;
        for (std::size_t j = 0; j < C; ++j) {
            const double keep = j < C / 2 ? 1.0 - q[j] : q[j];
            if ((keep >= 0.5) != forward) continue;
            eight.add(j, keep, forward);
            if (eight.many == 8) eight.take(law, gain, C, forward, mean);
        }
        if (eight.many > 0) eight.take(law, gain, C, forward, mean);
    }
}

// weight[j]: more than the number can change on the span when q_j changes by 1.
//
// With Δ the steps of g, that is E[Δ(v of the other clauses)]: at most E[max Δ up to v] at the
// greatest votes, and at most E[max Δ from v on] at the least.
[[gnu::always_inline]] inline void clause_weights(const Tables& m, MachineRoom& room) {
    if (m.link == Link::linear) {
        for (std::size_t j = 0; j < m.C; ++j) room.weight[j] = std::abs(m.g[j]);
        return;
    }
    const double steepest = m.rise[m.C - 1];
    std::ranges::fill(room.weight, steepest);
    if (m.link != Link::step) return;
    std::vector<double>&upper = room.one, &lower = room.two;
    without_each(room.law_up.data(), room.up.data(), m.rise, m.C, upper.data());
    without_each(room.law_down.data(), room.down.data(), m.fall, m.C, lower.data());
    for (std::size_t j = 0; j < m.C; ++j)
        room.weight[j] = std::min(steepest, std::max(std::min(upper[j], lower[j]), 0.0) + ROUNDING);
}

// A condition on a box: its number, or 1 - it, reaches a level within a budget.
struct Condition {
    Span span;
    i64 side;
    double level;
    const double* spend;
    double budget;
};

// Lower bounds[j] on S_j of clauses for the side, and on -S_j of the others, as the budget allows.
//
// For every rate μ >= 0, sign · S_j <= μ · budget + Σ_f max (sign · log F_jf - μ · spend). The
// better of two rates is remembered, so that they find the best in time. Only clauses [first, last)
// are bounded.
[[gnu::always_inline]] inline void within_budget(const Tables& m, const Condition& asked,
                                                 std::size_t first, std::size_t last,
                                                 MachineRoom& room) {
    const std::size_t n = last - first;
    const auto [mine, mine_end] = m.clauses_of(asked.side);
    double* __restrict sign = room.sign.data();
    double* __restrict one = room.one.data();
    double* __restrict two = room.two.data();
    double* __restrict all_one = room.all_one.data();
    double* __restrict all_two = room.all_two.data();
    double* __restrict rate = room.rate.data() + first;
    for (std::size_t j = 0; j < n; ++j) {
        sign[j] = mine <= first + j && first + j < mine_end ? 1.0 : -1.0;
        all_one[j] = rate[j] * asked.budget;
        all_two[j] = 2.0 * rate[j] * asked.budget;
    }
    for (std::size_t f = 0; f < m.d; ++f) {
        std::fill_n(one, n, -INF);
        std::fill_n(two, n, -INF);
        const i64 cell = m.features[f].cell, end = cell + asked.span[m.d + f];
        for (i64 c = cell + asked.span[f]; c <= end; ++c) {
            const double spend = asked.spend[c];
            if (!(spend < INF)) continue;
            const double* logs = m.logs_at(c) + first;
            for (std::size_t j = 0; j < n; ++j) {
                const double paid = rate[j] * spend, value = sign[j] * logs[j] - paid;
                one[j] = std::max(one[j], value);
                two[j] = std::max(two[j], value - paid);
            }
        }
        for (std::size_t j = 0; j < n; ++j) all_one[j] += one[j];
        for (std::size_t j = 0; j < n; ++j) all_two[j] += two[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
        double& bound = (sign[j] > 0.0 ? room.high : room.low)[first + j];
        bound = std::min(bound, std::min(all_one[j], all_two[j]) + ROUNDING);
        const double next = rate[j] * (all_two[j] < all_one[j] ? 2.0 : 0.5);
        rate[j] = std::min(std::max(next, 1e-6), 1e9);
    }
}

// Between what each clause lies on the span at what the budget allows: products, bounds on S_j, and
// on -S_j of clauses against the side.
[[gnu::always_inline]] inline void ranges(const Tables& m, const Condition& asked,
                                          MachineRoom& room) {
    const auto [mine, mine_end] = m.clauses_of(asked.side);
    const auto [theirs, theirs_end] = m.clauses_of(-asked.side);
    products(m, asked.span, room);
    const double lowest = static_cast<double>(m.d) * std::log(FLOOR);
    for (std::size_t j = 0; j < m.C; ++j) room.high[j] = std::log(std::max(room.most[j], 1e-300));
    // a product of many factors of 0 lies below any float, but not below that of their floors
    for (std::size_t j = theirs; j < theirs_end; ++j)
        room.low[j] = room.least[j] > 1e-290 ? -std::log(room.least[j]) : -lowest;
    if (asked.budget == INF) return;
    // a tangent is valid wherever it touches: of a linear link, nothing else needs lower ends
    const bool alone = m.link == Link::linear && room.touched[0] <= 0.0 && m.C >= Machine::LONG;
    if (alone)
        within_budget(m, asked, mine, mine_end, room);
    else
        within_budget(m, asked, 0, m.C, room);
    for (std::size_t j = mine; j < mine_end; ++j)
        room.most[j] = std::min(room.most[j], std::exp(room.high[j]));
    if (alone) return;
    for (std::size_t j = theirs; j < theirs_end; ++j)
        room.least[j] = std::max(room.least[j], std::exp(-room.low[j]) * (1.0 - 1e-9) - 1e-30);
}

// The cheapest cell of each feature within the span, and for clauses of the side -S_j there, where
// their secants begin.
[[gnu::always_inline]] inline void cheapest_cells(const Tables& m, const Condition& asked,
                                                  MachineRoom& room) {
    const auto [mine, mine_end] = m.clauses_of(asked.side);
    double* __restrict low = room.low.data();
    for (std::size_t j = mine; j < mine_end; ++j) low[j] = 0.0;
    for (std::size_t f = 0; f < m.d; ++f) {
        const i64 first = m.features[f].cell;
        i64 cell = asked.span[f];
        for (i64 c = cell; c <= asked.span[m.d + f]; ++c)
            if (asked.spend[first + c] < asked.spend[first + cell]) cell = c;
        room.cheapest[f] = cell;
        const double* logs = m.logs_at(first + cell);
        for (std::size_t j = mine; j < mine_end; ++j) low[j] -= logs[j];
    }
}

// The greatest q (1 - q) between these ends.
double variance(double least, double most) {
    if (least < 0.5 && 0.5 < most) return 0.25;
    return std::max(least * (1.0 - least), most * (1.0 - most));
}

// The constants of the lines that bound the clauses.
struct Sums {
    double base;       // of the number
    double constants;  // of the vote
    double variance;   // of the vote, at most
};

// Secants bound the clauses for the side from above: slope[j], and what they add to the sums.
[[gnu::always_inline]] inline void secants(const Tables& m, i64 side, Sums& sums,
                                           MachineRoom& room) {
    const auto [mine, mine_end] = m.clauses_of(side);
    for (std::size_t j = mine; j < mine_end; ++j) {
        const double E = m.empty[j], least = room.least[j], most = room.most[j];
        const double top = room.high[j], bottom = -room.low[j];
        double slope = 0.0, constant = most;
        if (top - bottom >= 1e-9 && most >= 1e-12) {
            slope = (most - std::exp(bottom)) / (top - bottom);
            constant = most - slope * top;
        }
        const double weight = room.weight[j], from = std::max(least - E, 0.0);
        sums.base += weight * (constant - E - from);
        sums.constants += constant - E;
        sums.variance += variance(from, std::max(most - E, 0.0));
        room.slope[j] = weight * slope;
    }
}

// Tangents bound the other clauses from below, likewise.
[[gnu::always_inline]] inline void tangents(const Tables& m, i64 side, Sums& sums,
                                            MachineRoom& room) {
    const auto [theirs, theirs_end] = m.clauses_of(-side);
    for (std::size_t j = theirs; j < theirs_end; ++j) {
        const double E = m.empty[j], least = room.least[j], most = room.most[j];
        const double top = room.high[j], bottom = -room.low[j];
        double slope = 0.0, constant = least, touch = room.touched[j];
        const bool flat = top - bottom < 1e-9 || most < 1e-12 || most <= least;
        // where factors count as the floor, a tangent is off by less than that; a checker, who
        // draws tangents again that touch nowhere yet, draws none there
        if (!flat && (least >= FLOOR || touch <= 0.0)) {
            if (touch > 0.0) touch = std::log((most - least) / (top - bottom));
            touch = std::min(std::max(touch, bottom), top);
            slope = std::exp(touch);
            constant = slope * (1.0 - touch);
            room.touches[j] = touch;
        }
        const double weight = room.weight[j], from = std::max(most - E, 0.0);
        sums.base -= weight * (constant - E - from);
        sums.constants -= constant - E;
        sums.variance += variance(std::max(least - E, 0.0), from);
        room.slope[j] = -weight * slope;
    }
}

// The gain of every cell of the span, and the sum of the features' greatest.
[[gnu::always_inline]] inline double gains_of(const Tables& m, const Condition& asked,
                                              double* gains, MachineRoom& room) {
    const auto [mine, mine_end] = m.clauses_of(asked.side);
    double together = 0.0;
    std::ranges::fill(room.floor, -INF);
    for (std::size_t f = 0; f < m.d; ++f) {
        const i64 first = m.features[f].cell, end = first + asked.span[m.d + f];
        const double* own = m.logs_at(first + room.cheapest[f]);
        std::copy(own + mine, own + mine_end, room.floor.begin() + static_cast<i64>(mine));
        const double *floor = room.floor.data(), *slope = room.slope.data();
        double best = -INF;
        for (i64 c = first + asked.span[f]; c <= end; ++c) {
            gains[c] = -INF;
            if (asked.spend[c] < INF) {
                const double* logs = m.logs_at(c);
                gains[c] = sum_of<double>(
                    m.C, [=](std::size_t j) { return std::max(logs[j], floor[j]) * slope[j]; });
            }
            best = std::max(best, gains[c]);
        }
        together += best;
    }
    return together;
}

// What the gains must sum to, and last of them what points can reach.
//
// One cell of a feature serves all clauses, which an interval does not ask for: S_j is additive and
// q_j + E_j = exp(S_j) convex in it, so a secant bounds the clauses for the side from above and a
// tangent the others from below. Weights turn clauses into the number. For a clause of the side a
// cell counts as no worse than the cheapest one, so its secant begins there; the others' tangents
// touch where the last point that `errors` was to keep lies.
TRUST_CLONES double relaxation_of(const Tables& m, const Condition& asked, double* gains,
                                  double& reach, MachineRoom& room) {
    ranges(m, asked, room);
    extremes(m, room);
    const double rounding = m.link == Link::linear ? m.rise[0] : ROUNDING;
    const Ends ends = numbers(m, room);
    clause_weights(m, room);
    Sums sums{asked.side < 0 ? 1.0 - ends.high : ends.low, 0.0, 0.0};
    double most_there = asked.side < 0 ? 1.0 - ends.low : ends.high;
    cheapest_cells(m, asked, room);
    secants(m, asked.side, sums, room);
    tangents(m, asked.side, sums, room);
    const double together = gains_of(m, asked, gains, room);
    most_there = std::min(most_there, sums.base + together);
    double needed = asked.level - sums.base - rounding;
    if (m.link == Link::steps) {
        // margin: 2T · g(v) <= (v + T)⁺ = y⁺ and E[y⁺] <= (E[y] + √(E[y]² + Var v)) / 2, which is
        // Scarf's bound
        const double steepest = m.rise[m.C - 1], two_t = 1.0 / steepest;
        const double y = sums.constants + together * two_t + 0.5 * two_t;
        most_there = std::min(most_there, 0.5 * steepest * (y + std::sqrt(y * y + sums.variance)));
        if (asked.level > 0.0) {
            const double votes =
                two_t * asked.level - sums.variance / (4.0 * two_t * asked.level) - 0.5 * two_t;
            needed = std::max(needed, steepest * (votes - sums.constants) - ROUNDING);
        }
    }
    reach = most_there + rounding;
    return needed;
}

// error[j]: what the line of a clause misses at a point, shared by the range of its S_j.
[[gnu::always_inline]] inline void missed_by(const Tables& m, const i64* point, bool lasting,
                                             MachineRoom& room) {
    double* __restrict S = room.error.data();
    double* __restrict clipped = room.clipped.data();
    std::fill_n(S, m.C, 0.0);
    std::fill_n(clipped, m.C, 0.0);
    for (std::size_t f = 0; f < m.d; ++f) {
        const double* here = m.logs_at(m.features[f].cell + point[f]);
        const double* own = m.logs_at(m.features[f].cell + room.cheapest[f]);
        for (std::size_t j = 0; j < m.C; ++j) {
            S[j] += here[j];
            clipped[j] += std::max(here[j], own[j]);
        }
    }
    for (std::size_t j = 0; j < m.C; ++j) {
        const double top = room.high[j], bottom = -room.low[j], slope = room.slope[j], at = S[j];
        double missed = 0.0;
        if (top - bottom > 1e-9) {
            double rate, line;
            if (slope > 0.0) {
                rate = (std::exp(top) - std::exp(bottom)) / (top - bottom) + 1e-300;
                line = std::exp(top) - rate * (top - clipped[j]);
            } else {
                rate = std::exp(room.touches[j]);
                line = rate * (1.0 + at - room.touches[j]);
            }
            missed = std::abs(slope) / rate * std::abs(line - std::exp(at)) / (top - bottom);
        }
        if (lasting) room.touched[j] = at;
        S[j] = missed;
    }
}

TRUST_CLONES void errors_of(const Tables& m, Span span, const i64* point, double* out, bool lasting,
                            MachineRoom& room) {
    missed_by(m, point, lasting, room);
    const double *error = room.error.data(), *slope = room.slope.data();
    for (std::size_t f = 0; f < m.d; ++f) {
        out[f] = 0.0;
        if (span[m.d + f] <= span[f]) continue;
        const auto [least_a, least_b] = m.runs(m.least_log, span, f);
        const auto [most_a, most_b] = m.runs(m.most_log, span, f);
        const double* here = m.logs_at(m.features[f].cell + point[f]);
        const double* own = m.logs_at(m.features[f].cell + room.cheapest[f]);
        // how far the feature's range moves a clause that errs; one for the side from its own cell
        out[f] = sum_of<double>(m.C, [=](std::size_t j) {
            const double top = std::max(most_a[j], most_b[j]);
            const double bottom = std::min(least_a[j], least_b[j]);
            const double its = std::min(here[j], own[j]);
            return error[j] * (top - (slope[j] > 0.0 ? its : bottom));
        });
    }
}

}  // namespace

MachineRoom::MachineRoom(const MachineTables& tables) {
    const std::size_t C = tables.C;
    for (std::vector<double>* each :
         {&least, &most, &down, &up, &weight, &slope, &high, &low, &floor, &sign, &one, &two,
          &all_one, &all_two, &error, &clipped, &rate, &touched, &touches})
        each->assign(C, 1.0);
    for (std::vector<double>* law : {&law_down, &law_up, &law_room}) law->assign(C + 1, 0.0);
    cheapest.assign(tables.d, 0);
}

void Machine::interval(Span span, double* out, const double* /*memory*/) {
    interval_of(*tables_, span, out, room_);
}

double Machine::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                           double budget, double* gains, double* /*memory*/) {
    const Condition asked{span, side, level, spend.data(), budget};
    return relaxation_of(*tables_, asked, gains, gains[spend.size()], room_);
}

void Machine::errors(Span span, const i64* point, std::span<double> out, bool lasting) {
    errors_of(*tables_, span, point, out.data(), lasting, room_);
}

}  // namespace trust::tsetlin
