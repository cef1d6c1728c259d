// A cheap point that reaches a level, by local search: it makes proofs quicker and proves nothing.
//
// Notation as in machine_tables.hpp. Where one feature alone takes another cell, clause j has the
// product P_j F' / F, so one pass over the table of factors judges all points one move away. From
// the cheapest point on, the move of most gain for its cost is made until the level is reached.
// Then what is not needed is taken back. Then a feature in turn is forced to a value of its own,
// and the others follow.
//
// With a link of votes the gains are those of the mean vote, which say where to go. The number
// itself says whether the level is reached.
#pragma once
#include <span>
#include <vector>

#include "tsetlin/machine_tables.hpp"

namespace trust::tsetlin {

class Guess {
  public:
    enum class Outcome : i64 { none = 0, found = 1, more = 2 };

    // The candidates of feature f are offset[f] … offset[f + 1]. A point has the place of one
    // candidate of each feature among its own.
    struct Question {
        i64 side;
        double level;  // of the number, or of -1 times it if the side is -1
        std::span<const i64> offset, cells;
        std::span<const double> costs;
        std::span<const i64> forced;  // candidates that features are forced to, in order
        std::span<i64> point;         // where the search starts, and the best point so far
        std::span<i64> trial;         // what follows from a forced candidate
    };

    // A call does `left` multiplications, roughly. The next goes on where it stopped: the result is
    // the same however the work is cut.
    struct State {
        i64 left;
        i64 phase;   // 0 until the level is reached, 1 until what is not needed is taken back, 2
        i64 forced;  // the place of the forced candidate that is tried
        i64 trying;  // 0 before, 1 until it reaches the level, 2 while the rest is taken back
        i64 better;  // whether this round found a cheaper point
        i64 round;
        i64 step;  // moves made, or the candidate that is to be taken back next
        i64 its;   // 1 + the feature of the best candidate to take back so far
        i64 to;    // that candidate
    };

    Guess(const MachineTables& tables, const Question& question, State& state);

    Outcome run();

  private:
    double value(std::span<const i64> point);
    void look(std::span<const i64> point);
    double cost_of(std::span<const i64> point) const;
    Outcome reach(std::span<i64> point, double most, i64 forced);
    Outcome take_back(std::span<i64> point);
    bool best_to_take_back(std::span<i64> point, double value);
    Outcome follow(i64 f, i64 candidate, double least);
    i64 work_of_value() const;
    i64 work_of_look() const;

    const MachineTables& m_;
    const Question& asked_;
    State& state_;
    bool linear_;
    std::vector<double> products_, firing_, law_, room_, per_, gains_;
};

}  // namespace trust::tsetlin
