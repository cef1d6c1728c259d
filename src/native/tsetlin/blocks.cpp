#include "tsetlin/blocks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "tsetlin/lanes.hpp"

namespace trust::tsetlin {

namespace {

constexpr std::size_t LANES = Blocks::LANES, BLOCK = Blocks::BLOCK;
constexpr std::size_t MARGIN = 8;  // rows kept zero around a vector while it is settled
constexpr float FAINT = 1e-9F;     // mass at the rim of a vector below which it is not carried on

// ---------------------------------------------------------------- one step on the window

// What a sample does to each automaton of a clause.
struct Sample {
    std::span<const std::uint8_t> truth;
    float *is_false, *up, *down;  // 1 - truth, and the probabilities of a step
};

TRUST_CLONES void prepare(const Sample& sample, Steps q, std::uint32_t* letters) {
    const std::size_t K = sample.truth.size();
    const std::uint8_t* __restrict truth = sample.truth.data();
    float *__restrict is_false = sample.is_false, *__restrict up = sample.up,
          *__restrict down = sample.down;
    for (std::size_t k = 0; k < K; ++k) {
        const float is = truth[k];
        is_false[k] = 1.0F - is;
        up[k] = q.up * is;
        down[k] = q.down - q.down * is;
    }
    std::uint32_t *silent = letters, *type_one = silent + K, *type_two = type_one + K;
    for (std::size_t k = 0; k < K; ++k) silent[k] = Blocks::down;
    for (std::size_t k = 0; k < K; ++k) type_one[k] = truth[k] != 0 ? Blocks::up : Blocks::down;
    for (std::size_t k = 0; k < K; ++k) type_two[k] = truth[k] != 0 ? Blocks::none : Blocks::sure;
}

// Draw a clause's output: 1 with probability Π (1 - π) over the false literals.
//
// The product only falls, so the draw is decided as soon as the product is below it.
TRUST_CLONES bool fires(const float* pi, const float* is_false, std::size_t K, float draw) {
    float p = 1.0F;
    for (std::size_t k = 0; k < K; k += LANES) {
        const float *mass = pi + k, *here = is_false + k;
        p *= product_of<float>(LANES, [=](std::size_t i) { return 1.0F - mass[i] * here[i]; });
        if (p <= draw) return false;
    }
    return true;
}

// Append one letter to each automaton's history; `none` appends nothing.
TRUST_CLONES void note(std::uint32_t* __restrict history, const std::uint32_t* __restrict letters,
                       std::size_t K) {
    for (std::size_t k = 0; k < K; ++k) {
        const std::uint32_t longer = (history[k] << 2U) | letters[k];
        history[k] = letters[k] != Blocks::none ? longer : history[k];
    }
}

// A row of the window after a step towards it from the row above or below, with a probability for
// each automaton.
[[gnu::always_inline]] inline void step(float* __restrict row, const float* __restrict from,
                                        const float* __restrict q) {
    for (std::size_t i = 0; i < LANES; ++i) row[i] += q[i] * (from[i] - row[i]);
}

// π of a tile's automata after q of a row's mass crossed the middle.
[[gnu::always_inline]] inline void gain(float* __restrict pi, const float* __restrict q,
                                        const float* __restrict row) {
    for (std::size_t i = 0; i < LANES; ++i) pi[i] += q[i] * row[i];
}

[[gnu::always_inline]] inline void lose(float* __restrict pi, const float* __restrict q,
                                        const float* __restrict row) {
    for (std::size_t i = 0; i < LANES; ++i) pi[i] -= q[i] * row[i];
}

// The window of one tile, and the rows of it that are exact: low … high.
struct Tile {
    float* pi;      // LANES
    float* window;  // (2 · BLOCK, LANES)
    std::size_t low, high;

    [[gnu::always_inline]] float* row(std::size_t w) const { return window + w * LANES; }

    [[gnu::always_inline]] void rise_by(const float* q) const {
        for (std::size_t w = high; w > low; --w) step(row(w), row(w - 1), q);
    }

