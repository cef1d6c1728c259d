#include "sums/layout.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace trust {

namespace {

constexpr std::size_t COUNTS = 6, PARTS = 10, HEAD = COUNTS + PARTS;

// The parts of a layout in the making, in the order of `TermLayout`.
struct Parts {
    std::vector<i64> term_entry{0}, term_leaf{0}, feature, atom{0}, map{0}, cell_atom, leaf_pair{0},
        pair{0}, takes, first;

    std::vector<i64> packed(i64 cells) const {
        const std::array<const std::vector<i64>*, PARTS> parts{
            &term_entry, &term_leaf, &feature, &atom,  &map,
            &cell_atom,  &leaf_pair, &pair,    &takes, &first};
        std::vector<i64> all{i64(first.size()), i64(term_entry.size()) - 1, i64(feature.size()),
                             atom.back(),       i64(leaf_pair.size()) - 1,  cells};
        i64 begin = HEAD;
        for (const auto* part : parts) {
            all.push_back(begin);
            begin += i64(part->size());
        }
        all.reserve(begin);
        for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
        return all;
    }
};

// Add the entries of the next term, whose leaves are the rows from `leaf` to `end`. What separates
// no cells of a feature has no entry with it.
void add_entries(Parts& parts, const Mask& allowed, i64 leaf, i64 end, std::span<const i64> sizes) {
    std::vector<i64> kind;  // the first cell of each atom
    const auto alike = [&](i64 a, i64 b) {
        for (i64 i = leaf; i < end; ++i)
            if (allowed.row(i)[a] != allowed.row(i)[b]) return false;
        return true;
    };
    for (std::size_t f = 0; f < sizes.size(); ++f) {
        const std::size_t begin = parts.cell_atom.size();
        const i64 first = parts.first[f];
        kind.clear();
        for (i64 c = first; c < first + sizes[f]; ++c) {
            const auto found = std::ranges::find_if(kind, [&](i64 k) { return alike(c, k); });
            parts.cell_atom.push_back(found - kind.begin());
            if (found == kind.end()) kind.push_back(c);
        }
        if (kind.size() < 2) {
            parts.cell_atom.resize(begin);
            continue;
        }
        parts.feature.push_back(i64(f));
        parts.atom.push_back(parts.atom.back() + i64(kind.size()));
        parts.map.push_back(i64(parts.cell_atom.size()));
    }
    parts.term_entry.push_back(i64(parts.feature.size()));
}

// Add the pairs of the next leaf, a row of cells, with the entries from `entry` on.
void add_pairs(Parts& parts, const bool* allowed, i64 entry) {
    for (std::size_t e = entry; e < parts.feature.size(); ++e) {
        const bool* own = allowed + parts.first[parts.feature[e]];
        i64 seen = -1;
        for (i64 at = parts.map[e]; at < parts.map[e + 1]; ++at) {
            const i64 a = parts.cell_atom[at];
            if (a <= seen) continue;  // not the first cell of its atom
            seen = a;
            if (own[at - parts.map[e]]) parts.takes.push_back(a);
        }
        parts.pair.push_back(i64(parts.takes.size()));
    }
    parts.leaf_pair.push_back(i64(parts.pair.size()) - 1);
}

}  // namespace

TermLayout::TermLayout(std::span<const i64> array) {
    if (array.size() < HEAD) throw std::invalid_argument("the layout of a sum has no head");
    const std::array<i64*, COUNTS> counts{&d, &terms, &entries, &atoms, &leaves, &cells};
    for (std::size_t k = 0; k < COUNTS; ++k) *counts[k] = array[k];
    const std::array<std::span<const i64>*, PARTS> parts{&term_entry, &term_leaf, &feature,   &atom,
                                                         &map,        &cell_atom, &leaf_pair, &pair,
                                                         &takes,      &first};
    for (std::size_t k = 0; k < PARTS; ++k) {
        const i64 begin = array[COUNTS + k];
        const i64 end = k + 1 < PARTS ? array[COUNTS + k + 1] : i64(array.size());
        if (begin < 0 || end < begin || end > i64(array.size()))
            throw std::invalid_argument("the parts of the layout of a sum are out of order");
        *parts[k] = array.subspan(begin, end - begin);
    }
}

