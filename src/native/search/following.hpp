// Columns that follow from others: what their inputs leave of them.
//
// A candidate of a derived column stands for the values after low up to high, before rounding. The
// column is a sum of its inputs, or the ratio, the least or the greatest of several sums. The
// arithmetic is that of `schema.derived`, to the same bits.
#pragma once
#include <vector>

#include "search/candidates.hpp"

namespace trust {

class Following {
  public:
    // A record for each column: its length, the column, its shape, the candidates of its own value
    // and of a missing one, how many inputs and parts it has; then each input with the same two
    // candidates; then each part: how many terms, where its numbers begin in `formulas` (a
    // constant, then a weight and an origin for each term), and the terms' columns. A candidate
    // that does not exist is -1. `low` and `high` are those of every candidate.
    Following(std::span<const i64> records, std::span<const double> formulas,
              std::vector<double> low, std::vector<double> high);

    enum class Narrowed { unchanged, inputs, empty };

    // Leaves derived columns what their inputs allow in a box, and these what keeps them there.
    Narrowed narrow(const Candidates& candidates, OpenBox box) const;

    // Gives the derived columns of a point what its inputs make; whether all lie in the box.
    bool settle(const Candidates& candidates, Box box, Point point) const;

    // Where to cut a box whose corner makes a derived column lie outside it: beyond the cut begins
    // the cheapest value of one input that brings it in, the others at the corner. Without one it
    // is the middle of the widest input. There is no cut where the corner makes all lie within.
    Cut cut_towards(const Candidates& candidates, Box box, Point corner) const;

  private:
    enum class Shape : i64 { sum, ratio, least, greatest };
    struct Input {
        i64 feature, own, missing;
    };
    struct Term {
        double weight, origin;
        i64 feature, missing;
    };
    struct Sum {
        double constant;
        std::vector<Term> terms;
    };
    struct Column {
        i64 feature;
        Shape shape;
        i64 own, missing;
        std::vector<Input> inputs;
        std::vector<Sum> parts;
    };
    struct Ends {  // in reverse if there is no value
        double low, high;
    };
    struct Known {
        Ends ends;
        bool known;  // whether its inputs are known somewhere in the box
    };

    static Known sum(const Candidates& candidates, const Sum& part, Box box);
    static Ends between(const Candidates& candidates, const Column& column, Box box);
    i64 first_from(const Candidates& candidates, i64 feature, double raw) const;
    i64 candidate(const Candidates& candidates, const Column& column, Box point) const;
    bool narrow_inputs(const Candidates& candidates, const Column& column, OpenBox box,
                       bool stays) const;
    static i32 nearest(const Candidates& candidates, const Column& column, Point point, i64 g,
                       i32 end, Ends range);

    std::vector<Column> columns_;
    std::vector<double> low_, high_;
};

}  // namespace trust
