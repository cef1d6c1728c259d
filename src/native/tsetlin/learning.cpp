#include "tsetlin/learning.hpp"

#include <vector>

#include "tsetlin/lanes.hpp"

namespace trust::tsetlin {

// Rows low … high of a vector move one row up with probability q; row high + 1 exists.
[[gnu::always_inline]] static inline void shift_up(float* rows, float q, std::size_t low,
                                                   std::size_t high) {
    rows[high + 1] += q * rows[high];
    for (std::size_t w = high; w > low; --w) rows[w] = (rows[w] - q * rows[w]) + q * rows[w - 1];
    rows[low] -= q * rows[low];
}

// Rows low … high move one row down; row low - 1 exists.
[[gnu::always_inline]] static inline void shift_down(float* rows, float q, std::size_t low,
                                                     std::size_t high) {
    rows[low - 1] += q * rows[low];
    for (std::size_t w = low; w < high; ++w) rows[w] = (rows[w] - q * rows[w]) + q * rows[w + 1];
    rows[high] -= q * rows[high];
}

TRUST_CLONES static i64 learn_plain(PlainVectors& m, const Samples& samples,
                                    const Uniforms& draws) {
    const std::size_t C = m.fired.size(), N = m.N, rows = 2 * N;
    std::vector<std::uint8_t> truth(m.K);
    i64 right = 0;
    for (std::size_t i = 0; i < samples.y.size(); ++i) {
        const i8 y = samples.y[i];
        m.literals.at(samples.cells[i], truth.data());
        i64 v = 0;
        for (std::size_t j = 0; j < C; ++j) {
            float p = 1.0F;
            for (std::size_t k = 0; k < m.K; ++k)
                if (truth[k] == 0) p *= 1.0F - m.pi[j * m.K + k];
            m.fired[j] = draws.output(i)[j] < p;
            if (m.fired[j]) v += vote_of(j);
        }
        right += right_sign(v, y);
        const double give = feedback(v, y, m.T);
        for (std::size_t j = 0; j < C; ++j) {
            const bool own = votes_for(j, y), fired = m.fired[j];
            if (draws.feedback(i)[j] >= give || !(own || fired)) continue;
            for (std::size_t k = 0; k < m.K; ++k) {
                if (!m.allowed[j % 2][k]) continue;
                float& pi = m.pi[j * m.K + k];
                float* state = m.states + (j * m.K + k) * rows;
                const bool still = m.keep && fired && truth[k] == 0;  // the tables' NA cells
                if (own && fired && truth[k] == 1) {
                    pi += m.steps.up * state[N - 1];
                    shift_up(state, m.steps.up, 0, rows - 2);
                } else if (own) {
                    if (!still) pi -= m.steps.down * state[N];
                    const std::size_t last = still ? N - 1 : rows - 1;
                    if (last > 0) shift_down(state, m.steps.down, 1, last);
                } else if (truth[k] == 0) {
                    pi += state[N - 1];
                    shift_up(state, 1.0F, 0, still ? N - 1 : rows - 2);
                }
            }
        }
    }
    return right;
}

i64 PlainVectors::learn(const Samples& samples, const Uniforms& draws) {
    return learn_plain(*this, samples, draws);
}

i64 Integers::learn(const Samples& samples, const BitGenerator& draws) {
    const std::size_t C = states.rows, K = states.columns;
    const auto up = [top = 2 * N - 1](i16 state) {
        return static_cast<i16>(std::min<i64>(state + 1, top));
    };
    const auto down = [](i16 state) { return static_cast<i16>(std::max(state - 1, 0)); };
    std::vector<std::uint8_t> truth(K);
    i64 right = 0;
    for (std::size_t i = 0; i < samples.y.size(); ++i) {
        const i8 y = samples.y[i];
        literals.at(samples.cells[i], truth.data());
        i64 v = 0;
        for (std::size_t j = 0; j < C; ++j) {
            fired[j] = true;
            for (std::size_t k = 0; k < K && fired[j]; ++k)
                fired[j] = truth[k] == 1 || states[j][k] < N;
            if (fired[j]) v += vote_of(j);
        }
        right += right_sign(v, y);
        const double give = feedback(v, y, T);
        for (std::size_t j = 0; j < C; ++j) {
            const bool own = votes_for(j, y);
            if (draws.uniform() >= give || !(own || fired[j])) continue;
            for (std::size_t k = 0; k < K; ++k) {
                if (!allowed[j % 2][k]) continue;
                i16& state = states[j][k];
                if (own && fired[j] && truth[k] == 1) {
                    if (draws.uniform() * s < s - 1.0) state = up(state);
                } else if (own) {
                    if (draws.uniform() * s < 1.0) state = down(state);
                } else if (truth[k] == 0) {
                    state = up(state);
                }
            }
        }
    }
    return right;
}

}  // namespace trust::tsetlin
