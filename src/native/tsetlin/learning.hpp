// What all machines share when they learn.
//
// Notation, as in the paper's Appendix B: C clauses, j; K automata of a clause (literals and their
// negations), k; N states per action: the 2N states of an automaton are rows 0 … 2N - 1, include
// from row N on; π the inclusion mass of an automaton; s specificity; T vote target; v the vote.
// Even clauses vote for class 1, odd ones against it.
#pragma once
#include <algorithm>
#include <span>

#include "tsetlin/inference.hpp"
#include "tsetlin/literals.hpp"

namespace trust::tsetlin {

using i16 = std::int16_t;

// Samples in the order of learning: rows of cells, and 0 or 1 for each.
struct Samples {
    Matrix<const i32> cells;
    std::span<const i8> y;
};

// Uniform draws of vector machines, (n, 2, C): of each clause's output, and of its feedback.
struct Uniforms {
    const float* data;
    std::size_t clauses;

    const float* output(std::size_t i) const { return data + 2 * i * clauses; }
    const float* feedback(std::size_t i) const { return output(i) + clauses; }
};

// The probabilities of a step up, (s - 1) / s, and of a step down, 1 / s.
struct Steps {
    float up, down;
};

inline i64 vote_of(std::size_t j) { return j % 2 == 0 ? 1 : -1; }

// Whether a clause votes for the sample's class: Type I feedback goes to it, Type II to the others.
inline bool votes_for(std::size_t j, i8 y) { return (j % 2 == 0) == (y == 1); }

// The probability that a clause gets feedback: (T ∓ v) / 2T with v clipped to [-T, T].
inline double feedback(i64 v, i8 y, double T) {
    const double clipped = std::min(std::max(static_cast<double>(v), -T), T);
    return (y == 1 ? T - clipped : T + clipped) / (2.0 * T);
}

// One sample: draws each clause's output, then gives feedback to those that get some; whether the
// drawn vote had the right sign. `fires(j)` draws an output, `draw(j)` a number for the feedback,
// and `feed(j, own)` gives it, Type I if the clause votes for the sample's class.
template <class Fires, class Draw, class Feed>
[[gnu::always_inline]] inline bool learn_sample(i8 y, double T, std::span<bool> fired,
                                                const Fires& fires, const Draw& draw,
                                                const Feed& feed) {
    i64 v = 0;
    for (std::size_t j = 0; j < fired.size(); ++j) {
        fired[j] = fires(j);
        if (fired[j]) v += vote_of(j);
    }
    const double give = feedback(v, y, T);
    for (std::size_t j = 0; j < fired.size(); ++j) {
        const bool own = votes_for(j, y);
        if (draw(j) < give && (own || fired[j])) feed(j, own);
    }
    return (v >= 0) == (y == 1);
}

// Literals that the clauses of a polarity may use, (2, K): those that vote for class 1 come first.
using Allowed = Matrix<const bool>;

// State vectors, learnt step by step on all 2N rows. With `keep`, mass in the include half stays
// where it is when a clause fires on a false literal.
struct PlainVectors {
    Literals literals;
    Allowed allowed;
    double T;
    Steps steps;
    bool keep;
    std::size_t N, K;
    float* states;  // (C, K, 2N)
    float* pi;      // (C, K)
    std::span<bool> fired;

    // Returns how often the drawn vote had the right sign.
    i64 learn(const Samples& samples, const Uniforms& draws);
};

// The ordinary Tsetlin Machine (Granmo 2018): one integer state per automaton, (C, K).
struct Integers {
    Literals literals;
    Allowed allowed;
    double T, s;
    i64 N;
    Matrix<i16> states;
    std::span<bool> fired;

    i64 learn(const Samples& samples, const BitGenerator& draws);
};

}  // namespace trust::tsetlin
