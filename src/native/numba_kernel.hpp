// A kernel whose functions numba compiled, called by their addresses.
#pragma once
#include <array>
#include <vector>

#include "kernel.hpp"
#include "numpy.hpp"

namespace trust {

class NumbaKernel final : public Kernel {
  public:
    struct Addresses {
        std::uintptr_t interval, relaxation, errors, narrow;
    };
    NumbaKernel(Addresses at, Array<const double> numbers, Array<const i64> layout,
                Array<const double> scratch, std::size_t memory)
        : at_(at),
          numbers_(std::move(numbers)),
          layout_(std::move(layout)),
          fresh_(std::move(scratch)),
          memory_(memory),
          scratch_(fresh_.data(), fresh_.data() + fresh_.size()) {}

    std::unique_ptr<Kernel> clone() const override {
        return std::make_unique<NumbaKernel>(at_, numbers_, layout_, fresh_, memory_);
    }
    void interval(Span span, double* out, const double* memory) override;
    void narrow(Span span, double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

  private:
    const Addresses at_;
    const Array<const double> numbers_;
    const Array<const i64> layout_;
    const Array<const double> fresh_;  // what a workspace begins with
    const std::size_t memory_;
    std::vector<double> scratch_;
};

}  // namespace trust
