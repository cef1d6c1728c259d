#include "sums/tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trust {

static constexpr int SWEEPS = 4;
static constexpr double LEAST = 1e-12, MOST = 1e9;  // of multipliers
// Multipliers that are tried: how many, and by what factor from the last one. For the first box,
// whose multiplier is not known at all, and for others.
static constexpr int FIRST_TURNS = 40, TURNS = 4;
static constexpr double FAR = 4.0, CLOSE = 1.25;
static constexpr double NEAREST = 1.02;  // a smaller factor ends the search

Tables::Tables(std::shared_ptr<const TableSum> sum)
    : sum_(std::move(sum)),
      h_(sum_->atoms),
      marginal_(sum_->atoms),
      kept_(sum_->atoms),
      constants_(sum_->pairs()),
      theta_(sum_->cells()),
      alive_(sum_->entries.size()) {}

std::unique_ptr<Kernel> Tables::clone() const { return std::make_unique<Tables>(sum_); }

// Finds the bins with a cell in the span, with `spend` one that can be paid. Writes the h of their
// atoms, with no `h` zeros, and infinity for all others.
void Tables::set_alive(Span span, const double* spend, const double* h) {
    const TableSum& sum = *sum_;
    const std::size_t d = sum.features();
    std::ranges::fill(h_, INF);
    for (std::size_t e = 0; e < sum.entries.size(); ++e) {
        const TableSum::Entry& entry = sum.entries[e];
        const i64 f = entry.feature, first = sum.first[f];
        Alive alive{entry.atom + entry.many, -1, 0};
        for (i64 c = span[f]; c <= span[d + f]; ++c) {
            if (spend && !(spend[first + c] < INF)) continue;
            const i64 b = entry.bin[c];
            double& own = h_[entry.atom + b];
            if (own != INF) continue;
            own = h ? h[entry.atom + b] : 0.0;
            ++alive.many;
            alive.low = std::min(alive.low, b);
            alive.high = std::max(alive.high, b);
        }
        alive_[e] = alive;
    }
}

// The sum over the tables of their least and of their greatest numbers in the box.
void Tables::interval(Span span, double* out, const double* /*memory*/) {
    const TableSum& sum = *sum_;
    const std::size_t d = sum.features();
    double least_sum = sum.start - sum.rounding, most_sum = sum.start + sum.rounding;
    for (std::size_t f = 0; f < d; ++f) {
        double least = INF, most = -INF;
        for (i64 c = sum.first[f] + span[f]; c <= sum.first[f] + span[d + f]; ++c) {
            least = std::min(least, sum.points[c]);
            most = std::max(most, sum.points[c]);
        }
        least_sum += least;
        most_sum += most;
        out[2 + f] = most - least;
    }
    set_alive(span, nullptr, nullptr);
    for (std::size_t e = 0; e < sum.entries.size(); e += 2) {
        const std::size_t g = TableSum::other(e);
        const i64 low = alive_[e].low, many = alive_[e].high - low + 1;
        const double* own = h_.data() + sum.entries[e].atom + low;
        const double* others = h_.data() + sum.entries[g].atom;
        double least = INF, most = -INF;
        for (i64 j = alive_[g].low; j <= alive_[g].high; ++j) {
            if (others[j] == INF) continue;
            const double* row = sum.row(e, j, low);
            for (i64 i = 0; i < many; ++i)
                if (own[i] < INF) {
                    least = std::min(least, row[i]);
                    most = std::max(most, row[i]);
                }
        }
        least_sum += least;
        most_sum += most;
        const int wide = (has_several(e) ? 1 : 0) + (has_several(g) ? 1 : 0);
        for (const std::size_t k : {e, g})
            if (has_several(k)) out[2 + sum.entries[k].feature] += (most - least) / wide;
    }
    out[0] = least_sum;
    out[1] = most_sum;
}

