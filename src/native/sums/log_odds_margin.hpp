// The kernel of a lead: bounds from the kernels of the sums of several classes.
//
// Notation: s_k is the sum of class k, w the wanted class. Its lead is s_w - log sum_{j != w} exp
// s_j, or s_w - max_{j != w} s_j over the strongest of the others. A tangent is one sum s_w - sum_j
// q_j s_j for shares q of the others; the lead is at most the tangent less the entropy H(q). Part i
// is a sum offset + width * (the number of its kernel). First come the sums of the classes, in the
// order of the classes, then the tangents. Without an `own` part, the sums are differences s_j -
// s_w.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "sums/joined.hpp"

namespace trust {

class LogOddsMargin final : public Joined {
  public:
    struct Sum {
        double offset, width, entropy;
    };
    // LogOddsMargin from `lowest` on, over `width` times two, have numbers from 1/4 to 3/4.
    struct Scale {
        double rounding, lowest, width;
        double number(double lead) const { return 0.25 + (lead - lowest) / width; }
    };
    struct Model {  // never changes; clones share it
        std::vector<Sum> sums;
        i64 classes;  // how many parts are no tangents
        i64 own;      // the part of the wanted class, -1 where there is none
        bool strongest;
        Scale scale;
    };

    LogOddsMargin(Parts parts, std::shared_ptr<const Model> model);

    std::unique_ptr<Kernel> clone() const override;
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;

  private:
    Parts::Bounds bounds(i64 i, Span span, const double* memory);
    double tangent(i64 i, Span span, const double* memory);
    i64 best_tangent(Span span, const double* memory);
    double rival(double Parts::Bounds::* end) const;

    std::shared_ptr<const Model> model_;
    std::vector<Parts::Bounds> ends_;  // of the sums of the classes
};

}  // namespace trust
