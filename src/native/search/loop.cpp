// The loop of branch and bound.
#include "search/search.hpp"

namespace trust {

void Search::begin(const Question& question) {
    Condition& target = conditions_.front();
    target.low = question.low;
    target.high = question.high;
    target.side = question.side;
    for (Condition& each : conditions_) each.multiplier = 0.1;
    cutoff = INF;
    reached = -1.0;
    heuristic_from = question.heuristic_from;
    most_ = question.most;
    bound_ = enough_ = needed_ = 0.0;
    nodes_ = 0;
    held_ = NOBODY;
    tree_.restart(question.prove, memory_);

    const i32 root = boxes_.restart();
    for (i64 f = 0; f < d(); ++f)
        box(root).last[f] = i32(candidates_.offset[f + 1] - candidates_.offset[f] - 1);
    for (const Condition& each : conditions_)
        std::copy(each.memory.begin(), each.memory.end(), memory_of(root, each));
    if (around_) {
        std::copy(around_->own.begin(), around_->own.end(), boxes_.loss(root));
        std::copy(around_->own.begin(), around_->own.end(), boxes_.worst(root));
    }
    span_of(root, target, span_);
    bounded(root, target);
    i64 loosest = 0;
    double most_loose = -1.0;
    for (i64 f = 0; f < d(); ++f)
        if (box(root).width(f) > 0 && out_[2 + f] > most_loose) {
            loosest = f;
            most_loose = out_[2 + f];
        }
    boxes_[root].key = question.key;
    boxes_[root].split = i32(loosest);
    boxes_.push(root);
}

double Search::bound() const {
    double least = INF;
    if (held_ != NOBODY)
        least = boxes_[held_].key;
    else if (boxes_.waiting() > 0)
        least = boxes_[boxes_.next()].key;
    return std::min(least, cutoff);
}

// Whether every condition on the point itself may be met at a point of a box.
bool Search::may_meet(i32 slot, Point point) {
    for (Condition& each : conditions_) {
        if (is_around(each)) continue;
        span_of_point(point, each);
        bounded(slot, each);
        if (out_[1] < each.low || out_[0] > each.high) return false;
    }
    return true;
}

// Judges the corner of a box: `found` or `better` if it may be an answer.
std::optional<Said> Search::tried(i32 slot) {
    boxes_[slot].failed = true;
    if (!following_.settle(candidates_, box(slot), corner_) || relations_.broken(corner_) >= 0)
        return {};
    if (most_) {
        Condition& target = conditions_.front();
        span_of_point(corner_, target);
        bounded(slot, target);
        // the model's own number, which alone counts within rounding, may be greater
        if ((target.side > 0 ? out_[1] : 1.0 - out_[0]) <= reached) return {};
        boxes_.push(slot);
        return Said::better;
    }
    const bool may = may_meet(slot, corner_);
    if (around_ && loss_near(slot, boxes_.loss(slot), corner_)) {
        keep_loss(slot, corner_);
    } else if (may) {
        held_ = slot;
        return Said::found;
    }
    return {};
}

// Takes boxes off the heap up to one that is to be cut, or to a reason to pause.
Search::Opened Search::opened(i64 stop_at) {
    for (;;) {
        if (boxes_.waiting() == 0) return {Said::done, NOBODY};
        if (nodes_ >= stop_at) return {Said::paused, NOBODY};
        if (boxes_.many() >= most_boxes_) return {Said::full, NOBODY};
        const i32 slot = boxes_.pop();
        Waiting& waiting = boxes_[slot];
        const bool prove = tree_.kept();
        // in a proof nothing is left to show of a box at the bound
        const bool costs = prove ? waiting.key >= cutoff : waiting.key > cutoff;
        if (costs || (most_ && -waiting.key <= reached)) {
            if (prove) {
                tree_.leaf(waiting.node, Reason::cost);
                boxes_.release(slot);
                continue;
            }
            boxes_.push(slot);
            return {Said::done, NOBODY};
        }
        if (!waiting.relaxed) {
            const double was = waiting.key;
            const Again said = bounded_again(slot);
            if (said == Again::discarded) {
                boxes_.release(slot);
                continue;
            }
            const Waiting& now = boxes_[slot];  // boxes that were trimmed off may have moved it
            // what is left of a box after trimming may cost too much, which is then all its proof
            const bool again = !now.relaxed || (prove && now.key >= cutoff);
            if (said == Again::better || again || (now.key > was && boxes_.waiting() > 0)) {
                boxes_.push(slot);
                if (said == Again::better) return {Said::better, NOBODY};
                continue;
            }
        }
        ++nodes_;
        corner_of(slot, corner_);
        if (boxes_[slot].failed) return {{}, slot};
        return {tried(slot), slot};
    }
}

// Where to cut a box, or why it is a leaf. A box whose corner was refused goes on without it.
Search::Choice Search::where_to_cut(i32 slot, bool refused) {
    Waiting& waiting = boxes_[slot];
    const Box here = box(slot);
    // the model's number decides first; how to get to a point is asked where the number is known
    if (!refused && waiting.sure) {
        const Cut cut = following_.cut_towards(candidates_, here, corner_);
        if (cut.feature >= 0) return {{}, cut};
    }
    const i64 broken = refused ? -1 : relations_.broken(corner_);
    if (broken >= 0) {
        const Cut cut = relations_.repair(candidates_, here, corner_, broken);
        if (cut.feature >= 0) return {{}, cut};
    }
    i64 f = refused ? widest(slot) : waiting.split;
    i32 out = -1;
    if (waiting.lost && (waiting.where < 0 || nodes_ % 2 == 0)) {
        // this cut and that of the multiplier are each far better at times, so they take turns
        const Cut cut = cut_away(slot, corner_);
        if (cut.feature < 0) return {Reason::floor, {}};
        f = cut.feature;
        out = cut.after;
    }
    if (here.width(f) == 0) {  // what was to be cut has been trimmed away
        f = widest(slot);
        waiting.where = -1;
    }
    if (here.width(f) == 0) return {Reason::point, {}};
    const i32 a = here.first[f], b = here.last[f], at = corner_[f], goal = waiting.where;
    i32 after = a < at ? at - 1 : (a + b) >> 1;
    if (out >= 0)
        after = out;
    else if (refused || goal == at)
        after = a < at ? at - 1 : at;
    else if (goal >= 0)
        after = goal > at ? (at + goal) >> 1 : (at + goal - 1) >> 1;
    return {{}, {f, std::min(std::max(after, a), b - 1)}};
}

// Cuts a box in two; returns the part with the corner, if that was refused.
i32 Search::split(i32 slot, Cut cut, bool refused) {
    const i64 f = cut.feature;
    const i32 a = box(slot).first[f], b = box(slot).last[f];
    const i32 left = tree_.cut(boxes_[slot].node, f, cut.after);
    i32 made[2], rest = NOBODY;
    std::size_t many = 0;
    for (int part = 0; part < 2; ++part) {
        const i32 first = part == 0 ? a : cut.after + 1, last = part == 0 ? cut.after : b;
        const i32 slot_of = child(slot, f, first, last, left + part);
        const bool has_corner = first <= corner_[f] && corner_[f] <= last;
        if (has_corner) {
            boxes_[slot_of].failed = true;
            boxes_[slot_of].lost = boxes_[slot].lost;
        }
        if (has_corner && refused)
            rest = slot_of;
        else
            made[many++] = slot_of;
    }
    admit({made, many});
    return rest;
}

Said Search::run(i64 boxes) {
    const i64 stop_at = nodes_ + std::min(boxes, std::numeric_limits<i64>::max() - nodes_);
    i32 slot = held_;
    for (;;) {
        const bool refused = slot != NOBODY;
        if (refused) {
            corner_of(slot, corner_);
        } else {
            const Opened next = opened(stop_at);
            if (next.said) return *next.said;
            slot = next.slot;
        }
        const Choice choice = where_to_cut(slot, refused);
        i32 rest = NOBODY;
        if (choice.leaf)
            tree_.leaf(boxes_[slot].node, *choice.leaf);
        else
            rest = split(slot, choice.cut, refused);
        boxes_.release(slot);
        slot = held_ = rest;
    }
}

}  // namespace trust