// Sets the h of pairs with one bin of a feature: they are tables of the other feature alone.
void Tables::settle(double side) {
    const TableSum& sum = *sum_;
    for (std::size_t p = 0; p < sum.pairs(); ++p) {
        const std::size_t e = alive_[2 * p + 1].many == 1 ? 2 * p : 2 * p + 1;  // may have several
        const std::size_t o = TableSum::other(e);
        if (has_several(o)) continue;
        const i64 low = alive_[e].low, high = alive_[e].high;
        double* own = h_.data() + sum.entries[e].atom;
        const double* row = sum.row(e, alive_[o].low);
        h_[sum.entries[o].atom + alive_[o].low] = 0.0;
        for (i64 i = low; i <= high; ++i)
            if (own[i] < INF) own[i] = side * row[i];
    }
}

// For each bin of an entry the least of h - table over the other's bins.
void Tables::collect(double side, std::size_t e) {
    const TableSum& sum = *sum_;
    const std::size_t o = TableSum::other(e);
    const i64 low = alive_[e].low, many = alive_[e].high - low + 1;
    double* least = marginal_.data() + sum.entries[e].atom + low;
    const double* others = h_.data() + sum.entries[o].atom;
    std::fill_n(least, many, INF);
    for (i64 j = alive_[o].low; j <= alive_[o].high; ++j) {
        const double here = others[j];
        if (!(here < INF)) continue;
        const double* row = sum.row(e, j, low);
        for (i64 i = 0; i < many; ++i) {
            const double value = here - side * row[i];
            least[i] = value < least[i] ? value : least[i];
        }
    }
}

// Passes costs, per unit of the multiplier, through the tables: feature by feature, up or down.
void Tables::sweep(const Asked& asked, double price, bool forward) {
    const std::size_t d = sum_->features();
    for (std::size_t turn = 0; turn < d; ++turn)
        sweep_feature(asked, price, forward, forward ? turn : d - 1 - turn);
}

void Tables::sweep_feature(const Asked& asked, double price, bool forward, std::size_t f) {
    const TableSum& sum = *sum_;
    const i64 first = sum.first[f], a = asked.span[f], b = asked.span[sum.features() + f];
    const i64 own = static_cast<i64>(f);
    const double* spend = asked.spend.data() + first;
    double* theta = theta_.data() + first;
    i64 n_before = 0, n_after = 0;  // tables whose other feature has a smaller, a larger number
    for (i64 c = a; c <= b; ++c) theta[c] = spend[c] / price - asked.side * sum.points[first + c];
    for (const std::size_t e : sum.entries_of[f]) {
        const TableSum::Entry& entry = sum.entries[e];
        const std::size_t o = TableSum::other(e);
        if (has_several(e) && has_several(o)) {
            collect(asked.side, e);
            const double* marginal = marginal_.data() + entry.atom;
            for (i64 c = a; c <= b; ++c) theta[c] += marginal[entry.bin[c]];
            n_before += sum.entries[o].feature < own ? 1 : 0;
            n_after += sum.entries[o].feature > own ? 1 : 0;
        } else {
            const double* h = h_.data() + entry.atom;
            for (i64 c = a; c <= b; ++c)
                if (spend[c] < INF) theta[c] -= h[entry.bin[c]];
        }
    }
    const double share = 1.0 / static_cast<double>(std::max({n_after, n_before, i64{1}}));
    for (const std::size_t e : sum.entries_of[f]) {
        const TableSum::Entry& entry = sum.entries[e];
        const std::size_t o = TableSum::other(e);
        if (alive_[e].many == 1 || alive_[o].many == 1) continue;
        double* h = h_.data() + entry.atom;
        const double* marginal = marginal_.data() + entry.atom;
        const bool goes_on = (sum.entries[o].feature > own) == forward;
        for (i64 i = alive_[e].low; i <= alive_[e].high; ++i)
            if (h[i] < INF) h[i] = goes_on ? INF : -marginal[i];
        if (!goes_on) continue;
        for (i64 c = a; c <= b; ++c) {
            const i64 at = entry.bin[c];
            if (theta[c] < INF) {
                const double given = share * theta[c] - marginal[at];
                h[at] = given < h[at] ? given : h[at];
            }
        }
    }
}