    [[gnu::always_inline]] void fall_by(const float* q) const {
        for (std::size_t w = low; w < high; ++w) step(row(w), row(w + 1), q);
    }
};

// A clause's window, and the rows of it that are exact.
struct Window {
    float *pi, *rows;
    std::span<const char> live;  // of each tile
    std::size_t low, high;

    [[gnu::always_inline]] Tile tile(std::size_t g) const {
        return {pi + g * LANES, rows + g * 2 * BLOCK * LANES, low, high};
    }
};

// The clause did not fire and gets Type I feedback: all automata step down.
TRUST_CLONES void sink(const Window& window, float q) {
    float rates[LANES];
    std::fill_n(rates, LANES, q);
    for (std::size_t g = 0; g < window.live.size(); ++g) {
        if (!window.live[g]) continue;
        const Tile tile = window.tile(g);
        lose(tile.pi, rates, tile.row(BLOCK));
        tile.fall_by(rates);
    }
}

// The clause fired and gets Type I feedback: automata step up where the literal is true, and down
// elsewhere.
TRUST_CLONES void reward(const Window& window, const float* up, const float* down) {
    for (std::size_t g = 0; g < window.live.size(); ++g) {
        if (!window.live[g]) continue;
        const Tile tile = window.tile(g);
        const float *rates_up = up + g * LANES, *rates_down = down + g * LANES;
        gain(tile.pi, rates_up, tile.row(BLOCK - 1));
        lose(tile.pi, rates_down, tile.row(BLOCK));
        tile.rise_by(rates_up);
        tile.fall_by(rates_down);
    }
}

// The clause fired and gets Type II feedback: automata of false literals step up for sure.
TRUST_CLONES void refuse(const Window& window, const float* is_false) {
    for (std::size_t g = 0; g < window.live.size(); ++g) {
        if (!window.live[g]) continue;
        const Tile tile = window.tile(g);
        gain(tile.pi, is_false + g * LANES, tile.row(BLOCK - 1));
        tile.rise_by(is_false + g * LANES);
    }
}

// ---------------------------------------------------------------- settling whole vectors

// y[i] = Σ_t taps[t] · x[4 - t + i].
[[gnu::always_inline]] inline void convolve(const float* __restrict x, float* __restrict y,
                                            std::size_t n, const float* taps) {
    const float k0 = taps[0], k1 = taps[1], k2 = taps[2], k3 = taps[3], k4 = taps[4];
    for (std::size_t i = 0; i < n; ++i)
        y[i] = k0 * x[i + 4] + k1 * x[i + 3] + k2 * x[i + 2] + k3 * x[i + 1] + k4 * x[i];
}

// The four rows at an end, from the eight rows there before.
[[gnu::always_inline]] inline void end_of(const float* __restrict x, float* __restrict y,
                                          const float* __restrict matrix) {
    float sum[4] = {};
    for (std::size_t r = 0; r < 8; ++r)
        for (std::size_t t = 0; t < 4; ++t) sum[t] += x[r] * matrix[4 * r + t];
    std::copy_n(sum, 4, y);
}

// Rows first … last - 1 of a vector of S rows.
struct Rows {
    std::size_t first, last, S;
};

// Four steps of history c, from x to y, which begin MARGIN rows before the vector.
[[gnu::always_inline]] inline void four_steps(const float* x, float* y, std::size_t c, Rows rows,
                                              const Blocks::Tables& tables) {
    const std::size_t from = MARGIN + rows.first + static_cast<std::size_t>(tables.offset[c]) - 4;
    convolve(x + from, y + MARGIN + rows.first, rows.last - rows.first, tables.taps + 5 * c);
    if (rows.first == 0) end_of(x + MARGIN, y + MARGIN, tables.bottom + 32 * c);
    if (rows.last == rows.S)
        end_of(x + MARGIN + rows.S - 8, y + MARGIN + rows.S - 4, tables.top + 32 * c);
}

// All steps of a history, to and fro between x and y; returns where the result is.
[[gnu::always_inline]] inline const float* replay(float* x, float* y, std::uint32_t history,
                                                  Rows rows, const Blocks::Tables& tables) {
    int shift = 24;
    while (history >> shift == 0) shift -= 8;
    for (; shift >= 0; shift -= 8) {
        four_steps(x, y, history >> shift & 255U, rows, tables);
        std::swap(x, y);
    }
    return x;
}

// Copy with a mass of exactly 1: rounding, step after step, would let it drift.
[[gnu::always_inline]] inline void restore(const float* __restrict x, float* __restrict y,
                                           std::size_t n) {
    const float scale = 1.0F / sum_of<float>(n, [=](std::size_t i) { return x[i]; });
    for (std::size_t i = 0; i < n; ++i) y[i] = scale * x[i];
}

// First and last row that hold mass, of rows [first, last). What is FAINT at the rim stays behind
// in the first row kept.
[[gnu::always_inline]] inline std::pair<std::size_t, std::size_t> trim(float* vector,
                                                                       std::size_t first,
                                                                       std::size_t last) {
    std::size_t a = first, b = last - 1;
    while (a < last - 1 && vector[a] < FAINT) ++a;
    while (b > a && vector[b] < FAINT) --b;
    for (std::size_t w = first; w < a; ++w) vector[a] += std::exchange(vector[w], 0.0F);
    for (std::size_t w = b + 1; w < last; ++w) vector[b] += std::exchange(vector[w], 0.0F);
    return {a, b};
}

// An automaton's vector, and the band of it that holds mass.
struct Vector {
    float* rows;
    i16* band;
};

// Replay a history, not empty, on a vector; returns its π. `room` has twice S + 2 · MARGIN numbers.
TRUST_CLONES float settled(const Vector& vector, std::uint32_t history, std::size_t S,
                           const Blocks::Tables& tables, float* room) {
    constexpr std::uint32_t low_bits = 0x55555555U;
    // a letter's high bit states up, its low bit alone down
    const std::uint32_t ups = history >> 1U & low_bits, downs = history & ~ups & low_bits;
    const i64 low = vector.band[0] - std::popcount(downs);
    const i64 high = vector.band[1] + std::popcount(ups);
    // whole vectors of eight rows
    const Rows rows{static_cast<std::size_t>(std::max<i64>(low, 0) & ~i64{7}),
                    std::min(static_cast<std::size_t>((high + 8) & ~i64{7}), S), S};
    const std::size_t n = rows.last - rows.first, begin = MARGIN + rows.first;
    float *x = room, *y = room + S + 2 * MARGIN;
    for (float* each : {x, y}) {
        std::fill_n(each + begin - MARGIN, MARGIN, 0.0F);
        std::fill_n(each + begin + n, MARGIN, 0.0F);
    }
    std::copy_n(vector.rows + rows.first, n, x + begin);
    const float* found = replay(x, y, history, rows, tables);
    restore(found + begin, vector.rows + rows.first, n);
    const auto [a, b] = trim(vector.rows, rows.first, rows.last);
    vector.band[0] = static_cast<i16>(a);
    vector.band[1] = static_cast<i16>(b);
    const std::size_t middle = std::max(S / 2, a);
    if (b < middle) return 0.0F;
    const float* upper = vector.rows + middle;
    return sum_of<float>(b + 1 - middle, [=](std::size_t i) { return upper[i]; });
}

}  // namespace

Blocks::Blocks(std::size_t C, std::size_t K, std::size_t N, const Literals& literals, double T,
               Steps steps, const Tables& tables, const Arrays& arrays)
    : C_(C),
      K_(K),
      N_(N),
      tiles_((K + LANES - 1) / LANES),
      block_(std::min(BLOCK, N)),
      literals_(literals),
      T_(T),
      q_(steps),
      tables_(tables),
      arrays_(arrays),
      band_(2 * C * K),
      window_(C * tiles_ * 2 * BLOCK * LANES),
      live_(C * tiles_),
      history_(C * tiles_ * LANES),
      steps_(C),
      truth_(tiles_ * LANES, 1),  // padding counts as true, so it never stops a clause
      false_(tiles_ * LANES),
      up_(tiles_ * LANES),
      down_(tiles_ * LANES),
      letters_(3 * tiles_ * LANES) {
    const i64 last = static_cast<i64>(2 * N) - 1;
    for (std::size_t of = 0; of < C * K; ++of) {
        const float* vector = arrays.states + of * 2 * N;
        i64 a = 0, b = last;
        while (a < last && !(vector[a] > 0.0F)) ++a;
        while (b > a && !(vector[b] > 0.0F)) --b;
        band_[2 * of] = static_cast<i16>(a);
        band_[2 * of + 1] = static_cast<i16>(b);
    }
    settle(0, C, 0);
}

std::size_t Blocks::learn(std::size_t i, const Samples& samples, const Uniforms& draws,
                          i64& right) {
    const std::size_t K = tiles_ * LANES;
    const std::span<bool> fired{arrays_.fired, C_};
    bool full = false;
    for (; i < samples.y.size() && !full; ++i) {
        literals_.at(samples.cells[i], truth_.data());
        prepare({truth_, false_.data(), up_.data(), down_.data()}, q_, letters_.data());
        const auto output = [&](std::size_t j) {
            return fires(arrays_.pi + j * K, false_.data(), K, draws.output(i)[j]);
        };
        const auto feed = [&](std::size_t j, bool own) {
            const std::size_t low = BLOCK - block_ + static_cast<std::size_t>(steps_[j]);
            const Window window{arrays_.pi + j * K,
                                window_.data() + j * K * 2 * BLOCK,
                                {live_.data() + j * tiles_, tiles_},
                                low,
                                2 * BLOCK - 1 - low};
            const std::size_t kind = !fired[j] ? 0 : own ? 1 : 2;
            note(history_.data() + j * K, letters_.data() + kind * K, K);
            if (!fired[j])
                sink(window, q_.down);
            else if (own)
                reward(window, up_.data(), down_.data());
            else
                refuse(window, false_.data());
            full |= static_cast<std::size_t>(++steps_[j]) == block_;
        };
        const auto draw = [&](std::size_t j) { return draws.feedback(i)[j]; };
        right += learn_sample(samples.y[i], T_, fired, output, draw, feed);
    }
    return i;
}

void Blocks::settle_clause(std::size_t j, float* room) {
    const std::size_t S = 2 * N_, half = block_;
    char* live = live_.data() + j * tiles_;
    std::fill_n(live, tiles_, 0);
    for (std::size_t k = 0; k < K_; ++k) {
        const std::size_t at = j * tiles_ * LANES + k, of = j * K_ + k;
        const Vector vector{arrays_.states + of * S, band_.data() + 2 * of};
        const std::uint32_t history = std::exchange(history_[at], 0U);
        if (history != 0 && !arrays_.forbidden[of])
            arrays_.pi[at] = settled(vector, history, S, tables_, room);
        const std::size_t low = static_cast<std::size_t>(vector.band[0]);
        const std::size_t high = static_cast<std::size_t>(vector.band[1]);
        if (high + half >= N_ && low < N_ + half) live[k / LANES] = 1;
    }
    for (std::size_t k = 0; k < K_; ++k) {  // a window is read only where its tile is live
        if (!live[k / LANES]) continue;
        const float* middle = arrays_.states + (j * K_ + k) * S + N_ - half;
        float* window = window_.data() + (j * tiles_ + k / LANES) * 2 * BLOCK * LANES +
                        (BLOCK - half) * LANES + k % LANES;
        for (std::size_t w = 0; w < 2 * half; ++w) window[w * LANES] = middle[w];
    }
}

void Blocks::settle(std::size_t first, std::size_t last, i64 due) {
    std::vector<float> room(2 * (2 * N_ + 2 * MARGIN));
    for (std::size_t j = first; j < last; ++j) {
        if (steps_[j] < std::min(due, static_cast<i64>(block_))) continue;
        steps_[j] = 0;
        settle_clause(j, room.data());
    }
}

}  // namespace trust::tsetlin
