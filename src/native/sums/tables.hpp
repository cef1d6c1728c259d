// Bounds on a sum of points of one feature and tables of two; see table_sum.hpp for the notation.
//
// On a box and for any numbers h of the atoms
//
//     table_p(x_f, x_g) <= K_p + h(atom of x_f) + h(atom of x_g),   K_p = max (table_p - h - h),
//
// so the sum is at most sum of K_p plus a gain of each cell. Any h is sound. Good ones are found by
// sweeps over the features at a multiplier: a feature collects from each of its tables what its
// best entry costs with each bin (`marginal`), and hands an equal share of all (`theta`) to the
// tables whose other feature is still to come. After a sweep every K_p is 0.
//
// The memory of a box is the multiplier and the h of all atoms; empty where there are no pairs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"
#include "sums/table_sum.hpp"

namespace trust {

class Tables final : public Kernel {
  public:
    explicit Tables(std::shared_ptr<const TableSum> sum);

    std::unique_ptr<Kernel> clone() const override;
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

    const TableSum& sum() const { return *sum_; }

  private:
    // The first and the last bin of an entry that has a cell, and how many bins have one.
    struct Alive {
        i64 low, high, many;
    };
    // What a relaxation is asked for. `side` is a float: it only scales numbers.
    struct Asked {
        Span span;
        double side, needed;
        std::span<const double> spend;
        double budget;
    };

    void set_alive(Span span, const double* spend, const double* h);
    bool has_several(std::size_t e) const { return alive_[e].many > 1; }
    bool is_wide(std::size_t p) const { return has_several(2 * p) && has_several(2 * p + 1); }
    void settle(double side);
    void collect(double side, std::size_t e);
    void sweep(const Asked& asked, double price, bool forward);
    void sweep_feature(const Asked& asked, double price, bool forward, std::size_t f);
    void tighten(double side);
    double constant(double side, std::size_t p) const;
    void set_gains(const Asked& asked, double* gains) const;
    double bound(const Asked& asked, const double* gains, double price) const;
    double climb(const Asked& asked, double price, double* gains);

    std::shared_ptr<const TableSum> sum_;
    std::vector<double> h_;          // of atoms; infinite where a bin has no cell
    std::vector<double> marginal_;   // of atoms
    std::vector<double> kept_;       // the best h so far; then that of the last relaxation
    std::vector<double> constants_;  // K of each pair
    std::vector<double> theta_;      // of cells
    std::vector<Alive> alive_;       // of entries
    double side_ = 0.0;              // of the last relaxation
};

}  // namespace trust
