// A kernel of a user's own, written in Python: an object with a method `intervals`.
//
// It is called for as many boxes at a time as the search has, which is often two.
#pragma once
#include "kernel.hpp"
#include "numpy.hpp"

namespace trust {

class PythonKernel final : public Kernel {
  public:
    explicit PythonKernel(nb::object object) : object_(std::move(object)) {}

    std::unique_ptr<Kernel> clone() const override {
        const nb::gil_scoped_acquire held;
        return std::make_unique<PythonKernel>(object_);
    }
    void interval(Span span, double* out, const double* memory) override {
        intervals(span, {&memory, 1}, out);
    }
    void intervals(std::span<const i64> spans, std::span<const double* const> memories,
                   double* out) override;

  private:
    nb::object object_;
};

}  // namespace trust
