// The first bound of a box: when it is made, by the numbers over it and the cost of its corner.
#include "search/search.hpp"

namespace trust {

// Whether derived columns and relations leave something of a new box; they narrow it.
bool Search::prepared(i32 slot) {
    const Following::Narrowed narrowed = following_.narrow(candidates_, box(slot));
    Waiting& waiting = boxes_[slot];
    if (narrowed == Following::Narrowed::inputs)  // another corner, not yet tried
        waiting.failed = waiting.lost = false;
    if (narrowed == Following::Narrowed::empty || !relations_.may_hold(box(slot))) {
        waiting.split = 0;
        return false;
    }
    if (!waiting.off) tightened(slot);
    return true;
}

// What bounds on the first condition's number say of a box: its key, and where to cut it.
void Search::note_first(i32 slot, const double* out) {
    const Condition& first = conditions_.front();
    Waiting& waiting = boxes_[slot];
    const Box here = box(slot);
    i64 loosest = 0;
    double most_loose = -1.0;
    for (i64 f = 0; f < d(); ++f)
        if (here.width(f) > 0 && out[2 + f] > most_loose) {
            loosest = f;
            most_loose = out[2 + f];
        }
    waiting.split = i32(loosest);
    waiting.sure = (out[0] >= first.low && out[1] <= first.high) || most_loose <= 0.0;
    if (most_) {
        const double most = first.side > 0 ? out[1] : 1.0 - out[0];
        if (-most > waiting.key) waiting.key = -most;
    } else {
        waiting.key = std::max(waiting.key, corner_of(slot, point_));
    }
}

// Why new boxes are discarded, or `open`. Each condition judges all of them before the next one.
void Search::judge(std::span<const i32> slots, std::span<Reason> said) {
    for (std::size_t i = 0; i < slots.size(); ++i)
        said[i] = prepared(slots[i]) ? Reason::open : Reason::relation;
    const std::size_t rows = 2 + d();
    for (Condition& condition : conditions_) {
        const bool around = is_around(condition);
        std::size_t asked[2], many = 0;
        const double* memories[2];
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (said[i] != Reason::open) continue;
            const std::span<i64> span = std::span(spans_).subspan(2 * d() * many, 2 * d());
            if (around) {
                span_towards(slots[i], span);
            } else {
                span_of(slots[i], condition, span);
                if (!condition.memory.empty())
                    condition.kernel->narrow(span, memory_of(slots[i], condition));
            }
            outs_[rows * many] = outs_[rows * many + 1] = NaN;
            memories[many] = memory_of(slots[i], condition);
            asked[many++] = i;
        }
        if (many == 0) return;
        condition.kernel->intervals(std::span(spans_).first(2 * d() * many), {memories, many},
                                    outs_.data());
        for (std::size_t j = 0; j < many; ++j) {
            const double* out = outs_.data() + rows * j;
            if (&condition == &conditions_.front()) note_first(slots[asked[j]], out);
            if (around ? beyond_floor(condition, out) < 0.0
                       : out[1] < condition.low || out[0] > condition.high)
                said[asked[j]] = around ? Reason::floor : Reason::confidence;
        }
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (said[i] == Reason::open && boxes_[slots[i]].key >= cutoff) said[i] = Reason::cost;
}

// Lets one or two new boxes wait for their turn, or discards them.
void Search::admit(std::span<const i32> slots) {
    Reason said[2];
    judge(slots, std::span(said).first(slots.size()));
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (said[i] == Reason::open) {
            boxes_.push(slots[i]);
        } else {
            tree_.leaf(boxes_[slots[i]].node, said[i]);
            boxes_.release(slots[i]);
        }
    }
}

}  // namespace trust
