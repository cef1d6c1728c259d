// Points that a multiplier buys: whether they meet the target, and cheaper ones near them.
#include "search/search.hpp"

namespace trust {

static constexpr double NEAR = 1.1;  // points that cost this much more than the best are polished
static constexpr double FURTHER = 1.5;  // from one multiplier to the next

// Whether every condition on the point itself, and every relation, surely holds there.
bool Search::meets(i32 slot, Point point) {
    if (!following_.settle(candidates_, box(slot), point) || relations_.broken(point) >= 0)
        return false;
    for (Condition& each : conditions_) {
        if (is_around(each)) continue;
        span_of_point(point, each);
        bounded(slot, each);
        if (!surely_met(each)) return false;
    }
    return true;
}

// Makes a point that meets the target cheaper, a feature at a time; returns its cost.
double Search::polish(i32 slot, Point point) {
    for (int turn = 0; turn < 2; ++turn)
        for (i64 f = 0; f < d(); ++f) {
            i32 c = i32(candidates_.valley[f]), now = point[f];
            if (c >= 0 && memory_ > 0)  // what is remembered is of the box alone
                c = candidates_.cheapest(f, box(slot).first[f], box(slot).last[f]);
            const i32 step = c < now ? 1 : -1;
            while (0 <= c && c != now) {
                point[f] = c;
                if (meets(slot, point))
                    now = c;
                else
                    c += step;
            }
            point[f] = now;
        }
    return candidates_.cost(point);
}

// Looks for a point that meets the target and is cheaper than the best so far: what is bought at a
// multiplier, then at higher ones.
bool Search::heuristic(i32 slot, const Priced& priced, double multiplier) {
    for (int turns = cutoff == INF ? 16 : 2; turns > 0; --turns) {
        bought(slot, priced, multiplier, corner_);
        if (meets(slot, corner_)) {
            const double cost = candidates_.cost(corner_);
            if (!around_) return cost <= NEAR * cutoff && polish(slot, corner_) < cutoff;
            // polished points lie on edges, where a neighbourhood misses the floor
            if (cost >= cutoff) return false;
            if (!loss_near(slot, boxes_.worst(slot), corner_)) return true;
        }
        multiplier *= FURTHER;
    }
    return false;
}

}  // namespace trust
