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
    const std::size_t N = m.N, rows = 2 * N;
    std::vector<std::uint8_t> truth(m.K);
    i64 right = 0;
    for (std::size_t i = 0; i < samples.y.size(); ++i) {
        m.literals.at(samples.cells[i], truth.data());
        const auto fires = [&](std::size_t j) {
            float p = 1.0F;
            for (std::size_t k = 0; k < m.K; ++k)
                if (truth[k] == 0) p *= 1.0F - m.pi[j * m.K + k];
            return draws.output(i)[j] < p;
        };
        const auto feed = [&](std::size_t j, bool own) {
            for (std::size_t k = 0; k < m.K; ++k) {
                if (!m.allowed[j % 2][k]) continue;
                float& pi = m.pi[j * m.K + k];
                float* state = m.states + (j * m.K + k) * rows;
                const bool still = m.keep && m.fired[j] && truth[k] == 0;  // the tables' NA cells
                if (own && m.fired[j] && truth[k] == 1) {
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
        };
        const auto draw = [&](std::size_t j) { return draws.feedback(i)[j]; };
        right += learn_sample(samples.y[i], m.T, m.fired, fires, draw, feed);
    }
    return right;
}

i64 PlainVectors::learn(const Samples& samples, const Uniforms& draws) {
    return learn_plain(*this, samples, draws);
}

i64 Integers::learn(const Samples& samples, const BitGenerator& draws) {
    const std::size_t K = states.columns;
    const auto up = [top = 2 * N - 1](i16 state) {
        return static_cast<i16>(std::min<i64>(state + 1, top));
    };
    const auto down = [](i16 state) { return static_cast<i16>(std::max(state - 1, 0)); };
    std::vector<std::uint8_t> truth(K);
    const auto fires = [&](std::size_t j) {
        bool all = true;
        for (std::size_t k = 0; k < K && all; ++k) all = truth[k] == 1 || states[j][k] < N;
        return all;
    };
    const auto feed = [&](std::size_t j, bool own) {
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
    };
    const auto draw = [&](std::size_t) { return draws.uniform(); };
    i64 right = 0;
    for (std::size_t i = 0; i < samples.y.size(); ++i) {
        literals.at(samples.cells[i], truth.data());
        right += learn_sample(samples.y[i], T, fired, fires, draw, feed);
    }
    return right;
}

}  // namespace trust::tsetlin
