// The kernel of a sum of terms: intervals, and relaxations by dual decomposition, see `Sweeps`.
//
// The numbers are those of the model on a scale where they go from 1/4 to 3/4, so that there is
// room for rounding. `memory` is the last price, then h of each atom, then for each leaf 1 while
// the box can reach it. A box inside another starts from the h of that one: any h is sound.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel.hpp"
#include "sums/sweeps.hpp"

namespace trust {

class Terms final : public Kernel {
  public:
    // numbers: what rounding may change, then the value of each leaf; see `TermLayout`.
    Terms(std::span<const double> numbers, std::span<const i64> layout);

    std::unique_ptr<Kernel> clone() const override;
    void interval(Span span, double* out, const double* memory) override;
    void narrow(Span span, double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

  private:
    struct Model {  // never changes; clones share it
        std::vector<double> numbers;
        std::vector<i64> array;
        TermLayout lay;

        Model(std::span<const double> numbers, std::span<const i64> layout);
        Model(const Model&) = delete;  // `lay` views `array`
        double rounding() const { return numbers.front(); }
        std::span<const double> values() const { return std::span(numbers).subspan(1); }
    };
    // What the last relaxation left for `errors`; a kernel for intervals alone has none.
    struct Dual {
        Sweeps sweeps;
        double side = 1.0;
        std::vector<double> h;
        explicit Dual(const Model& model);
    };

    explicit Terms(std::shared_ptr<const Model> model);
    const double* living(const double* memory) const { return memory + 1 + lay_.atoms; }
    bool meets(Span span, i64 leaf, i64 entry, i64 many) const;
    void blame(Span span, i64 entry, i64 many, double width, double* out) const;
    bool holds(const Gathered& box, const Gathered::Leaf& leaf,
               std::span<const Gathered::Entry> entries, const i64* point) const;

    std::shared_ptr<const Model> model_;
    const TermLayout& lay_;
    Alive alive_;
    std::optional<Dual> dual_;
};

// The bound on what a sum of at least `need` costs, by better h and price, which are written to
// memory. Sweeps that choose the price themselves can get stuck, so it is made larger and smaller
// for as long as that pays. A bound of `enough` ends the search.
double climb(std::span<const double> values, const TermLayout& lay, std::span<const double> spend,
             double need, double enough, std::span<double> memory);

}  // namespace trust
