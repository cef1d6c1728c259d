// Dual decomposition of a sum of terms on a box.
//
// Notation: a term t adds f_t(x), the value v of the leaf l that x lies in. For any function h of
// the atoms,
//
//     f_t(x) <= K_t + sum over its entries e of h_e(x),   K_t = max_l (v_l - sum_e min h_e on l),
//
// so the sum is at most K + sum_f g_f(x_f) with K = sum_t K_t and the gains g_f = sum h of the
// entries of f. Good h come from sweeps over the features at a multiplier, the price (Kolmogorov,
// "A new look at reweighted message passing", 2015). No sweep makes the bound at a price worse.
// `side` is +1 or -1: the bounded sum is side * sum. `h` has a number for each atom.
#pragma once
#include <span>
#include <vector>

#include "sums/gathered.hpp"

namespace trust {

inline constexpr int SWEEPS = 4;  // up and down the features, for each box
// Prices below the first count as none; those above the second are too many.
inline constexpr double LEAST_PRICE = 1e-12, MOST_PRICE = 1e9;

class Sweeps {
  public:
    Sweeps(const TermLayout& lay, std::span<const double> values);

    // Gathers what matters on the span; false if no leaf of some term can be paid.
    bool begin(Span span, std::span<const double> spend, const double* living) {
        return box_.gather(span, spend, living);
    }
    const Gathered& box() const { return box_; }

    // The sum over the entries of each leaf of the least h of its atoms, and its summands.
    void sum_leaves(const double* h);

    // Pass costs through the terms, one feature after another. A feature collects from each of its
    // terms what the cheapest leaf costs with each atom. It gives an equal share of all to those
    // terms that have a feature still to come.
    void sweep(double side, double price, std::span<const double> spend, bool forward, double* h);

    // K, and the sum over the terms of the greatest value. K_t is kept for `constant`.
    struct Constants {
        double total, most;
    };
    Constants sum_constants(double side);
    double constant(i64 term) const { return constants_[term]; }

    // Write g of every cell of the span.
    void fill_gains(Span span, const double* h, double* gains) const;

    double value(const Gathered::Leaf& leaf) const { return values_[leaf.leaf]; }

  private:
    using Places = std::span<const Gathered::Place>;

    void collect(Places places, double side, double price, std::span<const double> spend);
    void hand_out(const Gathered::Place& place, double share, bool goes_on, double price,
                  double* h);
    double least(const Gathered::Entry& entry, const Gathered::Pair& pair, const double* h) const;

    std::span<const double> values_;
    const TermLayout& lay_;
    Gathered box_;
    std::vector<double> marginal_, best_;  // of each atom: the cheapest leaf, the cheapest cell
    std::vector<double> theta_;            // of each cell: what it costs with all terms
    std::vector<double> sums_;             // of each leaf
    std::vector<double> each_;             // of each pair: its summand in `sums_`
    std::vector<double> constants_;        // of each term
};

// Set the gains of the cells of a span to 0.
void clear_gains(const TermLayout& lay, Span span, double* gains);

// The least sum over the features of spend - price * gain on the span, and the gains of that point.
// The cells of feature f begin at first[f].
struct Priced {
    double total, gain;
};
Priced priced(std::span<const i64> first, Span span, std::span<const double> spend,
              const double* gains, double price);

// The price at which price * needed + `priced` is greatest.
double best_price(std::span<const i64> first, Span span, std::span<const double> spend,
                  const double* gains, double needed, double price);

}  // namespace trust
