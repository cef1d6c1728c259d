// The loops of inference: firing, the law of the vote, weighted votes, Monte Carlo.
//
// Notation: n rows, i; C clauses, j; F features, f; q_j the probability that clause j fires; g the
// link, tabulated at v = -C/2 … C/2; b and w_j p_j the intercept and the weights of the logistic
// link, each with its clause's sign; R = b + Σ_j w_j p_j q_j.
//
// A row's values depend on that row alone: sums over clauses are added up in one order.
#pragma once
#include <cstddef>
#include <span>

#include "tsetlin/literals.hpp"

namespace trust::tsetlin {

// A matrix in C order.
template <class T>
struct Matrix {
    T* data;
    std::size_t rows, columns;

    T* operator[](std::size_t i) const { return data + i * columns; }
};

// out = q, (n, C): q_j(x) = Π_f F_jf[cell_f(x)] - E_j. `factors` is (Σ cells, C).
void firing(Matrix<const i32> cells, std::span<const i64> first_cell, Matrix<const double> factors,
            std::span<const double> empty, Matrix<double> out);

// The law of v for each row of q, (n, C + 1).
void vote_laws(Matrix<const double> q, Matrix<double> out);

// E[g(v)] of each row of laws.
void expectation(Matrix<const double> law, std::span<const double> g, std::span<double> out);

// R of each row of q.
void scores(Matrix<const double> q, std::span<const double> weights, double intercept,
            std::span<double> out);

// σ of each score. Far below 0 the exponential is infinite, and 1 / ∞ is the 0 that is meant.
void logistic(std::span<const double> score, std::span<double> out);

// The log-loss of all rows together, and its derivatives by w_j p_j and, last, by b.
double log_loss(Matrix<const double> q, std::span<const i8> y, std::span<const double> weights,
                double intercept, std::span<double> gradient);

// ∂M/∂q_j for each row of q: what E[g(v)] gains when clause j fires for sure.
void slopes(Matrix<const double> q, std::span<const double> g, Matrix<double> out);

// Truth of every literal at each row of cells.
void literal_rows(Matrix<const i32> cells, const Literals& literals, Matrix<std::uint8_t> out);

// Numbers drawn from a NumPy bit generator: the same stream as `Generator.random()`.
//
// The struct in the capsule "BitGenerator" of a bit generator, declared by NumPy as `bitgen_t`.
struct BitGenerator {
    void* state;
    std::uint64_t (*next_uint64)(void* state);
    std::uint32_t (*next_uint32)(void* state);
    double (*next_double)(void* state);
    std::uint64_t (*next_raw)(void* state);

    // Uniform on [0, 1). The caller holds the generator's lock.
    double uniform() const { return next_double(state); }
};

// Passes that draw every automaton again, at rows of cells; `inclusion` is (C, 2o).
struct Passes {
    Matrix<const i32> cells;
    Literals literals;
    Matrix<const double> inclusion;
    i64 many;
    const BitGenerator& draws;
};

// The mean over the passes of what the clauses that fire are worth, more by the intercept: of g(v)
// by C + 1 values of the link, the paper's M(x), or of the score by C weights.
void monte_carlo(const Passes& passes, std::span<const double> worth, double intercept,
                 std::span<double> out);

}  // namespace trust::tsetlin