std::vector<i64> make_layout(const Mask& allowed, std::span<const i64> starts,
                             std::span<const i64> sizes) {
    Parts parts;
    i64 cells = 0;
    for (const i64 size : sizes) {
        parts.first.push_back(cells);
        cells += size;
    }
    parts.term_leaf.assign(starts.begin(), starts.end());
    for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
        const i64 entry = parts.term_entry.back();
        add_entries(parts, allowed, starts[t], starts[t + 1], sizes);
        for (i64 leaf = starts[t]; leaf < starts[t + 1]; ++leaf)
            add_pairs(parts, allowed.row(leaf), entry);
    }
    return parts.packed(cells);
}

Flags living_leaves(const TermLayout& lay, std::span<const bool> cells) {
    Flags atoms(lay.atoms, 0), leaves(lay.leaves, 1);
    for (i64 e = 0; e < lay.entries; ++e) {
        const auto own = cells.subspan(lay.first[lay.feature[e]]);
        const auto atom_of = lay.atom_of(e);
        for (std::size_t c = 0; c < atom_of.size(); ++c)
            if (own[c]) atoms[lay.atom[e] + atom_of[c]] = 1;
    }
    for (i64 t = 0; t < lay.terms; ++t) {
        const i64 entry = lay.term_entry[t], many = lay.term_entry[t + 1] - entry;
        for (i64 leaf = lay.term_leaf[t]; leaf < lay.term_leaf[t + 1]; ++leaf)
            for (i64 j = 0; j < many && leaves[leaf]; ++j) {
                const char* alive = atoms.data() + lay.atom[entry + j];
                leaves[leaf] =
                    std::ranges::any_of(lay.taken(leaf, j), [&](i64 a) { return alive[a] != 0; });
            }
    }
    return leaves;
}

namespace {

// Leaves out what is out of reach, a step at a time; see `compact`.
class Compacting {
  public:
    Compacting(const TermLayout& lay, std::span<const bool> cells)
        : lay_(lay),
          cells_(cells),
          number_(lay.atoms, -1),
          many_(lay.entries, 0),
          fresh_(lay.cells, 0) {}

    Compact done(std::span<const double> costs, std::span<const bool> apart) && {
        choose_leaves();
        choose_cells(costs, apart);
        Parts parts = rebuilt();
        number_atoms(parts);
        return {parts.packed(i64(kept_.size())), std::move(leaves_), std::move(constant_),
                std::move(kept_), std::move(number_)};
    }

  private:
    const TermLayout& lay_;
    std::span<const bool> cells_;
    std::vector<i64> leaves_, constant_, kept_;
    std::vector<i64> number_;  // of each atom within its entry, -1 where it has none
    std::vector<i64> many_;    // atoms of each entry that are left, 0 where none are separated
    Flags fresh_;  // whether a cell lies in another atom than the remaining one before it
    std::vector<i64> stays_, leaf_end_;  // the terms that stay, and where their leaves end
    std::vector<i64> first_;             // remaining cell of each feature, then the end

    void choose_leaves() {
        const Flags alive = living_leaves(lay_, cells_);
        for (i64 t = 0; t < lay_.terms; ++t) {
            const std::size_t start = leaves_.size();
            for (i64 leaf = lay_.term_leaf[t]; leaf < lay_.term_leaf[t + 1]; ++leaf)
                if (alive[leaf]) leaves_.push_back(leaf);
            if (leaves_.size() - start == 1) {
                constant_.push_back(leaves_.back());
                leaves_.pop_back();
                continue;
            }
            stays_.push_back(t);
            leaf_end_.push_back(i64(leaves_.size()));
            const std::span<const i64> own = std::span(leaves_).subspan(start);
            for (i64 e = lay_.term_entry[t]; e < lay_.term_entry[t + 1]; ++e)
                regroup(e, e - lay_.term_entry[t], own);
        }
    }

