// Relations between features, such as `at most 2 of a, b, c change`.
//
// A relation may be kept in several ways. Each way is a sum of terms, one for each feature: a point
// keeps the relation where the gains of its candidates in some way add up to at least 0.
#pragma once
#include <vector>

#include "search/candidates.hpp"

namespace trust {

class Relations {
  public:
    // Four numbers for each term: the feature, where its gains begin, the candidate of the greatest
    // gain where gains rise and then fall or else -1, and what the term ends.
    Relations(std::span<const i64> terms, std::vector<double> gains);

    // What a term is the last of: nothing, a way to keep a relation, the relation.
    enum class Ends : i64 { nothing, way, relation };

    struct Term {
        i64 feature, gains, peak;
        Ends ends;
    };
    struct Part {  // terms first .. last - 1
        i64 first, last;
    };

    // Whether each relation by itself may be kept at some point of a box.
    bool may_hold(Box box) const;

    // The relations, and of each the terms of its first way: every way has the same features.
    struct Relation {
        Part all, way;
    };
    const std::vector<Relation>& each() const { return relations_; }
    i64 feature(i64 term) const { return terms_[term].feature; }

    // Whether a relation is broken on a box with one candidate of a feature.
    bool broken_with(Box box, Part relation, i64 feature, i64 candidate) const;

    // The first term of the first relation that a point breaks; -1 if it keeps all.
    i64 broken(Point point) const;

    // Where to cut a box whose corner breaks the relation that begins at a term: beyond the cut
    // begins the cheapest candidate that keeps it, the other features at the corner.
    Cut repair(const Candidates& candidates, Box box, Point corner, i64 term) const;

  private:
    double best_gain(Box box, const Term& term) const;

    std::vector<Term> terms_;
    std::vector<double> gains_;
    std::vector<Relation> relations_;
};

}  // namespace trust
