// State vectors that learn in blocks.
//
// Notation as in learning.hpp. A state vector decides nothing but its π, and π changes only by what
// crosses from row N - 1 to row N or back. So a step touches a window of 2 · BLOCK rows around the
// middle, which stays exact for BLOCK steps, and writes the step into a short history of two bits a
// step. After at most BLOCK steps `settle` replays the history on the whole vector, four steps at a
// time: away from the two ends four shifts compose into one convolution of five taps, and at an end
// into one 8 × 4 matrix. Both are tabulated for each of the 256 histories of four.
#pragma once
#include <span>
#include <vector>

#include "tsetlin/learning.hpp"

namespace trust::tsetlin {

class Blocks {
  public:
    static constexpr std::size_t BLOCK = 16;  // a history fills 32 bits
    static constexpr std::size_t LANES = 32;  // automata that share a tile of the window

    // The letters of a history.
    enum Letter : std::uint32_t { none = 0, down = 1, up = 2, sure = 3 };

    // For each history of four: taps (256, 5), how many rows down they begin (256), and the
    // matrices of the two ends (256, 8, 4).
    struct Tables {
        const float* taps;
        const i64* offset;
        const float *bottom, *top;
    };

    // What others hold, too. K is padded to whole tiles in `pi`.
    struct Arrays {
        float* states;          // (C, K, 2N)
        const bool* forbidden;  // (C, K): automata that never learn, whose mass is in row 0
        float* pi;              // (C, tiles, LANES)
        bool* fired;            // (C)
    };

    Blocks(std::size_t C, std::size_t K, std::size_t N, const Literals& literals, double T,
           Steps steps, const Tables& tables, const Arrays& arrays);

    // Learn from sample i on until some clause's history is full; returns the next sample. Adds to
    // `right` how often the drawn vote had the right sign.
    std::size_t learn(std::size_t i, const Samples& samples, const Uniforms& draws, i64& right);

    // Carry the history of clauses [first, last) with at least `due` steps, or a full one, over to
    // their vectors.
    // Threads may do so at the same time for different clauses.
    void settle(std::size_t first, std::size_t last, i64 due);

    std::size_t clauses() const { return C_; }

  private:
    void settle_clause(std::size_t j, float* room);

    std::size_t C_, K_, N_, tiles_, block_;
    Literals literals_;
    double T_;
    Steps q_;
    Tables tables_;
    Arrays arrays_;
    std::vector<i16> band_;               // (C, K, 2): first and last row that hold mass
    std::vector<float> window_;           // (C, tiles, 2 · BLOCK, LANES)
    std::vector<char> live_;              // (C, tiles): whether a tile's window holds any mass
    std::vector<std::uint32_t> history_;  // (C, tiles, LANES)
    std::vector<i64> steps_;              // (C): steps since a clause was settled
    // of one sample: the truth of each literal, 1 - truth, the probabilities of a step up and down,
    // and three rows of letters, for a clause that did not fire, one that got Type I, and Type II
    std::vector<std::uint8_t> truth_;
    std::vector<float> false_, up_, down_;
    std::vector<std::uint32_t> letters_;
};

}  // namespace trust::tsetlin
