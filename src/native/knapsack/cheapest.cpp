#include <algorithm>
#include <array>
#include <cmath>

#include "argsort.hpp"
#include "knapsack/sack.hpp"

namespace trust::knapsack {

static constexpr int STEPS = 64;           // of the search for the best multiplier, at most
static constexpr int ROUNDS = 8;           // in which a point is made cheaper
static constexpr i64 MOST_LISTED = 16384;  // choices, besides those of the last feature
static constexpr double TIED = 1e-14;      // relatively: costs this close differ by rounding alone

// ---------------------------------------------------------------- the bound

// Buys the best choice of every feature. Returns the sums of cost - multiplier gain and of gain.
static Value buy(const Sack& sack, double multiplier, std::span<i64> point) {
    Value sum{0.0, 0.0};
    for (std::size_t f = 0; f < point.size(); ++f) {
        const Best best = sack.bought(f, multiplier);
        point[f] = best.choice;
        sum.cost += best.least;
        sum.gain += best.gain;
    }
    return sum;
}

// The bound is concave in the multiplier: the tangents at two of them meet at the next.
Multiplier best_multiplier(const Sack& sack, double needed, std::span<i64> below,
                           std::span<i64> above) {
    struct Tangent {
        double at, value, slope;
    };
    std::vector<i64> point(below.size());
    Value sum = buy(sack, 0.0, below);
    Tangent low{0.0, sum.cost, needed - sum.gain}, high{INF, 0.0, 0.0};
    if (low.slope <= 0.0) {
        std::ranges::copy(below, above.begin());
        return {0.0, low.value};
    }
    Multiplier best{0.0, -INF};
    double at = 1.0;
    for (int step = 0; step < STEPS; ++step) {
        sum = buy(sack, at, point);
        const Tangent here{at, at * needed + sum.cost, needed - sum.gain};
        if (here.value > best.bound) best = {at, here.value};
        (here.slope > 0.0 ? low : high) = here;
        std::ranges::copy(point, (here.slope > 0.0 ? below : above).begin());
        if (high.at == INF) {
            at *= 8.0;
            continue;
        }
        const double next = (high.value - low.value + low.slope * low.at - high.slope * high.at) /
                            (low.slope - high.slope);
        if (!(low.at < next && next < high.at)) break;
        at = next;
    }
    if (high.at == INF) std::ranges::copy(below, above.begin());
    return best;
}

// ---------------------------------------------------------------- answers

// Changes one feature after another until a point gains enough and is cheap. Returns its cost,
// infinite if it does not gain enough.
static double mend(const Sack& sack, double needed, std::span<i64> point) {
    const std::size_t d = point.size();
    for (int round = 0; round < ROUNDS; ++round) {
        const Value sum = sack.total(point);
        double best = sum.gain >= needed ? sum.cost : INF;
        std::size_t at = d;
        i64 choice = 0;
        for (std::size_t f = 0; f < d; ++f) {
            const Value own = sack.at(f, point[f]);
            const Best other = sack.cheapest(f, needed - (sum.gain - own.gain));
            if (sum.cost - own.cost + other.least < best) {
                best = sum.cost - own.cost + other.least;
                at = f;
                choice = other.choice;
            }
        }
        if (at == d) break;
        point[at] = choice;
    }
    const Value sum = sack.total(point);
    return sum.gain >= needed ? sum.cost : INF;
}

// ---------------------------------------------------------------- the search

namespace {

struct Choice {
    i64 choice;
    double excess, cost, gain;
};

// The choices of each feature that are left, by their excess. The feature with most of them, the
// last, has none here: its choice is bought.
struct Left {
    std::vector<std::vector<Choice>> choices;
    std::size_t last = 0;
    bool too_many = false;
};

}  // namespace

static std::vector<Choice> sorted(const std::vector<Choice>& choices) {
    std::vector<double> excess;
    for (const Choice& each : choices) excess.push_back(each.excess);
    std::vector<Choice> found;
    for (const i64 at : argsort(excess)) found.push_back(choices[at]);
    return found;
}

// The choices with an excess that there is room for.
static Left choices_left(const Sack& sack, double multiplier, double room) {
    const std::size_t d = sack.features();
    std::vector<double> least(d);
    std::vector<i64> many(d);
    std::vector<Sack::Window> windows(d);
    i64 size = 0;
    for (std::size_t f = 0; f < d; ++f) {
        least[f] = sack.bought(f, multiplier).least;
        windows[f] = sack.window(f, multiplier, least[f] + room);
        many[f] = sack.listed(f) + windows[f].end - windows[f].begin;
        size += many[f];
    }
    Left left;
    left.last = std::ranges::max_element(many) - many.begin();
    left.too_many = size - many[left.last] > MOST_LISTED;
    if (left.too_many) return left;
    left.choices.resize(d);
    for (std::size_t f = 0; f < d; ++f) {
        if (f == left.last) continue;
        std::vector<Choice> found;
        for (i64 place = 0; place < many[f]; ++place) {
            const i64 listed = sack.listed(f);
            const i64 choice =
                place < listed ? sack.first(f) + place : -1 - (windows[f].begin + place - listed);
            const auto [cost, gain] = sack.at(f, choice);
            const double excess = cost - multiplier * gain - least[f];
            if (excess <= room) found.push_back({choice, excess, cost, gain});
        }
        left.choices[f] = sorted(found);
    }
    return left;
}

// The features but the last in the order of the search: first those whose second choice has a
// large excess.
static std::vector<i64> order_of(const Left& left) {
    std::vector<double> keys;
    for (const std::vector<Choice>& each : left.choices)
        keys.push_back(each.empty() ? INF : each.size() == 1 ? -INF : -each[1].excess);
    std::vector<i64> order = argsort(keys);
    order.pop_back();
    return order;
}

// Depth first through what is left. `point`, an answer, becomes the cheapest; of those that cost
// the same, the one that gains most.
static Answer searched(const Sack& sack, const Left& left, double bound, double needed,
                       i64 most_nodes, std::span<i64> point) {
    struct Spent {
        double excess = 0.0, cost = 0.0, gain = 0.0;
    };
    const i64 last_depth = static_cast<i64>(point.size()) - 1;
    auto [best, most] = sack.total(point);
    const std::vector<i64> order = order_of(left);
    const auto choices = [&](i64 depth) -> const std::vector<Choice>& {
        return left.choices[order[depth]];
    };
    std::vector<double> gain_left(point.size());  // the most from this depth on
    gain_left[last_depth] = sack.most_gain(left.last);
    for (i64 depth = last_depth - 1; depth >= 0; --depth) {
        double gain = -INF;
        for (const Choice& each : choices(depth)) gain = std::max(gain, each.gain);
        gain_left[depth] = gain_left[depth + 1] + gain;
    }
    std::vector<Spent> spent(point.size());
    std::vector<std::size_t> place(point.size());  // the next choice at each depth
    i64 nodes = 1;
    for (i64 depth = 0; depth >= 0;) {
        const Spent& here = spent[depth];
        if (depth == last_depth) {
            const Best found = sack.cheapest(left.last, needed - here.gain);
            const double cost = found.least + here.cost, gain = found.gain + here.gain;
            const bool tied = std::abs(cost - best) <= TIED * best;
            if ((cost < best && !tied) || (tied && gain > most)) {
                best = cost;
                most = gain;
                point[left.last] = found.choice;
                for (i64 upper = 0; upper < last_depth; ++upper)
                    point[order[upper]] = choices(upper)[place[upper] - 1].choice;
            }
            --depth;
            continue;
        }
        const double room = best - bound + MARGIN * (1.0 + std::abs(best));
        if (place[depth] >= choices(depth).size() ||
            here.excess + choices(depth)[place[depth]].excess > room) {
            --depth;
            continue;
        }
        const Choice& next = choices(depth)[place[depth]++];
        if (here.gain + next.gain + gain_left[depth + 1] < needed) continue;
        if (++nodes > most_nodes) return {Said::UNKNOWN, nodes};
        spent[depth + 1] = {here.excess + next.excess, here.cost + next.cost,
                            here.gain + next.gain};
        place[++depth] = 0;
    }
    return {Said::FOUND, nodes};
}

Answer cheapest(const Sack& sack, double needed, i64 most_nodes, std::span<i64> point) {
    const std::size_t d = point.size();
    double most = 0.0;
    for (std::size_t f = 0; f < d; ++f) most += sack.most_gain(f);
    if (most < needed) return {Said::NONE, 1};
    std::vector<i64> above(d);
    auto [multiplier, bound] = best_multiplier(sack, needed, point, above);
    double best = mend(sack, needed, point);
    const double other = mend(sack, needed, above);
    if (other < best) {
        best = other;
        std::ranges::copy(above, point.begin());
    }
    double size = 1.0 + multiplier * std::abs(needed);
    for (std::size_t f = 0; f < d; ++f) size += std::abs(sack.bought(f, multiplier).least);
    bound -= ROUNDING * size;
    const double room = best - bound + MARGIN * (1.0 + std::abs(best));
    if (!(room >= 0.0 && room < INF)) return {Said::UNKNOWN, 1};
    const Left left = choices_left(sack, multiplier, room);
    if (left.too_many) return {Said::UNKNOWN, 1};
    return searched(sack, left, bound, needed, most_nodes, point);
}

}  // namespace trust::knapsack
