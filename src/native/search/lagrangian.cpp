// The second bound of a box: by multipliers, when its turn comes.
//
// A kernel's relaxation gives each cell a gain such that a point meets a level only if its gains
// add up to what is needed. A multiplier for gain then bounds the cost from below, by
//
//     multiplier * needed + sum over f of min (cost - multiplier * gain),
//
// and the candidates with those minima are bought at it. Several conditions are bounded one after
// the other, each on the costs that the multipliers of those before it leave.
#include <cmath>

#include "search/search.hpp"

namespace trust {

static constexpr int STEPS = 12;      // of the search for the best multiplier, at most
static constexpr i64 SELDOM = 8;      // boxes per heuristic, once some point is known
static constexpr double AGAIN = 0.1;  // a box that loses more of its candidates is bounded again

// ---------------------------------------------------------------- the bound

// How far a condition's number must go, on the scale of its side.
double Search::level(const Condition& condition) const {
    return condition.side > 0 ? condition.low : 1.0 - condition.high;
}

// What the cheapest candidate of each cell costs more than the corner; infinite beyond the budget.
void Search::spending(i32 slot, const Priced& priced, double budget) {
    const Box here = box(slot);
    for (i64 f = 0; f < d(); ++f) {
        double* spend = spend_.data() + priced.condition.first_cell[f];
        const i64 a = candidates_.at(f, here.first[f]), b = candidates_.at(f, here.last[f]);
        for (i64 cell = priced.cells[a]; cell <= priced.cells[b]; ++cell) spend[cell] = INF;
        for (i64 c = a; c <= b; ++c) {
            double& least = spend[priced.cells[c]];
            const double more = candidates_.costs[c] - candidates_.cost(f, corner_[f]);
            if (more <= budget && more < least) least = more;
        }
    }
}

// The greatest sum of gains in a box, and the candidates that have it.
double Search::most_gain(i32 slot, const Priced& priced, Point point) {
    const Box here = box(slot);
    double total = 0.0;
    for (i64 f = 0; f < d(); ++f) {
        const double* gains = gains_.data() + priced.condition.first_cell[f];
        const i64* cells = priced.cells + candidates_.offset[f];
        double most = -INF;
        for (i32 c = here.first[f]; c <= here.last[f]; ++c)
            if (gains[cells[c]] > most) {
                most = gains[cells[c]];
                point[f] = c;
            }
        total += most;
    }
    return total;
}

Search::Relaxed Search::relaxed(i32 slot, const Priced& priced) {
    Condition& condition = priced.condition;
    const double total = corner_of(slot, corner_);
    const double budget = most_ ? INF : cutoff - total;
    spending(slot, priced, budget);
    const Box here = box(slot);
    for (i64 f = 0; f < d(); ++f) {
        span_[f] = priced.cells[candidates_.at(f, here.first[f])];
        span_[d() + f] = priced.cells[candidates_.at(f, here.last[f])];
    }
    const std::size_t cells = condition.many_cells;
    double needed = condition.kernel->relaxation(span_, condition.side, level(condition),
                                                 std::span(spend_).first(cells), budget,
                                                 gains_.data(), memory_of(slot, condition));
    if (std::isnan(needed)) needed = -INF;
    const double reachable = gains_[cells];
    const double most = most_gain(slot, priced, corner_);
    const bool too_little = most < needed - SAFE * (1.0 + std::abs(needed) + std::abs(most));
    return {needed, most, !(reachable < level(condition) || too_little)};
}

// The candidates with least cost - multiplier * gain, the sum of that, and their gain.
Search::Bought Search::bought(i32 slot, const Priced& priced, double multiplier, Point point) {
    const Box here = box(slot);
    Bought all{0.0, 0.0};
    for (i64 f = 0; f < d(); ++f) {
        const double* gains = gains_.data() + priced.condition.first_cell[f];
        const double* costs = priced.costs + candidates_.offset[f];
        const i64* cells = priced.cells + candidates_.offset[f];
        double best = INF, its = 0.0;
        for (i32 c = here.first[f]; c <= here.last[f]; ++c) {
            const double gain = gains[cells[c]], value = costs[c] - multiplier * gain;
            if (value < best) {
                best = value;
                its = gain;
                point[f] = c;
            }
        }
        all.total += best;
        all.gain += its;
    }
    return all;
}

// The multiplier with the best bound, which is left in `bound_`. The bound is concave in it: two
// multipliers with slopes of opposite sign bracket its top; the next is where their tangents meet.
double Search::best_multiplier(i32 slot, const Priced& priced, double needed) {
    double& kept = priced.condition.multiplier;
    double at = kept;
    double low_at = 0.0, low_slope = 0.0, low_value = -INF;
    double high_at = INF, high_slope = 0.0, high_value = 0.0;
    double best = -INF, its = at;
    enough_ = INF;
    for (int step = 0; step < STEPS; ++step) {
        const auto [total, gain] = bought(slot, priced, at, point_);
        const double value = at * needed + total, slope = needed - gain;
        if (value > best) {
            best = value;
            its = at;
        }
        if (slope > 0.0) {
            low_at = at;
            low_slope = slope;
            low_value = value;
        } else {
            enough_ = at;
            high_at = at;
            high_slope = slope;
            high_value = value;
            if (slope == 0.0) break;
        }
        if (high_at == INF) {
            at = at * 4.0 + 1e-9;
        } else if (low_value == -INF) {
            at = at * 0.25;
            if (at < 1e-12) break;
        } else {
            const double rise = high_value - low_value + low_slope * low_at - high_slope * high_at;
            const double next = rise / (low_slope - high_slope);
            const double meeting = low_value + low_slope * (next - low_at);
            const bool inside = low_at < next && next < high_at;
            if (!inside || meeting <= best * (1.0 + 1e-6) + 1e-12) break;
            at = next;
        }
    }
    kept = std::min(std::max(its, 1e-9), 1e9);
    bound_ = best - SAFE * (1.0 + std::abs(best) + its * std::abs(needed));
    return its;
}

// ---------------------------------------------------------------- trimming

// How many candidates at one end of a feature no better answer can use (reduced-cost fixing). Such
// a candidate leaves the others too little gain, or costs too much at the multiplier: `room` is
// what the cheapest at it leaves until the cutoff.
i32 Search::fixed(i32 slot, const Priced& priced, i64 f, int end, double needed, double most,
                  double multiplier, double room) {
    const Box here = box(slot);
    const i32 a = here.first[f], b = here.last[f];
    const double* gains = gains_.data() + priced.condition.first_cell[f];
    const double* costs = priced.costs + candidates_.offset[f];
    const i64* cells = priced.cells + candidates_.offset[f];
    double least = INF, top = -INF;
    for (i32 c = a; c <= b; ++c) {
        const double gain = gains[cells[c]];
        least = std::min(least, costs[c] - multiplier * gain);
        top = std::max(top, gain);
    }
    i32 taken = 0;
    while (taken < b - a) {
        const i32 c = end == 0 ? a + taken : b - taken;
        const double gain = gains[cells[c]];
        if (most - top + gain >= needed && costs[c] - multiplier * gain <= room + least) break;
        ++taken;
    }
    return taken;
}

// Whether all of a range of a feature's candidates cost too much at the multiplier.
bool Search::costs_more(i32 slot, const Priced& priced, i64 f, i32 first, i32 last,
                        double multiplier, double room) {
    const Box here = box(slot);
    const double* gains = gains_.data() + priced.condition.first_cell[f];
    const double* costs = priced.costs + candidates_.offset[f];
    const i64* cells = priced.cells + candidates_.offset[f];
    const auto reduced = [&](i32 c) { return costs[c] - multiplier * gains[cells[c]]; };
    double least = INF;
    for (i32 c = here.first[f]; c <= here.last[f]; ++c) least = std::min(least, reduced(c));
    for (i32 c = first; c <= last; ++c)
        if (!(reduced(c) > room + least)) return false;
    return true;
}

// Takes candidates off the ends of a box that no better answer can use; how many. In a proof each
// part that is taken off is a box of its own. The multiplier discards it, or else it is to be
// discarded for reasons of its own.
i64 Search::trim(i32 slot, const Priced& priced, double needed, double most, double multiplier) {
    const double room = cutoff - bound_;
    needed = needed - SAFE * (1.0 + std::abs(needed) + std::abs(most));
    i64 total = 0, row = Tree::NONE;
    for (i64 f = 0; f < d(); ++f)
        for (int end = 0; end < 2; ++end) {
            const i32 taken = fixed(slot, priced, f, end, needed, most, multiplier, room);
            if (taken == 0) continue;
            total += taken;
            const i32 a = box(slot).first[f], b = box(slot).last[f];
            const i32 after = end == 0 ? a + taken - 1 : b - taken;
            if (tree_.kept()) {
                const i32 left = tree_.cut(boxes_[slot].node, f, after);
                const i32 first = end == 0 ? a : after + 1, last = end == 0 ? after : b;
                const i32 node = end == 0 ? left : left + 1;
                boxes_[slot].node = end == 0 ? left + 1 : left;
                tree_.leaf(boxes_[slot].node, Reason::open);
                // a kernel that remembers made its condition of the whole box with what it kept
                if (memory_ > 0 && costs_more(slot, priced, f, first, last, multiplier, room)) {
                    row = tree_.priced_leaf(node, multiplier, boxes_.memory(slot), row);
                } else {
                    const i32 off = child(slot, f, first, last, node);
                    boxes_[off].key = 0.0;
                    boxes_[off].off = true;
                    admit(std::span(&off, 1));
                }
            }
            if (end == 0)
                box(slot).first[f] = after + 1;
            else
                box(slot).last[f] = after;
        }
    return total;
}

// ---------------------------------------------------------------- all of it

// Cuts a box, whose bound is that of a multiplier, where the relaxation errs most.
void Search::aim(i32 slot, const Priced& priced, double multiplier) {
    bought(slot, priced, multiplier, point_);
    const Box here = box(slot);
    for (i64 f = 0; f < d(); ++f) {
        const i64* cells = priced.cells + candidates_.offset[f];
        span_[f] = cells[here.first[f]];
        span_[d() + f] = cells[here.last[f]];
        cells_[f] = cells[point_[f]];
    }
    const std::span<double> shares = std::span(out_).first(d());
    priced.condition.kernel->errors(span_, cells_.data(), shares, !tree_.kept());
    double worst = 0.0;
    for (i64 f = 0; f < d(); ++f)
        if (here.width(f) > 0 && shares[f] > worst) {
            worst = shares[f];
            boxes_[slot].split = i32(f);
            boxes_[slot].where = point_[f];
        }
}

// Bounds a box by the best multiplier of a condition, and trims it; false if it is discarded. Other
// conditions are paid for already.
bool Search::bounded_by(i32 slot, const Priced& priced, double paid) {
    const auto [needed, most, enough] = relaxed(slot, priced);
    if (!enough) {
        tree_.priced_leaf(boxes_[slot].node, INF, boxes_.memory(slot));
        return false;
    }
    const double at = best_multiplier(slot, priced, needed);
    needed_ = needed;
    bound_ += paid - SAFE * std::abs(paid);
    if (!(bound_ <= cutoff)) {  // nor if there is no bound: all is beyond the budget
        tree_.priced_leaf(boxes_[slot].node, at, boxes_.memory(slot));
        return false;
    }
    boxes_[slot].key = std::max(boxes_[slot].key, bound_);
    if (bound_ >= boxes_[slot].key) aim(slot, priced, at);
    const i64 taken = boxes_[slot].off ? 0 : trim(slot, priced, needed, most, at);
    if (taken > 0) {  // another corner, not yet tried
        Waiting& waiting = boxes_[slot];
        waiting.key = std::max(waiting.key, corner_of(slot, corner_));
        waiting.failed = waiting.lost = false;
        i64 wide = 0;
        for (i64 f = 0; f < d(); ++f) wide += box(slot).width(f);
        if (double(taken) > AGAIN * double(wide)) waiting.relaxed = false;
    }
    return true;
}

// What is left to pay for each candidate of a box after a condition's multiplier.
void Search::reduce(i32 slot, const Priced& priced) {
    const Box here = box(slot);
    const double at = priced.condition.multiplier;
    for (i64 f = 0; f < d(); ++f) {
        const double* gains = gains_.data() + priced.condition.first_cell[f];
        for (i64 c = candidates_.at(f, here.first[f]); c <= candidates_.at(f, here.last[f]); ++c)
            reduced_[c] = priced.costs[c] - at * gains[priced.cells[c]];
    }
}

// After the first condition's bound, one by its multiplier and those of the others.
Search::Again Search::bounded_by_more(i32 slot, bool heuristics) {
    double paid = 0.0;
    const double* costs = candidates_.costs.data();
    const i64* cells = conditions_.front().cells.data();
    for (std::size_t k = 1; k < conditions_.size(); ++k) {
        Condition &before = conditions_[k - 1], &now = conditions_[k];
        paid += before.multiplier * needed_;
        if (is_around(now)) shift(slot);
        reduce(slot, {before, costs, cells});
        costs = reduced_.data();
        cells = is_around(now) ? shifted_.data() : now.cells.data();
        const Priced priced{now, costs, cells};
        if (!bounded_by(slot, priced, paid)) return Again::discarded;
        if (heuristics && enough_ < INF && heuristic(slot, priced, now.multiplier))
            return Again::better;
        if (boxes_[slot].key > cutoff) return Again::stays;
    }
    return Again::stays;
}

// The same where the greatest number is asked for: by the most that the relaxation allows.
Search::Again Search::bounded_for_most(i32 slot) {
    Condition& target = conditions_.front();
    const Priced priced{target, candidates_.costs.data(), target.cells.data()};
    if (!relaxed(slot, priced).enough) return Again::discarded;
    boxes_[slot].key = std::max(boxes_[slot].key, -gains_[target.many_cells]);
    // the point of greatest gains is a better guess than the cheapest one
    if (!following_.settle(candidates_, box(slot), corner_)) return Again::stays;
    span_of_point(corner_, target);
    bounded(slot, target);
    const double here = target.side > 0 ? out_[0] : 1.0 - out_[1];
    return here > reached ? Again::better : Again::stays;
}

Search::Again Search::bounded_again(i32 slot) {
    boxes_[slot].relaxed = true;
    if (most_) return bounded_for_most(slot);
    Condition& target = conditions_.front();
    const Priced priced{target, candidates_.costs.data(), target.cells.data()};
    if (!bounded_by(slot, priced, 0.0)) return Again::discarded;
    const bool known = cutoff < INF && nodes_ % SELDOM != 0;
    const bool heuristics = nodes_ >= heuristic_from && !known;
    if (heuristics && enough_ < INF && heuristic(slot, priced, enough_)) return Again::better;
    if (conditions_.size() == 1 || boxes_[slot].key > cutoff) return Again::stays;
    return bounded_by_more(slot, heuristics);
}

}  // namespace trust
