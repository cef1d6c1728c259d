// Boxes of a search: how one is made of another, and what lies in one.
#include <stdexcept>

#include "search/search.hpp"

namespace trust {

static i64 memory_in_all(const std::vector<Condition>& conditions) {
    i64 total = 0;
    for (const Condition& each : conditions) total += i64(each.memory.size());
    return total;
}

Search::Search(Candidates candidates, std::vector<Condition> conditions,
               std::optional<Around> around, Relations relations, Following following,
               i64 most_boxes)
    : candidates_(std::move(candidates)),
      conditions_(std::move(conditions)),
      around_(around ? std::make_unique<const Around>(std::move(*around)) : nullptr),
      relations_(std::move(relations)),
      following_(std::move(following)),
      most_boxes_(most_boxes),
      memory_(memory_in_all(conditions_)),
      boxes_(candidates_.features(), memory_, around_ != nullptr) {
    const std::size_t d = candidates_.features(), n = candidates_.many();
    if (conditions_.size() < (around_ ? 2 : 1))
        throw std::invalid_argument("a search needs a condition on the point itself");
    std::size_t cells = 0;
    i64 memory_at = 0;
    for (Condition& each : conditions_) {
        cells = std::max(cells, std::size_t(each.many_cells));
        each.memory_at = memory_at;
        memory_at += i64(each.memory.size());
    }
    span_.resize(2 * d);
    spans_.resize(4 * d);
    cells_.resize(d);
    out_.resize(2 + d);
    outs_.resize(2 * (2 + d));
    gains_.resize(cells + 1);
    spend_.assign(cells, INF);
    point_.resize(d);
    corner_.resize(d);
    reduced_.resize(n);
    if (around_) {
        start_.resize(d);
        goal_.resize(d);
        shifted_.resize(n);
    }
}

// The cheapest candidate of each feature, and what they cost together. Derived columns, which cost
// nothing, follow from the others where they can.
double Search::corner_of(i32 slot, Point corner) {
    const Box here = box(slot);
    double total = 0.0;
    for (i64 f = 0; f < d(); ++f) {
        corner[f] = candidates_.cheapest(f, here.first[f], here.last[f]);
        total += candidates_.cost(f, corner[f]);
    }
    following_.settle(candidates_, here, corner);
    return total;
}

// The feature with most candidates.
i64 Search::widest(i32 slot) {
    const Box here = box(slot);
    i64 best = 0;
    for (i64 f = 1; f < d(); ++f)
        if (here.width(f) > here.width(best)) best = f;
    return best;
}

double* Search::memory_of(i32 slot, const Condition& condition) {
    return boxes_.memory(slot).data() + condition.memory_at;
}

void Search::span_of(i32 slot, const Condition& condition, std::span<i64> span) {
    const Box here = box(slot);
    for (i64 f = 0; f < d(); ++f) {
        const i64* cells = condition.cells.data() + candidates_.offset[f];
        span[f] = cells[here.first[f]];
        span[d() + f] = cells[here.last[f]];
    }
}

void Search::span_of_point(Point point, const Condition& condition) {
    for (i64 f = 0; f < d(); ++f)
        span_[f] = span_[d() + f] = condition.cells[candidates_.at(f, point[f])];
}

// Bounds on a condition's number over the span, left in `out_`; a kernel may leave them unknown.
void Search::bounded(i32 slot, Condition& condition) {
    out_[0] = out_[1] = NaN;
    condition.kernel->interval(span_, out_.data(), memory_of(slot, condition));
}

bool Search::surely_met(const Condition& condition) const {
    return out_[0] >= condition.low && out_[1] <= condition.high;
}

// A box that is a part of another, by a range of one feature.
i32 Search::child(i32 slot, i64 f, i32 first, i32 last, i32 node) {
    const i32 made = boxes_.copy(slot);
    box(made).first[f] = first;
    box(made).last[f] = last;
    Waiting& here = boxes_[made];
    here.node = node;
    here.where = -1;
    here.relaxed = here.failed = here.lost = here.sure = false;
    tree_.leaf(node, Reason::open);
    return made;
}

// Removes the candidates at one end of a feature that break a relation; whether there are any.
bool Search::tighten(i32 slot, Relations::Part relation, i64 f, bool upper) {
    const OpenBox here = box(slot);
    const i32 before = here.width(f);
    const i32 corner = candidates_.cheapest(f, here.first[f], here.last[f]);
    i32 low = here.first[f], high = here.last[f];
    while (low < high && relations_.broken_with(here, relation, f, upper ? high : low))
        upper ? --high : ++low;
    if (high - low == before) return false;
    Waiting& waiting = boxes_[slot];
    if (corner < low || corner > high) waiting.failed = waiting.lost = false;  // not yet tried
    if (tree_.kept()) {
        const i32 left = tree_.cut(waiting.node, f, upper ? high : low - 1);
        tree_.leaf(upper ? left + 1 : left, Reason::relation);
        waiting.node = upper ? left : left + 1;
        tree_.leaf(waiting.node, Reason::open);
    }
    here.first[f] = low;
    here.last[f] = high;
    return true;
}

// Removes candidates at the ends of a box that a relation rules out. Once as many features differ
// as `at most 2 of .. change` allows, the others keep their values. At most 2d cuts.
void Search::tightened(i32 slot) {
    i64 cuts = 0;
    for (const Relations::Relation& relation : relations_.each())
        for (i64 t = relation.way.first; t < relation.way.last; ++t)
            for (const bool upper : {false, true})
                if (cuts < 2 * d() && tighten(slot, relation.all, relations_.feature(t), upper))
                    ++cuts;
}

}  // namespace trust