// After a sweep down, the least h that leaves every K at 0. What an expensive bin was handed in
// vain would otherwise be a gain of its cells.
void Tables::tighten(double side) {
    const TableSum& sum = *sum_;
    for (std::size_t p = 0; p < sum.pairs(); ++p) {
        if (!is_wide(p)) continue;
        const bool later = sum.entries[2 * p].feature > sum.entries[2 * p + 1].feature;
        const std::size_t e = later ? 2 * p : 2 * p + 1;
        collect(side, e);
        double* h = h_.data() + sum.entries[e].atom;
        const double* marginal = marginal_.data() + sum.entries[e].atom;
        for (i64 i = alive_[e].low; i <= alive_[e].high; ++i)
            if (h[i] < INF) h[i] = -marginal[i];
    }
}

// K of a pair: the most that its table is above h.
double Tables::constant(double side, std::size_t p) const {
    const TableSum& sum = *sum_;
    const std::size_t e = 2 * p, o = e + 1;
    const i64 low = alive_[e].low, many = alive_[e].high - low + 1;
    const double* own = h_.data() + sum.entries[e].atom + low;
    const double* others = h_.data() + sum.entries[o].atom;
    double best = INF;
    for (i64 j = alive_[o].low; j <= alive_[o].high; ++j) {
        if (!(others[j] < INF)) continue;
        const double* row = sum.row(e, j, low);
        double least = INF;
        for (i64 i = 0; i < many; ++i) {
            const double value = own[i] - side * row[i];
            least = value < least ? value : least;
        }
        best = std::min(best, others[j] + least);
    }
    return -best;
}

// The gain of each cell of the span, -infinity of those that cannot be paid.
void Tables::set_gains(const Asked& asked, double* gains) const {
    const TableSum& sum = *sum_;
    for (std::size_t f = 0; f < sum.features(); ++f) {
        const i64 first = sum.first[f], a = asked.span[f], b = asked.span[sum.features() + f];
        const double* spend = asked.spend.data() + first;
        double* gain = gains + first;
        for (i64 c = a; c <= b; ++c) gain[c] = asked.side * sum.points[first + c];
        for (const std::size_t e : sum.entries_of[f]) {
            const TableSum::Entry& entry = sum.entries[e];
            const double* h = h_.data() + entry.atom;
            for (i64 c = a; c <= b; ++c) gain[c] += h[entry.bin[c]];
        }
        for (i64 c = a; c <= b; ++c)
            if (spend[c] == INF) gain[c] = -INF;
    }
}

// What reaching a level costs at least: price needed + sum over f of min (spend - price gain).
double Tables::bound(const Asked& asked, const double* gains, double price) const {
    const TableSum& sum = *sum_;
    double total = price * asked.needed;
    for (std::size_t f = 0; f < sum.features(); ++f) {
        const i64 first = sum.first[f];
        double best = INF;
        for (i64 c = first + asked.span[f]; c <= first + asked.span[sum.features() + f]; ++c)
            if (asked.spend[c] < INF) best = std::min(best, asked.spend[c] - price * gains[c]);
        total += best;
    }
    return total;
}

