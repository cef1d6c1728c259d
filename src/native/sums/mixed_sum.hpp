// The kernel of a sum of both storages: dense tables of one and two features, and lists of leaves.
//
// The number is by[0] * the number of the tables + by[1] * that of the leaves. Bounds and gains add
// up likewise. The leaves are relaxed at the costs that the gains of the tables leave to be paid at
// the last price. `memory` is that price, then the memories of both parts.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "sums/joined.hpp"

namespace trust {

class MixedSum final : public Joined {
  public:
    struct Model {  // never changes; clones share it
        std::array<double, 2> by;
        double rounding;         // besides that of both parts
        std::vector<i64> first;  // the first cell of each feature, in one row
        i64 cells;
    };

    MixedSum(Parts parts, std::shared_ptr<const Model> model);

    std::unique_ptr<Kernel> clone() const override;
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

  private:
    // What a relaxation is asked for.
    struct Asked {
        Span span;
        i64 side;
        double level;
        std::span<const double> spend;
    };

    double constant(int part, const Asked& asked, double level, std::span<const double> spend,
                    double* memory);
    double left_to_pay(const Asked& asked, double price);
    void add_gains(const Asked& asked, double* gains) const;

    std::shared_ptr<const Model> model_;
    std::array<std::vector<double>, 2> gains_;  // of each part
    std::vector<double> spend_;                 // what the gains of the tables leave to be paid
};

}  // namespace trust
