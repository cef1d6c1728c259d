// The cheapest choice of one value for each feature whose gains together reach what is needed.
//
// Notation: a multiple-choice knapsack. Costs c and gains g of the candidates of all d features lie
// in one row, those of feature f from first[f] on. A feature may also have a **line**: values
// k p / q, whole k, each one step further from its own than the one before and by as much better,
// which are not listed. Its t-th value is the choice -1 - t. At a multiplier m no answer costs less
// than
//
//     L(m) = m needed + sum over f of min (c - m g),
//
// and with another choice for a feature not less than L(m) plus the excess of that choice: its
// c - m g less the least of its feature.
#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace trust::knapsack {

inline constexpr double MARGIN = 1e-9;     // of a cost, which rounding may bring
inline constexpr double ROUNDING = 1e-10;  // of all that a bound is the sum of, likewise

// The person's own value, points per unit towards more, what a change costs, its scale, the step
// p / q, the first k, and how many values there are: 0 where a feature has no line.
struct Line {
    double own, slope, weight, scale, p, q, start, many;
};
inline constexpr std::size_t LINE = 8;  // numbers of a line in a row of an array

// The lines in rows of an array.
std::vector<Line> lines_of(std::span<const double> rows);

// What the weights of L0, L1 and squared L2 make of a cost on lines.
struct Parts {
    double l0, l1, l2;
};

struct Value {
    double cost, gain;
};

// A choice with its gain, and what was least: cost - multiplier gain, or the cost.
struct Best {
    double least = INF, gain = 0.0;
    i64 choice = 0;
};

class Sack {
  public:
    Sack(std::span<const double> costs, std::span<const double> gains, std::span<const i64> first,
         std::vector<Line> lines, Parts parts)
        : costs_(costs), gains_(gains), first_(first), lines_(std::move(lines)), parts_(parts) {}

    std::size_t features() const { return first_.size() - 1; }
    i64 listed(std::size_t f) const { return first_[f + 1] - first_[f]; }
    i64 first(std::size_t f) const { return first_[f]; }

    // Cost and gain of a choice, and of a point: a choice of each feature.
    Value at(std::size_t f, i64 choice) const;
    Value total(std::span<const i64> point) const;

    // The most that a feature can gain.
    double most_gain(std::size_t f) const;

    // The choice of a feature with the least cost - multiplier gain.
    Best bought(std::size_t f, double multiplier) const;

    // The cheapest choice of a feature that by itself gains what is needed. Of those that cost the
    // same, one that gains most.
    Best cheapest(std::size_t f, double needed) const;

    // Places on a line with cost - multiplier gain <= most, perhaps one more at each end. `end` is
    // not one of them; both are 0 where a feature has no line.
    struct Window {
        i64 begin = 0, end = 0;
    };
    Window window(std::size_t f, double multiplier, double most) const;

  private:
    bool has_line(std::size_t f) const { return !lines_.empty() && lines_[f].many > 0.0; }
    Value on_line(std::size_t f, double t) const;
    struct Parabola {
        double a, b, c;
    };
    Parabola parabola(std::size_t f, double multiplier) const;
    double best_on_line(std::size_t f, double multiplier) const;
    double enough_on_line(std::size_t f, double needed) const;

    std::span<const double> costs_, gains_;
    std::span<const i64> first_;
    std::vector<Line> lines_;
    Parts parts_;
};

// Begins each line of a person at the first value beyond their own. Returns false if one cannot be:
// its numbers are missing or too large for exact steps. `low` and `high` are the least and the
// greatest value that each feature may take.
bool begin(std::span<double> rows, std::span<const double> own, std::span<const double> low,
           std::span<const double> high);

struct Multiplier {
    double multiplier, bound;
};
// The best multiplier and its bound. Just below it the point `below` is bought, which gains too
// little, and just above it `above`, which gains enough.
Multiplier best_multiplier(const Sack& sack, double needed, std::span<i64> below,
                           std::span<i64> above);

enum class Said { UNKNOWN, NONE, FOUND };
struct Answer {
    Said said;
    i64 nodes;
};
// The cheapest choice, which is left in `point`, by a search of at most so many nodes.
Answer cheapest(const Sack& sack, double needed, i64 most_nodes, std::span<i64> point);

}  // namespace trust::knapsack
