// Branch and bound over boxes of candidates.
//
// A box costs at least the sum of its cheapest candidates, its corner. Boxes are opened in the
// order of that bound. One whose numbers all miss a condition is discarded; a corner that meets all
// of them is an answer, since nothing unopened is cheaper; any other box is cut. A box is bounded
// twice: by the numbers over it and the cost of its corner when it is made, and by multipliers,
// which costs more, when its turn comes.
//
// Notation: d features, f; K conditions, k. A condition asks that the number of its kernel lies
// within low .. high. It has a grid of cells of its own: the cells of all candidates in one row,
// and where each feature's cells begin in a row of all cells, such as `gains`. The first condition
// is the one that the search is about. The last one may ask around a point: for every cell that
// lies between lows and highs of the point's candidates.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "search/boxes.hpp"
#include "search/candidates.hpp"
#include "search/following.hpp"
#include "search/relations.hpp"
#include "search/tree.hpp"

namespace trust {

inline constexpr double SAFE = 1e-11;  // of a bound is given up for rounding

struct Condition {
    std::unique_ptr<Kernel> kernel;
    std::vector<double> memory;  // of the box of all cells
    std::vector<i64> cells;
    std::vector<i64> first_cell;
    i64 many_cells;
    i64 side;
    double low = -1.0, high = 2.0;
    double multiplier = 0.1;  // of the last bound, with which the next begins
    i64 memory_at = 0;        // where its memory begins in that of a box
};

// The cells around each candidate, of the condition that asks around a point, and the person's own
// cells, where the number tends to miss the floor.
struct Around {
    std::vector<i64> lows, highs, own;
};

// Why a search pauses. A point that may be an answer is in `corner`: `found` is the cheapest left,
// `better` is one that was met on the way. `full`: too many boxes wait.
enum class Said { done, found, better, paused, full };

class Search {
  public:
    Search(Candidates candidates, std::vector<Condition> conditions, std::optional<Around> around,
           Relations relations, Following following, i64 most_boxes);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    struct Question {
        double low, high;
        i64 side;
        double key;          // of the box of all candidates
        bool most;           // the greatest number is asked for, whatever it costs
        i64 heuristic_from;  // boxes after which points that meet the target are looked for
        bool prove;          // the tree is kept
    };
    void begin(const Question& question);

    // Opens so many boxes at most.
    Said run(i64 boxes);

    std::span<const i32> corner() const { return corner_; }
    i64 nodes() const { return nodes_; }
    double bound() const;  // what every answer still to come costs at least
    const Tree& tree() const { return tree_; }
    i64 memory() const { return memory_; }

    double cutoff = INF;    // an answer costs no more than this
    double reached = -1.0;  // the number to go beyond, where the most is asked for; 1 - number if
                            // the side is -1
    Condition& target() { return conditions_.front(); }
    i64 heuristic_from = 0;

  private:
    static constexpr i32 NOBODY = -1;

    // A condition on what the candidates cost after the multipliers of other conditions.
    struct Priced {
        Condition& condition;
        const double* costs;
        const i64* cells;  // of all candidates: the condition's, or others around a point

        i64 cell(i64 at) const { return cells[at]; }
    };
    struct Relaxed {
        double needed, most;  // the gain that the level needs, and the most there is
        bool enough;
    };
    struct Bought {
        double total, gain;
    };

    // boxes: search_boxes.cpp
    i64 d() const { return candidates_.features(); }
    OpenBox box(i32 slot) { return boxes_.box(slot); }
    bool is_around(const Condition& condition) const {
        return around_ && &condition == &conditions_.back();
    }
    double corner_of(i32 slot, Point corner);
    i64 widest(i32 slot);
    double* memory_of(i32 slot, const Condition& condition);
    void span_of(i32 slot, const Condition& condition, std::span<i64> span);
    void span_of_point(Point point, const Condition& condition);
    void bounded(i32 slot, Condition& condition);
    bool surely_met(const Condition& condition) const;
    i32 child(i32 slot, i64 f, i32 first, i32 last, i32 node);
    bool tighten(i32 slot, Relations::Part relation, i64 f, bool upper);
    void tightened(i32 slot);

