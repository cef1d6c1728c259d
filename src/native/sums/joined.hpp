// A kernel made of others, whose memories lie one after another in its own.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

// Kernels with a workspace of their own, and where the memory of each begins.
class Parts {
  public:
    struct Bounds {
        double least, most;
    };

    Parts(std::span<const Kernel* const> kernels, std::span<const i64> memory, i64 features)
        : memory_(memory.begin(), memory.end()), bounds_(2 + features) {
        for (const Kernel* kernel : kernels) kernels_.push_back(kernel->clone());
    }

    Parts clone() const {
        std::vector<const Kernel*> kernels;
        for (const auto& kernel : kernels_) kernels.push_back(kernel.get());
        return {kernels, memory_, i64(bounds_.size()) - 2};
    }

    i64 size() const { return i64(kernels_.size()); }
    Kernel& operator[](i64 i) { return *kernels_[i]; }
    i64 begin(i64 i) const { return memory_[i]; }

    // Bounds on the number of part i; `looseness` is then that of its features.
    Bounds interval(i64 i, Span span, const double* memory) {
        kernels_[i]->interval(span, bounds_.data(), memory + memory_[i]);
        return {bounds_[0], bounds_[1]};
    }
    std::span<const double> looseness() const { return std::span(bounds_).subspan(2); }

    // The relaxation of part i, whose number must rise.
    double relaxation(i64 i, Span span, double level, std::span<const double> spend, double budget,
                      double* gains, double* memory) {
        return kernels_[i]->relaxation(span, 1, level, spend, budget, gains, memory + memory_[i]);
    }

    void narrow(Span span, double* memory) {
        for (i64 i = 0; i < size(); ++i) kernels_[i]->narrow(span, memory + memory_[i]);
    }

  private:
    std::vector<std::unique_ptr<Kernel>> kernels_;
    std::vector<i64> memory_;
    std::vector<double> bounds_;
};

// What a kernel of parts has in common: relaxations and errors are those of one part.
class Joined : public Kernel {
  public:
    void narrow(Span span, double* memory) override { parts_.narrow(span, memory); }

    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override {
        if (relaxed_ == NONE)
            Kernel::errors(span, point, out, lasting);
        else
            parts_[relaxed_].errors(span, point, out, lasting);
    }

  protected:
    static constexpr i64 NONE = -1;

    explicit Joined(Parts parts) : parts_(std::move(parts)) {}

    // A relaxation without content, for a number that must fall.
    double no_relaxation(Span span, i64 side, double level, std::span<const double> spend,
                         double budget, double* gains, double* memory) {
        relaxed_ = NONE;
        return Kernel::relaxation(span, side, level, spend, budget, gains, memory);
    }

    Parts parts_;
    i64 relaxed_ = NONE;  // the part of the last relaxation
};

}  // namespace trust
