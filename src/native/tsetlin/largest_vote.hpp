// The kernel of the largest vote: bounds on the probability that a class has it, or on its share
// beside the strongest other.
//
// Notation: V_k, the vote of class k; w, the wanted one; a tie goes to the first class. So
//
//     P_w = Σ_v P(V_w = v) Π_{j<w} P(V_j < v) Π_{j>w} P(V_j <= v)
//
// rises with the vote of w and falls with every other. The class with the largest vote beats each
// of the others, P_w <= P(V_w beats V_j), so what relaxes the pair (w, j) relaxes P_w.
#pragma once
#include <memory>
#include <vector>

#include "tsetlin/machine.hpp"

namespace trust::tsetlin {

class LargestVote final : public Kernel {
  public:
    using Tables = std::shared_ptr<const MachineTables>;

    // `banks` are the classes' clauses; each of `pairs` those of the wanted class with another's.
    // Throws std::invalid_argument where they have different features or numbers of clauses.
    LargestVote(std::vector<Tables> banks, std::vector<Tables> pairs, std::size_t wanted,
                bool strongest);

    std::unique_ptr<Kernel> clone() const override {
        return std::make_unique<LargestVote>(bank_tables_, pair_tables_, wanted_, strongest_);
    }
    void interval(Span span, double* out, const double* memory) override;
    double relaxation(Span span, i64 side, double level, std::span<const double> spend,
                      double budget, double* gains, double* memory) override;
    void errors(Span span, const i64* point, std::span<double> out, bool lasting) override;

  private:
    // P_k where its own vote is at its best and the others' at their worst, or the reverse.
    double chance(std::size_t k, bool at_best);

    std::vector<Tables> bank_tables_, pair_tables_;
    std::size_t wanted_;
    bool strongest_;
    std::vector<std::unique_ptr<Machine>> banks_, pairs_;
    std::vector<double> below_;    // of each class, the probability of a vote below the current one
    std::vector<double> of_bank_;  // the interval of one bank
    Machine* relaxed_ = nullptr;   // the pair of the last relaxation
};

}  // namespace trust::tsetlin
