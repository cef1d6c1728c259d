// Bounds on a sum of points: one number for each feature's cell.
//
// Notation: d features f, whose cells lie in one row, those of feature f from first[f] on; `points`
// has the number of each cell, on a scale where sums go from 1/4 to 3/4. `rounding` is what
// rounding may change of a sum of them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

class Points final : public Kernel {
  public:
    // `numbers` are the points and, last, the rounding.
    Points(std::span<const double> numbers, std::span<const i64> first);

    std::unique_ptr<Kernel> clone() const override;
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;

  private:
    struct Model {
        std::vector<double> points;
        std::vector<i64> first;
        double rounding;
    };
    explicit Points(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

    std::shared_ptr<const Model> model_;
};

// The sums of rows of codes, and of the sizes of what is added up.
struct Totals {
    std::span<double> sum, size;
};

// A card in one row of cells: a code x in cell c has points[c] + slopes[c] x, a missing one points
// alone.
struct Card {
    std::span<const i64> first;
    std::span<const double> points, slopes;
    double base;
};

// Adds up the points of rows of codes, which lie in these cells. The base is added last.
void add_up(const Card& card, std::span<const double> codes, std::span<const i32> cells,
            Totals out);

}  // namespace trust
