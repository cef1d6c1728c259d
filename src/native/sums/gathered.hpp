// What matters of a sum of terms on one box: terms that are not constant there, their entries with
// more than one atom, and the leaves that a payable point can reach.
#pragma once
#include <span>
#include <vector>

#include "sums/layout.hpp"

namespace trust {

// Atoms with a cell in a span.
class Alive {
  public:
    explicit Alive(const TermLayout& lay) : lay_(lay), alive_(lay.atoms, 0) {}

    void find(Span span);
    void find(Span span, std::span<const double> spend);  // payable cells only

    bool operator[](i64 atom) const { return alive_[atom] != 0; }

    // Whether a leaf has an alive atom in each of the `many` entries of its term from `entry` on.
    bool reaches(i64 leaf, i64 entry, i64 many) const;

  private:
    template <class Counts>
    void mark(Span span, Counts counts);

    const TermLayout& lay_;
    Flags alive_;
};

class Gathered {
  public:
    // 32 bits: lists of half the size are read faster. A layout with more atoms or cells is
    // refused.
    using Index = i32;

    struct Term {
        Index term, entry, entry_end, leaf, leaf_end;
    };
    struct Entry {
        Index atom, atom_end, cell, cell_end, entry;
    };
    struct Leaf {
        Index leaf, pair;
    };
    struct Pair {  // the atoms that a leaf takes of an entry
        Index take, end;
        bool all() const { return take == end; }
    };
    struct CellAtom {
        Index cell, atom;
    };
    struct Place {  // an entry, and the row of its term
        Index row, entry;
    };

    explicit Gathered(const TermLayout& lay);

    // False if no leaf of some term can be paid; the terms before it are listed all the same.
    bool gather(Span span, std::span<const double> spend, const double* living);

    std::span<const Term> terms() const { return {terms_.data(), std::size_t(many_)}; }
    std::span<const Entry> entries(const Term& t) const {
        return {entries_.data() + t.entry, entries_.data() + t.entry_end};
    }
    std::span<const Leaf> leaves(const Term& t) const {
        return {leaves_.data() + t.leaf, leaves_.data() + t.leaf_end};
    }
    std::span<const Index> atoms(const Entry& e) const {
        return {atoms_.data() + e.atom, atoms_.data() + e.atom_end};
    }
    std::span<const CellAtom> cells(const Entry& e) const {
        return {cells_.data() + e.cell, cells_.data() + e.cell_end};
    }
    std::span<const Index> taken(const Pair& p) const {
        return {takes_.data() + p.take, takes_.data() + p.end};
    }
    std::span<const Place> places(i64 f) const {  // the entries of a feature, by terms
        return {places_.data() + starts_[f], places_.data() + starts_[f + 1]};
    }
    const Pair& pair(i64 p) const { return pairs_[p]; }
    const Term& term(const Place& place) const { return terms_[place.row]; }
    const Entry& entry(const Place& place) const { return entries_[place.entry]; }

  private:
    struct Used {  // of each list
        Index entries = 0, leaves = 0, pairs = 0, atoms = 0, cells = 0, takes = 0;
    };

    void add_leaves(i64 t, const double* living);
    void add_entries(Term& row, Span span, std::span<const double> spend);
    void add_pairs(const Term& row);
    void list_by_feature();

    const TermLayout& lay_;
    Alive alive_;
    Used used_;
    i64 many_ = 0;
    std::vector<Term> terms_;
    std::vector<Entry> entries_;
    std::vector<Leaf> leaves_;
    std::vector<Pair> pairs_;
    std::vector<Index> atoms_, takes_, starts_, cursor_;
    std::vector<CellAtom> cells_;
    std::vector<Place> places_;
};

}  // namespace trust
