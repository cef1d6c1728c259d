// The arrays that bounds on a sum of terms read: terms, entries, atoms, leaves.
//
// Notation: a term takes the value of the leaf that a point lies in; a leaf is a product of sets of
// cells. Cells of a feature that no leaf of a term separates are one atom of that term. The atoms
// of a feature are numbered in the order of their first cells. An entry is a term with one feature
// whose cells it separates. A pair is a leaf with an entry of its term; it lists the atoms that the
// leaf takes there. f is a feature, c a cell, t a term, e an entry, a an atom, j the place of an
// entry within its term.
#pragma once
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

using Flags = std::vector<char>;  // one byte each, as NumPy's booleans

// A table of booleans, row by row.
struct Mask {
    const bool* data;
    i64 width;
    const bool* row(i64 i) const { return data + i * width; }
};

// Views into a layout, which must outlive them.
struct TermLayout {
    explicit TermLayout(std::span<const i64> array);

    i64 d, terms, entries, atoms, leaves, cells;  // how many

    std::span<const i64> term_entry;  // first entry of each term, then the end
    std::span<const i64> term_leaf;   // first leaf of each term, then the end
    std::span<const i64> feature;     // of each entry
    std::span<const i64> atom;        // first atom of each entry, then the end
    std::span<const i64> map;         // first place of each entry in cell_atom, then the end
    std::span<const i64> cell_atom;   // atom of each cell, counted from the first of the entry
    std::span<const i64> leaf_pair;   // first pair of each leaf, then the end
    std::span<const i64> pair;        // first place of each pair in takes, then the end
    std::span<const i64> takes;       // atoms of the pairs, counted from the first of the entry
    std::span<const i64> first;       // first cell of each feature

    i64 end_cell(i64 f) const { return f + 1 < d ? first[f + 1] : cells; }

    // The atom of each cell of the feature of an entry.
    std::span<const i64> atom_of(i64 e) const {
        return cell_atom.subspan(map[e], map[e + 1] - map[e]);
    }

    // The atoms that a leaf takes in the entry at place j of its term.
    std::span<const i64> taken(i64 leaf, i64 j) const {
        const i64 p = leaf_pair[leaf] + j;
        return takes.subspan(pair[p], pair[p + 1] - pair[p]);
    }

    // The atom of an entry that a point of cells lies in, counted from the first of all.
    i64 atom_at(i64 e, const i64* point) const {
        return atom[e] + cell_atom[map[e] + point[feature[e]]];
    }
};

// The layout of leaves: `allowed` has a row of cells for each, `starts` the first leaf of each term
// and the end, `sizes` the number of cells of each feature.
std::vector<i64> make_layout(const Mask& allowed, std::span<const i64> starts,
                             std::span<const i64> sizes);

// The leaves that have an atom with a remaining cell in each entry of their term.
Flags living_leaves(const TermLayout& lay, std::span<const bool> cells);

// A layout of fewer cells. The other members give the number that each part had before.
struct Compact {
    std::vector<i64> layout;
    std::vector<i64> leaves;
    std::vector<i64> constant;  // the only leaf of each term that has one; such terms are left out
    std::vector<i64> cells;
    std::vector<i64> atoms;  // of each atom before its number now, -1 where it has none
};

// Without cells, leaves and atoms out of reach. Of neighbouring cells that no leaf separates, the
// cheapest stays; of features that are kept apart all stay.
Compact compact(const TermLayout& lay, std::span<const bool> cells, std::span<const double> costs,
                std::span<const bool> apart);

}  // namespace trust