// Finds good h by sweeps at a multiplier, 0 where none is known; leaves them in `kept_` and returns
// a better multiplier.
//
// The most that h can do at a multiplier is concave in it, but with an h at hand the multiplier
// that it was made for is the best one, or nearly: so others are tried, larger and smaller by a
// factor, each with sweeps of its own, until the bound exceeds the budget.
double Tables::climb(const Asked& asked, double price, double* gains) {
    const bool known = price > LEAST;
    const int turns = known ? TURNS : FIRST_TURNS;
    double factor = known ? CLOSE : FAR;
    if (!known) price = 1.0;
    double best = -INF, at = price;
    bool larger = true, moved = false;
    for (int turn = 0; turn < turns; ++turn) {
        for (int k = 0; k < (turn == 0 ? SWEEPS : 2); ++k) sweep(asked, at, k % 2 == 0);
        set_gains(asked, gains);
        const double found = bound(asked, gains, at);
        if (found > best) {
            moved = turn > 0;
            best = found;
            price = at;
            kept_ = h_;
            if (best > asked.budget) return price;
        } else {
            h_ = kept_;
            if (moved || !larger) {  // beyond the best: nearer to it
                larger = true;
                moved = false;
                factor = std::sqrt(factor);
            } else {
                larger = false;
            }
        }
        if (factor < NEAREST) break;
        at = std::min(std::max(price * (larger ? factor : 1.0 / factor), LEAST), MOST);
    }
    return price;
}

double Tables::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                          double budget, double* gains, double* memory) {
    const TableSum& sum = *sum_;
    const std::size_t d = sum.features();
    const double base = side > 0 ? sum.start : 1.0 - sum.start;
    const Asked asked{span, static_cast<double>(side), level - base, spend, budget};
    double* const h = sum.pairs() > 0 ? memory + 1 : nullptr;
    side_ = asked.side;
    set_alive(span, spend.data(), h);
    if (std::ranges::any_of(alive_, [](const Alive& each) { return each.many == 0; })) {
        for (std::size_t f = 0; f < d; ++f)
            for (i64 c = sum.first[f] + span[f]; c <= sum.first[f] + span[d + f]; ++c)
                gains[c] = spend[c] < INF ? 0.0 : -INF;
        gains[spend.size()] = -1.0;
        return INF;
    }
    settle(asked.side);
    bool wide = false;
    for (std::size_t p = 0; p < sum.pairs(); ++p) wide = wide || is_wide(p);
    if (wide) {
        memory[0] = climb(asked, memory[0], gains);
        h_ = kept_;
        tighten(asked.side);
    }
    double k = 0.0, most = 0.0, size = 0.0;
    for (std::size_t p = 0; p < sum.pairs(); ++p) {
        constants_[p] = constant(asked.side, p);
        k += constants_[p];
        size += std::abs(constants_[p]);
    }
    for (std::size_t a = 0; a < h_.size(); ++a)
        if (h_[a] < INF) {
            h[a] = h_[a];
            size += std::abs(h_[a]);
        }
    kept_ = h_;
    set_gains(asked, gains);
    for (std::size_t f = 0; f < d; ++f) {
        double top = -INF;
        for (i64 c = sum.first[f] + span[f]; c <= sum.first[f] + span[d + f]; ++c)
            top = std::max(top, gains[c]);
        most += top;
    }
    const double rounding = sum.rounding * (1.0 + size);
    gains[spend.size()] = base + k + most + rounding;
    return level - base - k - rounding;
}

// Half of what the relaxation adds to each table, to each of its features.
void Tables::errors(Span /*span*/, const i64* point, std::span<double> out, bool /*lasting*/) {
    const TableSum& sum = *sum_;
    std::ranges::fill(out, 0.0);
    for (std::size_t p = 0; p < sum.pairs(); ++p) {
        const std::size_t e = 2 * p;
        const TableSum::Entry &own = sum.entries[e], &other = sum.entries[e + 1];
        const i64 i = own.bin[point[own.feature]], j = other.bin[point[other.feature]];
        const double bound = kept_[own.atom + i] + kept_[other.atom + j];
        const double error = constants_[p] + bound - side_ * *sum.row(e, j, i);
        out[own.feature] += 0.5 * error;
        out[other.feature] += 0.5 * error;
    }
}

}  // namespace trust