    // Number the atoms of an entry again, by the leaves of its term that are left.
    void regroup(i64 e, i64 j, std::span<const i64> leaves) {
        const i64 first = lay_.first[lay_.feature[e]], atoms = lay_.atom[e + 1] - lay_.atom[e];
        const std::size_t width = leaves.size();
        Flags taken(atoms * width, 0);
        for (std::size_t at = 0; at < width; ++at)
            for (const i64 a : lay_.taken(leaves[at], j)) taken[a * width + at] = 1;
        const auto alike = [&](i64 a, i64 b) {
            const auto row = taken.begin() + a * i64(width);
            return std::equal(row, row + i64(width), taken.begin() + b * i64(width));
        };
        i64* number = number_.data() + lay_.atom[e];
        const auto atom_of = lay_.atom_of(e);
        std::vector<i64> kind;  // an old atom of each new one
        i64 before = -1;
        for (std::size_t c = 0; c < atom_of.size(); ++c) {
            if (!cells_[first + c]) continue;
            const i64 a = atom_of[c];
            if (number[a] < 0) {
                const auto found = std::ranges::find_if(kind, [&](i64 k) { return alike(a, k); });
                number[a] = found - kind.begin();
                if (found == kind.end()) kind.push_back(a);
            }
            if (before >= 0 && number[a] != before) fresh_[first + c] = 1;
            before = number[a];
        }
        if (kind.size() < 2)
            std::fill_n(number, atoms, -1);
        else
            many_[e] = i64(kind.size());
    }

    void choose_cells(std::span<const double> costs, std::span<const bool> apart) {
        for (i64 f = 0; f < lay_.d; ++f) {
            const std::size_t start = kept_.size();
            first_.push_back(i64(start));
            for (i64 c = lay_.first[f]; c < lay_.end_cell(f); ++c) {
                if (!cells_[c]) continue;
                if (kept_.size() == start || fresh_[c] || apart[f])
                    kept_.push_back(c);
                else if (costs[c] < costs[kept_.back()])
                    kept_.back() = c;
            }
        }
        first_.push_back(i64(kept_.size()));
    }

    Parts rebuilt() const {
        Parts parts;
        parts.first.assign(first_.begin(), first_.end() - 1);
        std::size_t at = 0;
        for (std::size_t m = 0; m < stays_.size(); ++m) {
            const i64 t = stays_[m];
            for (i64 e = lay_.term_entry[t]; e < lay_.term_entry[t + 1]; ++e)
                if (many_[e] > 0) add_entry(parts, e);
            for (; at < std::size_t(leaf_end_[m]); ++at) add_leaf(parts, t, leaves_[at]);
            parts.term_entry.push_back(i64(parts.feature.size()));
            parts.term_leaf.push_back(leaf_end_[m]);
        }
        return parts;
    }

    void add_entry(Parts& parts, i64 e) const {
        const i64 f = lay_.feature[e];
        const auto atom_of = lay_.atom_of(e);
        for (i64 c = first_[f]; c < first_[f + 1]; ++c)
            parts.cell_atom.push_back(number_[lay_.atom[e] + atom_of[kept_[c] - lay_.first[f]]]);
        parts.feature.push_back(f);
        parts.atom.push_back(parts.atom.back() + many_[e]);
        parts.map.push_back(i64(parts.cell_atom.size()));
    }

    void add_leaf(Parts& parts, i64 t, i64 leaf) const {
        for (i64 e = lay_.term_entry[t]; e < lay_.term_entry[t + 1]; ++e) {
            if (many_[e] == 0) continue;
            Flags met(many_[e], 0);
            for (const i64 a : lay_.taken(leaf, e - lay_.term_entry[t]))
                if (const i64 i = number_[lay_.atom[e] + a]; i >= 0) met[i] = 1;
            for (i64 i = 0; i < many_[e]; ++i)
                if (met[i]) parts.takes.push_back(i);
            parts.pair.push_back(i64(parts.takes.size()));
        }
        parts.leaf_pair.push_back(i64(parts.pair.size()) - 1);
    }

    // Count atoms from the first of all, no longer from the first of their entry.
    void number_atoms(const Parts& parts) {
        std::size_t n = 0;
        for (i64 e = 0; e < lay_.entries; ++e) {
            if (many_[e] == 0) continue;
            for (i64 a = lay_.atom[e]; a < lay_.atom[e + 1]; ++a)
                if (number_[a] >= 0) number_[a] += parts.atom[n];
            ++n;
        }
    }
};

}  // namespace

Compact compact(const TermLayout& lay, std::span<const bool> cells, std::span<const double> costs,
                std::span<const bool> apart) {
    return Compacting(lay, cells).done(costs, apart);
}

}  // namespace trust
