#include "search/following.hpp"

#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace trust {

static constexpr i64 FAR = i64(1) << 62;

Following::Following(std::span<const i64> records, std::span<const double> formulas,
                     std::vector<double> low, std::vector<double> high)
    : low_(std::move(low)), high_(std::move(high)) {
    for (std::size_t record = 0; record < records.size();) {
        std::size_t at = record;
        const auto next = [&] {
            if (at >= records.size())
                throw std::invalid_argument("derived columns: a short record");
            return records[at++];
        };
        const i64 length = next();
        Column column{next(), Shape(0), 0, 0, {}, {}};
        column.shape = Shape(next());
        column.own = next();
        column.missing = next();
        const i64 inputs = next(), parts = next();
        for (i64 k = 0; k < inputs; ++k) {
            const i64 feature = next(), own = next();
            column.inputs.push_back({feature, own, next()});
        }
        for (i64 p = 0; p < parts; ++p) {
            const i64 many = next(), start = next();
            Sum part{formulas[start], {}};
            for (i64 k = 0; k < many; ++k) {
                Term term{formulas[start + 1 + 2 * k], formulas[start + 2 + 2 * k], next(), -1};
                for (const Input& input : column.inputs)
                    if (input.feature == term.feature) term.missing = input.missing;
                part.terms.push_back(term);
            }
            column.parts.push_back(std::move(part));
        }
        columns_.push_back(std::move(column));
        record += length;
    }
}

// ---------------------------------------------------------------- values of a column

Following::Known Following::sum(const Candidates& candidates, const Sum& part, Box box) {
    double low = part.constant, high = part.constant;
    bool known = true;
    for (const Term& term : part.terms) {
        const i64 g = term.feature;
        const i32 first = box.first[g];
        i32 last = box.last[g];
        if (last == term.missing) --last;
        const double a = last < first ? INF : candidates.codes[candidates.at(g, first)];
        const double b = last < first ? -INF : candidates.codes[candidates.at(g, last)];
        known = known && a <= b;
        if (term.weight > 0.0) {
            low += term.weight * (a - term.origin);
            high += term.weight * (b - term.origin);
        } else {
            low += term.weight * (b - term.origin);
            high += term.weight * (a - term.origin);
        }
    }
    return {{low, high}, known};
}

// The least and the greatest value of a column before rounding.
Following::Ends Following::between(const Candidates& candidates, const Column& column, Box box) {
    auto [ends, known] = sum(candidates, column.parts.front(), box);
    auto [low, high] = ends;
    for (std::size_t p = 1; p < column.parts.size(); ++p) {
        const auto [other, more] = sum(candidates, column.parts[p], box);
        const auto [a, b] = other;
        known = known && more;
        if (column.shape == Shape::least) {
            low = std::min(low, a);
            high = std::min(high, b);
        } else if (column.shape == Shape::greatest) {
            low = std::max(low, a);
            high = std::max(high, b);
        } else if (a <= 0.0 && 0.0 <= b) {
            if (a == b && low == high) return {INF, -INF};
            low = -INF;
            high = INF;
        } else {
            const double one = low / a, two = low / b, three = high / a, four = high / b;
            low = std::min(std::min(one, two), std::min(three, four));
            high = std::max(std::max(one, two), std::max(three, four));
        }
    }
    if (!known || !(low <= high)) return {INF, -INF};
    return {low, high};
}

// The first candidate of a column that has values from a number on.
i64 Following::first_from(const Candidates& candidates, i64 feature, double raw) const {
    const auto begin = high_.begin() + candidates.offset[feature];
    const auto end = high_.begin() + candidates.offset[feature + 1];
    return std::partition_point(begin, end, [raw](double high) { return high < raw; }) - begin;
}

// The candidate that the inputs of a point make; -1 if there is none.
i64 Following::candidate(const Candidates& candidates, const Column& column, Box point) const {
    const bool own =
        std::all_of(column.inputs.begin(), column.inputs.end(),
                    [&](const Input& each) { return point.has(each.feature, each.own); });
    if (own) return column.own;
    const auto [raw, high] = between(candidates, column, point);
    if (!(raw <= high)) return column.missing;
    const i64 f = column.feature, k = first_from(candidates, f, raw);
    const bool inside =
        candidates.at(f, k) < candidates.offset[f + 1] && low_[candidates.at(f, k)] < raw;
    return inside && k != column.missing ? k : -1;
}

// ---------------------------------------------------------------- boxes