    // the first bound: first_bound.cpp
    bool prepared(i32 slot);
    void note_first(i32 slot, const double* out);
    void admit(std::span<const i32> slots);
    void judge(std::span<const i32> slots, std::span<Reason> said);

    // the second bound: lagrangian.cpp
    double level(const Condition& condition) const;
    void spending(i32 slot, const Priced& priced, double budget);
    double most_gain(i32 slot, const Priced& priced, Point point);
    Relaxed relaxed(i32 slot, const Priced& priced);
    Bought bought(i32 slot, const Priced& priced, double multiplier, Point point);
    double best_multiplier(i32 slot, const Priced& priced, double needed);
    i32 fixed(i32 slot, const Priced& priced, i64 f, int end, double needed, double most,
              double multiplier, double room);
    bool costs_more(i32 slot, const Priced& priced, i64 f, i32 first, i32 last, double multiplier,
                    double room);
    i64 trim(i32 slot, const Priced& priced, double needed, double most, double multiplier);
    void aim(i32 slot, const Priced& priced, double multiplier);
    bool bounded_by(i32 slot, const Priced& priced, double paid);
    void reduce(i32 slot, const Priced& priced);
    enum class Again { discarded, stays, better };
    Again bounded_by_more(i32 slot, bool heuristic);
    Again bounded_for_most(i32 slot);
    Again bounded_again(i32 slot);

    // points bought: points.cpp
    bool meets(i32 slot, Point point);
    double polish(i32 slot, Point point);
    bool heuristic(i32 slot, const Priced& priced, double multiplier);

    // what asks around a point: robust.cpp
    // How far bounds are within an interval at most: negative where they miss it.
    static double beyond_floor(const Condition& floor, const double* out) {
        return std::min(out[1] - floor.low, floor.high - out[0]);
    }
    void span_towards(i32 slot, std::span<i64> span);
    double above_floor(i32 slot);
    bool loss_near(i32 slot, const i32* known, Point point);
    void move_loss(i32 slot, i64 first, i64 last);
    void keep_loss(i32 slot, Point corner);
    Cut cut_away(i32 slot, Point corner);
    void shift(i32 slot);

    // the loop: loop.cpp
    struct Opened {
        std::optional<Said> said;
        i32 slot;
    };
    bool may_meet(i32 slot, Point point);
    std::optional<Said> tried(i32 slot);
    Opened opened(i64 stop_at);
    struct Choice {
        std::optional<Reason> leaf;
        Cut cut;
    };
    Choice where_to_cut(i32 slot, bool refused);
    i32 split(i32 slot, Cut cut, bool refused);

    const Candidates candidates_;
    std::vector<Condition> conditions_;
    const std::unique_ptr<const Around> around_;  // none unless a condition asks around a point
    const Relations relations_;
    const Following following_;
    const i64 most_boxes_;
    i64 memory_ = 0;  // how many numbers the kernels keep of a box

    Boxes boxes_;
    Tree tree_;
    bool most_ = false;
    i64 nodes_ = 0;
    i32 held_ = NOBODY;    // the box whose corner was an answer
    double bound_ = 0.0;   // by the last multiplier
    double enough_ = 0.0;  // a multiplier that buys the gain needed; infinite if none was seen
    double needed_ = 0.0;  // the gain that the last level needs

    std::vector<i64> span_, cells_;  // cells_: of a point
    std::vector<i64> spans_;         // of two boxes
    std::vector<double> out_, outs_;
    std::vector<double> gains_, spend_;
    std::vector<i32> point_, corner_;
    std::vector<i64> start_, goal_;  // cells between which a loss is moved
    std::vector<i64> shifted_;       // a cell around each candidate
    std::vector<double> reduced_;    // what is left to pay after other conditions
};

}  // namespace trust
