#include "tsetlin/inference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tsetlin/lanes.hpp"
#include "tsetlin/vote_law.hpp"

namespace trust::tsetlin {

TRUST_CLONES void firing(Matrix<const i32> cells, std::span<const i64> first_cell,
                         Matrix<const double> factors, std::span<const double> empty,
                         Matrix<double> out) {
    const std::size_t C = empty.size();
    for (std::size_t i = 0; i < cells.rows; ++i) {
        double* __restrict q = out[i];
        std::fill_n(q, C, 1.0);
        for (std::size_t f = 0; f < cells.columns; ++f) {
            const double* factor = factors[static_cast<std::size_t>(first_cell[f] + cells[i][f])];
            for (std::size_t j = 0; j < C; ++j) q[j] *= factor[j];
        }
        for (std::size_t j = 0; j < C; ++j) q[j] = std::max(q[j] - empty[j], 0.0);
    }
}

TRUST_CLONES void vote_laws(Matrix<const double> q, Matrix<double> out) {
    std::vector<double> room(out.columns);
    for (std::size_t i = 0; i < q.rows; ++i) {
        const double* of = q[i];
        vote_law(q.columns, [=](std::size_t j) { return of[j]; }, out[i], room.data());
    }
}

void expectation(Matrix<const double> law, std::span<const double> g, std::span<double> out) {
    for (std::size_t i = 0; i < law.rows; ++i) out[i] = mean_under(law[i], g.data(), g.size());
}

static double score(const double* q, std::span<const double> weights, double intercept) {
    double total = intercept;
    for (std::size_t j = 0; j < weights.size(); ++j) total += weights[j] * q[j];
    return total;
}

void scores(Matrix<const double> q, std::span<const double> weights, double intercept,
            std::span<double> out) {
    for (std::size_t i = 0; i < q.rows; ++i) out[i] = score(q[i], weights, intercept);
}

void logistic(std::span<const double> score, std::span<double> out) {
    for (std::size_t i = 0; i < score.size(); ++i) out[i] = 1.0 / (1.0 + std::exp(-score[i]));
}

double log_loss(Matrix<const double> q, std::span<const i8> y, std::span<const double> weights,
                double intercept, std::span<double> gradient) {
    const std::size_t C = weights.size();
    double loss = 0.0;
    std::ranges::fill(gradient, 0.0);
    double* __restrict slope = gradient.data();
    for (std::size_t i = 0; i < q.rows; ++i) {
        const double R = score(q[i], weights, intercept), tail = std::exp(-std::abs(R));
        const double truth = static_cast<double>(y[i]);
        loss += std::log1p(tail) + std::max(R, 0.0) - truth * R;
        const double error = (R > 0.0 ? 1.0 : tail) / (1.0 + tail) - truth;
        for (std::size_t j = 0; j < C; ++j) slope[j] += error * q[i][j];
        slope[C] += error;
    }
    return loss;
}

// One row of `slopes`. `laws` is (C, C + 1): the law of the vote before each clause. One pass back
// carries h(v) = E[g(v + the votes after clause j)], so all C slopes cost as much as two laws.
[[gnu::always_inline]] static inline void slopes_at(const double* q, std::span<const double> g,
                                                    Matrix<double> laws, double* h, double* out) {
    const std::size_t C = laws.rows, half = C / 2;
    std::ranges::copy(g, h);
    laws[0][half] = 1.0;
    for (std::size_t j = 0; j + 1 < C; ++j) {
        const double p = q[j], rest = 1.0 - p;
        const std::size_t low = half - j / 2, high = half + (j + 1) / 2;  // where this law ends
        const double* __restrict law = laws[j];
        double* __restrict next = laws[j + 1];
        if (j % 2 == 0) {
            next[low] = rest * law[low];
            for (std::size_t w = low + 1; w <= high; ++w) next[w] = p * law[w - 1] + rest * law[w];
            next[high + 1] = p * law[high];
        } else {
            next[low - 1] = p * law[low];
            for (std::size_t w = low; w < high; ++w) next[w] = rest * law[w] + p * law[w + 1];
            next[high] = rest * law[high];
        }
    }
    for (std::size_t j = C; j-- > 0;) {
        const double p = q[j];
        const std::size_t low = half - j / 2, high = half + (j + 1) / 2;
        const double* law = laws[j];
        double gain = 0.0;
        if (j % 2 == 0) {
            for (std::size_t w = low; w <= high; ++w) gain += law[w] * (h[w + 1] - h[w]);
            for (std::size_t w = 0; w < C; ++w) h[w] += p * (h[w + 1] - h[w]);
        } else {
            for (std::size_t w = low; w <= high; ++w) gain += law[w] * (h[w - 1] - h[w]);
            for (std::size_t w = C; w > 0; --w) h[w] += p * (h[w - 1] - h[w]);
        }
        out[j] = gain;
    }
}

TRUST_CLONES void slopes(Matrix<const double> q, std::span<const double> g, Matrix<double> out) {
    const std::size_t C = q.columns;
    std::vector<double> laws(C * (C + 1)), h(C + 1);
    for (std::size_t i = 0; i < q.rows; ++i)
        slopes_at(q[i], g, {laws.data(), C, C + 1}, h.data(), out[i]);
}

void literal_rows(Matrix<const i32> cells, const Literals& literals, Matrix<std::uint8_t> out) {
    for (std::size_t i = 0; i < cells.rows; ++i) literals.at(cells[i], out[i]);
}

// Whether a clause fires where every one of its automata is drawn again.
static bool drawn(const double* inclusion, std::span<const std::uint8_t> truth,
                  const BitGenerator& draws) {
    bool any_included = false, all_true = true;
    for (std::size_t k = 0; k < truth.size(); ++k) {
        const bool included = draws.uniform() < inclusion[k];
        any_included |= included;
        all_true &= !included || truth[k] == 1;
    }
    return any_included && all_true;
}

void monte_carlo(const Passes& passes, std::span<const double> worth, double intercept,
                 std::span<double> out) {
    std::vector<std::uint8_t> truth(passes.inclusion.columns);
    const std::size_t C = passes.inclusion.rows;
    const bool weighted = worth.size() == C;
    for (std::size_t i = 0; i < passes.cells.rows; ++i) {
        passes.literals.at(passes.cells[i], truth.data());
        double total = 0.0;
        for (i64 pass = 0; pass < passes.many; ++pass) {
            i64 v = 0;
            for (std::size_t j = 0; j < C; ++j) {
                if (!drawn(passes.inclusion[j], truth, passes.draws)) continue;
                v += j % 2 == 0 ? 1 : -1;
                if (weighted) total += worth[j];
            }
            if (!weighted) total += worth[C / 2 + static_cast<std::size_t>(v)];
        }
        out[i] = intercept + total / static_cast<double>(passes.many);
    }
}

}  // namespace trust::tsetlin