Following::Narrowed Following::narrow(const Candidates& candidates, OpenBox box) const {
    Narrowed said = Narrowed::unchanged;
    for (const Column& column : columns_) {
        const i64 f = column.feature;
        i64 first = FAR, last = -1;
        const auto [low, high] = between(candidates, column, box);
        bool own = true, single = true;
        bool unknown = low == -INF || !(low <= high);  // what cannot be computed is missing
        for (const Input& input : column.inputs) {
            own = own && Box(box).has(input.feature, input.own);
            single = single && box.width(input.feature) == 0;
            unknown = unknown || box.last[input.feature] == input.missing;
        }
        if (single) {
            const i64 k = candidate(candidates, column, box);
            if (k >= 0) first = last = k;
        } else if (low <= high) {
            first = first_from(candidates, f, low);
            last = first_from(candidates, f, high);
            if (candidates.at(f, last) == candidates.offset[f + 1] ||
                !(low_[candidates.at(f, last)] < high))
                --last;
        }
        if (!single) {
            for (const auto& [k, may] : {std::pair(column.own, own), {column.missing, unknown}})
                if (k >= 0 && may) {
                    first = std::min(first, k);
                    last = std::max(last, k);
                }
        }
        first = std::max(first, i64(box.first[f]));
        last = std::min(last, i64(box.last[f]));
        if (first > last) return Narrowed::empty;
        box.first[f] = i32(first);
        box.last[f] = i32(last);
        if (first <= column.missing && column.missing <= last) continue;
        const bool stays = own && first <= column.own && column.own <= last;
        if (narrow_inputs(candidates, column, box, stays)) said = Narrowed::inputs;
    }
    return said;
}

// Takes values off the ends of inputs that bring a column outside its range in a box; whether there
// were any. Where nothing has to change, the person's own values stay.
bool Following::narrow_inputs(const Candidates& candidates, const Column& column, OpenBox box,
                              bool stays) const {
    const i64 f = column.feature;
    const double low = low_[candidates.at(f, box.first[f])];
    const double high = high_[candidates.at(f, box.last[f])];
    bool narrower = false;
    for (const Input& input : column.inputs) {
        const i64 g = input.feature, mine = input.own;
        for (int end = 0; end < 2; ++end) {
            const i32 a = box.first[g], b = box.last[g];
            i64 less = 0, more = b - a + 1;  // so many may go, so many may not
            if (stays) more = end == 0 ? mine - a + 1 : b - mine + 1;
            for (i64 many = 1; less < many && many < more; many = (less + more) >> 1) {
                if (end == 0)
                    box.last[g] = i32(a + many - 1);
                else
                    box.first[g] = i32(b - many + 1);
                const auto [least, most] = between(candidates, column, box);
                if (most > low && least <= high)
                    more = many;
                else
                    less = many;
            }
            box.first[g] = i32(end == 1 ? a : a + less);
            box.last[g] = i32(end == 0 ? b : b - less);
            narrower = narrower || less > 0;
        }
    }
    return narrower;
}

bool Following::settle(const Candidates& candidates, Box box, Point point) const {
    bool settled = true;
    for (const Column& column : columns_) {
        const i64 k = candidate(candidates, column, Box(point));
        if (box.has(column.feature, k))
            point[column.feature] = i32(k);
        else
            settled = false;
    }
    return settled;
}

Cut Following::cut_towards(const Candidates& candidates, Box box, Point corner) const {
    for (const Column& column : columns_) {
        const i64 f = column.feature;
        if (box.has(f, candidate(candidates, column, Box(corner)))) continue;
        double least = INF;
        Cut found{-1, 0};
        i64 widest = -1;
        const Ends range{low_[candidates.at(f, box.first[f])],
                         high_[candidates.at(f, box.last[f])]};
        for (const Input& input : column.inputs) {
            const i64 g = input.feature;
            const i32 mine = corner[g];
            if (box.width(g) > 0 && (widest < 0 || box.width(g) > box.width(widest))) widest = g;
            for (const i32 end : {box.first[g], box.last[g]}) {
                const i32 c = nearest(candidates, column, corner, g, end, range);
                const double more = candidates.cost(g, c) - candidates.cost(g, mine);
                if (c != mine && more < least) {
                    least = more;
                    found = {g, c > mine ? c - 1 : c};
                }
            }
        }
        if (found.feature >= 0) return found;
        if (widest >= 0) return {widest, box.first[widest] + (box.width(widest) >> 1)};
    }
    return {-1, 0};
}

// The candidate of an input, on the way to an end, that brings a column into its range; the point's
// own if none does. Columns rise or fall with an input all the way, or nearly.
i32 Following::nearest(const Candidates& candidates, const Column& column, Point point, i64 g,
                       i32 end, Ends range) {
    const i32 mine = point[g];
    const auto raw_with = [&](i32 c) {
        point[g] = c;
        return between(candidates, column, Box(point)).low;
    };
    const double now = raw_with(mine);
    const bool up = now <= range.low;
    if (!up && !(now > range.high)) return mine;
    const auto is_in = [&](double raw) { return up ? raw > range.low : raw <= range.high; };
    i32 near = mine, far = is_in(raw_with(end)) ? end : mine;
    while (std::abs(far - near) > 1) {
        const i32 middle = (near + far) >> 1;
        if (is_in(raw_with(middle)))
            far = middle;
        else
            near = middle;
    }
    point[g] = mine;
    return far;
}

}  // namespace trust
