#include "sums/gathered.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace trust {

template <class Counts>
void Alive::mark(Span span, Counts counts) {
    std::ranges::fill(alive_, 0);
    for (i64 e = 0; e < lay_.entries; ++e) {
        const i64 f = lay_.feature[e];
        const i64* atom_of = lay_.cell_atom.data() + lay_.map[e];
        char* alive = alive_.data() + lay_.atom[e];
        for (i64 c = span[f]; c <= span[lay_.d + f]; ++c)
            if (counts(lay_.first[f] + c)) alive[atom_of[c]] = 1;
    }
}

void Alive::find(Span span) {
    mark(span, [](i64) { return true; });
}

void Alive::find(Span span, std::span<const double> spend) {
    mark(span, [spend](i64 c) { return spend[c] < INF; });
}

bool Alive::reaches(i64 leaf, i64 entry, i64 many) const {
    const i64* end = lay_.pair.data() + lay_.leaf_pair[leaf];
    for (i64 j = 0; j < many; ++j) {
        const char* alive = alive_.data() + lay_.atom[entry + j];
        bool found = false;
        for (i64 k = end[j]; k < end[j + 1] && !found; ++k) found = alive[lay_.takes[k]] != 0;
        if (!found) return false;
    }
    return true;
}

Gathered::Gathered(const TermLayout& lay)
    : lay_(lay),
      alive_(lay),
      terms_(lay.terms),
      entries_(lay.entries),
      leaves_(lay.leaves),
      pairs_(lay.pair.size()),
      atoms_(lay.atoms),
      takes_(lay.takes.size()),
      starts_(lay.d + 1, 0),
      cursor_(lay.d + 1),
      cells_(lay.cell_atom.size()),
      places_(lay.entries) {
    constexpr auto MOST = std::size_t(std::numeric_limits<Index>::max());
    if (std::max({lay.cell_atom.size(), lay.takes.size(), lay.pair.size()}) > MOST)
        throw std::length_error("the sum has too many leaves and cells: more than 2^31 - 1");
}

bool Gathered::gather(Span span, std::span<const double> spend, const double* living) {
    used_ = {};
    many_ = 0;
    alive_.find(span, spend);
    for (i64 t = 0; t < lay_.terms; ++t) {
        Term row{Index(t), used_.entries, used_.entries, used_.leaves, used_.leaves};
        add_leaves(t, living);
        row.leaf_end = used_.leaves;
        if (row.leaf == row.leaf_end) return false;
        if (row.leaf_end - row.leaf > 1) {
            add_entries(row, span, spend);
            add_pairs(row);
        }
        terms_[many_++] = row;
    }
    list_by_feature();
    return true;
}

void Gathered::add_leaves(i64 t, const double* living) {
    const i64 entry = lay_.term_entry[t], many = lay_.term_entry[t + 1] - entry;
    for (i64 leaf = lay_.term_leaf[t]; leaf < lay_.term_leaf[t + 1]; ++leaf)
        if (living[leaf] > 0.0 && alive_.reaches(leaf, entry, many))
            leaves_[used_.leaves++] = {Index(leaf), 0};
}

void Gathered::add_entries(Term& row, Span span, std::span<const double> spend) {
    for (i64 e = lay_.term_entry[row.term]; e < lay_.term_entry[row.term + 1]; ++e) {
        const Index begin = used_.atoms;
        for (i64 a = lay_.atom[e]; a < lay_.atom[e + 1]; ++a)
            if (alive_[a]) atoms_[used_.atoms++] = Index(a);
        if (used_.atoms - begin < 2) {
            used_.atoms = begin;
            continue;
        }
        const i64 f = lay_.feature[e], first = lay_.first[f];
        const i64* atom_of = lay_.cell_atom.data() + lay_.map[e];
        Entry& entry = entries_[used_.entries++];
        entry = {begin, used_.atoms, used_.cells, used_.cells, Index(e)};
        for (i64 c = span[f]; c <= span[lay_.d + f]; ++c)
            if (spend[first + c] < INF)
                cells_[used_.cells++] = {Index(first + c), Index(lay_.atom[e] + atom_of[c])};
        entry.cell_end = used_.cells;
    }
    row.entry_end = used_.entries;
}

void Gathered::add_pairs(const Term& row) {
    const i64 first = lay_.term_entry[row.term];
    for (Index q = row.leaf; q < row.leaf_end; ++q) {
        leaves_[q].pair = used_.pairs;
        for (const Entry& entry : entries(row)) {
            const Index begin = used_.takes, many = entry.atom_end - entry.atom;
            const i64 e = entry.entry;
            for (const i64 a : lay_.taken(leaves_[q].leaf, e - first))
                if (alive_[lay_.atom[e] + a]) takes_[used_.takes++] = Index(lay_.atom[e] + a);
            if (used_.takes - begin == many) used_.takes = begin;  // all of them
            pairs_[used_.pairs++] = {begin, used_.takes};
        }
    }
}

void Gathered::list_by_feature() {
    std::ranges::fill(starts_, 0);
    const auto feature = [this](Index e) { return lay_.feature[entries_[e].entry]; };
    for (Index e = 0; e < used_.entries; ++e) ++starts_[feature(e) + 1];
    for (i64 f = 0; f < lay_.d; ++f) starts_[f + 1] += starts_[f];
    cursor_ = starts_;
    // The order of sums: filled from the end, so that terms come as they do in the layout.
    for (i64 r = many_ - 1; r >= 0; --r)
        for (Index e = terms_[r].entry; e < terms_[r].entry_end; ++e)
            places_[--cursor_[feature(e) + 1]] = {Index(r), e};
}

}  // namespace trust
