// The seam: the bounds that a model offers the search.
//
// Notation: d features, f. A span is 2 d cells: the first cell of each feature, then the last.
// The number of a model is what it computes before any map to a confidence. `side` is +1 where the
// number must rise to reach the target and -1 where it must fall; its level is then one of
// 1 - number. `memory` is what a kernel keeps of one box: a child starts with a copy of its
// parent's.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

namespace trust {

using i8 = std::int8_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

using Span = std::span<const i64>;

class Kernel {
  public:
    Kernel() = default;
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    virtual ~Kernel() = default;

    // The same model with a workspace of its own. Two threads never share one.
    virtual std::unique_ptr<Kernel> clone() const = 0;

    // out[0] <= number <= out[1] on the span; out[2 + f] is how loose feature f makes these bounds.
    // Where none is above 0, the number is constant on the span.
    virtual void interval(Span span, double* out, const double* memory) = 0;

    // `interval` of several spans, each with a memory of its own, in rows of 2 + d. For kernels
    // that do better by many spans at a time.
    virtual void intervals(std::span<const i64> spans, std::span<const double* const> memories,
                           double* out) {
        const std::size_t many = memories.size(), size = spans.size() / many;
        for (std::size_t i = 0; i < many; ++i)
            interval(spans.subspan(i * size, size), out + i * (2 + size / 2), memories[i]);
    }

    // `memory` of a box that contains the span becomes the memory of the span.
    virtual void narrow(Span /*span*/, double* /*memory*/) {}

    // Points of the span whose number reaches the level within the budget have gains that sum to at
    // least the result. `spend` is what each cell costs, infinite beyond reach, where its gain is
    // -infinity. One more gain follows: it bounds the number of such points.
    virtual double relaxation(Span /*span*/, i64 /*side*/, double /*level*/,
                              std::span<const double> spend, double /*budget*/, double* gains,
                              double* /*memory*/) {
        for (std::size_t c = 0; c < spend.size(); ++c) gains[c] = spend[c] < INF ? 0.0 : -INF;
        gains[spend.size()] = INF;
        return -1.0;
    }

    // out[f]: the share of feature f in the error of the last relaxation at a point of cells.
    // `lasting` allows later relaxations to depend on the point; a proof of one box must not.
    virtual void errors(Span /*span*/, const i64* /*point*/, std::span<double> out,
                        bool /*lasting*/) {
        for (double& each : out) each = 0.0;
    }
};

}  // namespace trust
