// The kernel of a Tsetlin machine: an interval, and one separable upper bound. See machine.cpp.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"
#include "tsetlin/machine_tables.hpp"

namespace trust::tsetlin {

// How far products in another order may lie from a prediction's.
inline constexpr double ROUNDING = 1e-12;

// What the bounds work in, of C entries each unless stated otherwise.
struct MachineRoom {
    explicit MachineRoom(const MachineTables& tables);

    std::vector<double> least, most;       // q_j + E_j on the span
    std::vector<double> down, up;          // q_j where the vote is least, where it is greatest
    std::vector<double> law_down, law_up;  // laws of the vote there, C + 1
    std::vector<double> law_room;          // C + 1
    std::vector<double> weight;            // of each clause in the number
    std::vector<double> slope;             // of the relaxation in S_j
    std::vector<double> high, low;         // bounds on S_j, and on -S_j
    std::vector<double> floor;             // log F of the cheapest cell, or -infinity
    std::vector<double> sign, one, two, all_one, all_two;  // of the bounds within a budget
    std::vector<double> error, clipped;                    // of `errors`
    std::vector<i64> cheapest;  // of each feature, its cheapest cell within the span
    // these three last from call to call
    std::vector<double> rate;     // the multiplier of the budget that bounds each clause best
    std::vector<double> touched;  // S_j at the last point that lasts; above 0 where there is none
    std::vector<double> touches;  // where the last tangent touched
};

class Machine final : public Kernel {
  public:
    static constexpr std::size_t LONG = 64;  // with fewer clauses, half take as long as all

    explicit Machine(std::shared_ptr<const MachineTables> tables)
        : tables_(std::move(tables)), room_(*tables_) {}

    std::unique_ptr<Kernel> clone() const override { return std::make_unique<Machine>(tables_); }
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

    const MachineTables& tables() const { return *tables_; }

  private:
    std::shared_ptr<const MachineTables> tables_;
    MachineRoom room_;
};

}  // namespace trust::tsetlin
