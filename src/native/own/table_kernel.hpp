// A kernel of a user's own: a table of plain C functions.
#pragma once
#include "kernel.hpp"
#include "trust_kernel.h"

namespace trust {

class TableKernel final : public Kernel {
  public:
    // `owner` keeps alive what the table points to.
    TableKernel(const trust_kernel& table, std::shared_ptr<void> owner)
        : table_(table), owner_(std::move(owner)) {}

    std::unique_ptr<Kernel> clone() const override {
        return std::make_unique<TableKernel>(table_, owner_);
    }
    void interval(Span span, double* out, const double* memory) override {
        table_.interval(table_.self, span.data(), out, memory);
    }
    void narrow(Span span, double* memory) override {
        if (table_.narrow != nullptr) table_.narrow(table_.self, span.data(), memory);
    }
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override {
        if (table_.relaxation == nullptr)
            return Kernel::relaxation(span, side, level, spend, budget, gains, memory);
        return table_.relaxation(table_.self, span.data(), side, level, i64(spend.size()),
                                 spend.data(), budget, gains, memory);
    }

  private:
    const trust_kernel table_;
    const std::shared_ptr<void> owner_;
};

}  // namespace trust
