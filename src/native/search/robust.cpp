// The condition that asks around a point.
//
// Around candidate c of a feature lie the cells lows[c] .. highs[c]. The number must lie within the
// floor, an interval, at every cell around. A cell that misses it is a loss. It is kept with the
// box that it was found for, to be tried first on its parts.
#include <cstdlib>

#include "search/search.hpp"

namespace trust {

static i64 clamped(i64 cell, i64 low, i64 high) { return std::min(std::max(cell, low), high); }

static i64 floor_divided(i64 a, i64 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// The cells nearest to the last known loss that lie around a box's candidates. Where a common cell
// lies around all candidates of a feature, it is one cell.
void Search::span_towards(i32 slot, std::span<i64> span) {
    const Box here = box(slot);
    const i32* loss = boxes_.loss(slot);
    const auto &lows = around_->lows, &highs = around_->highs;
    for (i64 f = 0; f < d(); ++f) {
        const i64 a = candidates_.at(f, here.first[f]), b = candidates_.at(f, here.last[f]);
        if (lows[b] <= highs[a]) {
            span[f] = span[d() + f] = clamped(loss[f], lows[b], highs[a]);
        } else {
            span[f] = clamped(loss[f], lows[a], highs[a]);
            span[d() + f] = clamped(loss[f], lows[b], highs[b]);
        }
    }
}

// How far the number on the span is within the floor at most: negative where it misses the floor.
double Search::above_floor(i32 slot) {
    bounded(slot, conditions_.back());
    return beyond_floor(conditions_.back(), out_.data());
}

// Whether a quick look finds a cell around a point of a box that misses the floor. The nearest to
// one known from elsewhere is tried; then, feature by feature, the worse end is taken. The cell is
// left in the span.
bool Search::loss_near(i32 slot, const i32* known, Point point) {
    const auto &lows = around_->lows, &highs = around_->highs;
    for (i64 f = 0; f < d(); ++f) {
        const i64 c = candidates_.at(f, point[f]);
        span_[f] = span_[d() + f] = clamped(known[f], lows[c], highs[c]);
    }
    double least = above_floor(slot);
    for (i64 f = 0; f < d() && !(least < 0.0); ++f) {
        const i64 c = candidates_.at(f, point[f]);
        i64 kept = span_[f];
        for (const i64 cell : {lows[c], highs[c]}) {
            span_[f] = span_[d() + f] = cell;
            const double here = above_floor(slot);
            if (here < least) {
                least = here;
                kept = cell;
            }
        }
        span_[f] = span_[d() + f] = kept;
    }
    return least < 0.0;
}

// Moves a loss in the span towards `goal_` in some features together, as far as it stays one.
void Search::move_loss(i32 slot, i64 first, i64 last) {
    i64 whole = 1;
    for (i64 f = first; f < last; ++f) {
        start_[f] = span_[f];
        whole = std::max(whole, i64(std::abs(goal_[f] - start_[f])));
    }
    i64 low = 0, high = whole + 1, part = whole;
    while (high > low) {  // the last round goes back to what is known to be a loss
        for (i64 f = first; f < last; ++f)
            span_[f] = span_[d() + f] =
                start_[f] + floor_divided((goal_[f] - start_[f]) * part, whole);
        if (high - low == 1) break;
        if (above_floor(slot) < 0.0)
            low = part;
        else
            high = part;
        part = (low + high) >> 1;
    }
}

// Remembers the loss in the span, moved to where it costs most to get out of its reach. At the end
// of a range that is as far as it goes into the range, else at the corner itself.
void Search::keep_loss(i32 slot, Point corner) {
    const Box here = box(slot);
    for (i64 f = 0; f < d(); ++f) {
        const i64 c = candidates_.at(f, corner[f]);
        goal_[f] = conditions_.back().cells[c];
        if (corner[f] == here.first[f])
            goal_[f] = around_->highs[c];
        else if (corner[f] == here.last[f])
            goal_[f] = around_->lows[c];
    }
    move_loss(slot, 0, d());
    for (i64 f = 0; f < d(); ++f) move_loss(slot, f, f + 1);
    for (i64 f = 0; f < d(); ++f) boxes_.loss(slot)[f] = i32(span_[f]);
    boxes_[slot].lost = true;
}

// The cut by which it costs most to get out of reach of the corner's loss; none if no candidates of
// the box are.
Cut Search::cut_away(i32 slot, Point corner) {
    const Box here = box(slot);
    const auto &lows = around_->lows, &highs = around_->highs;
    Cut found{-1, -1};
    double most = -1.0;
    for (i64 f = 0; f < d(); ++f) {
        const i32 a = here.first[f], b = here.last[f];
        const i64 loss = boxes_.loss(slot)[f];
        i32 first = corner[f], last = corner[f];
        while (first > a && highs[candidates_.at(f, first - 1)] >= loss) --first;
        while (last < b && lows[candidates_.at(f, last + 1)] <= loss) ++last;
        for (int end = 0; end < 2; ++end) {
            if (end == 0 ? first == a : last == b) continue;
            const i32 out = end == 0 ? candidates_.cheapest(f, a, first - 1)
                                     : candidates_.cheapest(f, last + 1, b);
            const double more = candidates_.cost(f, out) - candidates_.cost(f, corner[f]);
            if (more > most) {
                found = {f, end == 0 ? first - 1 : last};
                most = more;
            }
        }
    }
    return found;
}

// For each candidate its cell nearest to a loss around what the target's multiplier buys.
void Search::shift(i32 slot) {
    Condition& target = conditions_.front();
    bought(slot, {target, candidates_.costs.data(), target.cells.data()}, target.multiplier,
           point_);
    loss_near(slot, boxes_.worst(slot), point_);
    const Box here = box(slot);
    i32* worst = boxes_.worst(slot);
    for (i64 f = 0; f < d(); ++f) {
        worst[f] = i32(span_[f]);
        for (i64 c = candidates_.at(f, here.first[f]); c <= candidates_.at(f, here.last[f]); ++c)
            shifted_[c] = clamped(worst[f], around_->lows[c], around_->highs[c]);
    }
}

}  // namespace trust
