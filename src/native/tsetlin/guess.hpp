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
#include <functional>
#include <span>
#include <vector>

#include "tsetlin/machine_tables.hpp"

namespace trust::tsetlin {

class Guess {
  public:
    // The candidates of feature f are offset[f] … offset[f + 1]. A point has the place of one
    // candidate of each feature among its own.
    struct Question {
        i64 side;
        double level;  // of the number, or of -1 times it if the side is -1
        std::span<const i64> offset, cells;
        std::span<const double> costs;
        std::span<const i64> forced;  // candidates that features are forced to, in order
        i64 work;                     // multiplications, roughly, between two calls of `go_on`
        std::function<bool()> go_on;  // whether to search on
    };

    Guess(const MachineTables& tables, const Question& question);

    // Searches from a point on, and leaves the best there; false if it reached no level.
    bool run(std::span<i64> point);

  private:
    struct Stopped {};  // thrown where the search is not to go on

    void pause();
    double value(std::span<const i64> point);
    void look(std::span<const i64> point);
    double cost_of(std::span<const i64> point) const;
    bool reach(std::span<i64> point, double most, i64 forced);
    void take_back(std::span<i64> point);
    bool keeps(std::span<i64> point, i64 f, i64 candidate, double here);
    void force(std::span<i64> best);

    const MachineTables& m_;
    const Question& asked_;
    i64 left_;  // of the work
    bool linear_;
    std::vector<double> products_, firing_, law_, room_, per_, gains_;
};

}  // namespace trust::tsetlin
