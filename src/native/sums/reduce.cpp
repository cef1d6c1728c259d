#include "sums/reduce.hpp"

#include <algorithm>

namespace trust {

namespace {

using Set = std::uint64_t;
constexpr i64 MOST_ATOMS = 64;  // of an entry: a set is one word

Set bit(i64 i) { return Set(1) << i; }
bool within(Set inner, Set outer) { return (inner & ~outer) == 0; }

// The atoms that each leaf takes of an entry, and the sets of atoms that get a row.
class Sets {
  public:
    Sets(const TermLayout& lay, i64 t, i64 e)
        : many_(lay.atom[e + 1] - lay.atom[e]), lows_(many_, 0), highs_(many_, 0) {
        const i64 j = e - lay.term_entry[t];
        for (i64 leaf = lay.term_leaf[t]; leaf < lay.term_leaf[t + 1]; ++leaf)
            add(lay.taken(leaf, j));
        if (runs_)
            add_runs();
        else
            add_own();
    }

    const std::vector<Set>& of_leaves() const { return leaves_; }
    const std::vector<Set>& all() const { return sets_; }

    // Whether a set is the union of some of the leaves, but not of all.
    bool counts(Set set) const {
        Set all = 0;
        i64 inside = 0;
        for (const Set leaf : leaves_)
            if (within(leaf, set)) {
                all |= leaf;
                ++inside;
            }
        return all == set && inside < i64(leaves_.size());
    }

  private:
    void add(std::span<const i64> atoms) {
        Set own = 0;
        for (const i64 i : atoms) own |= bit(i);
        leaves_.push_back(own);
        if (atoms.empty()) {
            runs_ = false;
            return;
        }
        const auto [low, high] = std::ranges::minmax(atoms);
        lows_[low] = highs_[high] = 1;
        runs_ = runs_ && i64(atoms.size()) == high - low + 1;
    }

    void add_runs() {
        for (i64 i = 0; i < many_; ++i)
            for (i64 j = i; j < many_; ++j)
                if (lows_[i] && highs_[j] && j - i + 1 < many_)
                    sets_.push_back((bit(j - i + 1) - 1) << i);
    }

    void add_own() {
        for (const Set leaf : leaves_)
            if (std::ranges::find(sets_, leaf) == sets_.end()) sets_.push_back(leaf);
    }

    i64 many_;
    std::vector<Set> leaves_, sets_;
    Flags lows_, highs_;  // atoms at which a leaf begins, ends
    bool runs_ = true;
};

void add_row(Coupled& found, const TermLayout& lay, i64 t, i64 e, const Sets& sets, Set set) {
    const auto n = i64(found.entry.size());
    const auto add = [&](i64 column, double sign) {
        found.row.push_back(n);
        found.column.push_back(column);
        found.sign.push_back(sign);
    };
    for (std::size_t leaf = 0; leaf < sets.of_leaves().size(); ++leaf)
        if (within(sets.of_leaves()[leaf], set)) add(lay.cells + lay.term_leaf[t] + i64(leaf), 1.0);
    const i64 first = lay.first[lay.feature[e]];
    const auto atom_of = lay.atom_of(e);
    for (std::size_t c = 0; c < atom_of.size(); ++c)
        if ((set & bit(atom_of[c])) != 0) add(first + i64(c), -1.0);
    found.entry.push_back(e);
    found.set.push_back(set);
}

}  // namespace

Coupled coupled(const TermLayout& lay) {
    Coupled found;
    for (i64 t = 0; t < lay.terms; ++t)
        for (i64 e = lay.term_entry[t]; e < lay.term_entry[t + 1]; ++e) {
            if (lay.atom[e + 1] - lay.atom[e] > MOST_ATOMS) continue;
            const Sets sets(lay, t, e);
            for (const Set set : sets.all())
                if (sets.counts(set)) add_row(found, lay, t, e, sets, set);
        }
    return found;
}

std::vector<double> priced_h(const TermLayout& lay, std::span<const i64> entry,
                             std::span<const std::uint64_t> set, std::span<const double> duals) {
    std::vector<double> h(lay.atoms, 0.0);
    for (std::size_t row = 0; row < entry.size(); ++row) {
        if (!(duals[row] > 0.0)) continue;
        const i64 first = lay.atom[entry[row]], many = lay.atom[entry[row] + 1] - first;
        for (i64 i = 0; i < many; ++i)
            if ((set[row] & bit(i)) != 0) h[first + i] += duals[row];
    }
    return h;
}

double total_constant(const TermLayout& lay, std::span<const double> values,
                      std::span<const double> h) {
    double total = 0.0;
    for (i64 t = 0; t < lay.terms; ++t) {
        double best = -INF;
        for (i64 leaf = lay.term_leaf[t]; leaf < lay.term_leaf[t + 1]; ++leaf) {
            double under = 0.0;
            for (i64 e = lay.term_entry[t]; e < lay.term_entry[t + 1]; ++e) {
                double least = INF;
                for (const i64 a : lay.taken(leaf, e - lay.term_entry[t]))
                    least = std::min(least, h[lay.atom[e] + a]);
                under += least;
            }
            best = std::max(best, values[leaf] - under);
        }
        total += best;
    }
    return total;
}

std::vector<double> gains_at(const TermLayout& lay, std::span<const double> h) {
    std::vector<double> gains(lay.cells, 0.0);
    for (i64 e = 0; e < lay.entries; ++e) {
        const i64 first = lay.first[lay.feature[e]];
        const auto atom_of = lay.atom_of(e);
        for (std::size_t c = 0; c < atom_of.size(); ++c)
            gains[first + c] += h[lay.atom[e] + atom_of[c]];
    }
    return gains;
}

Flags taken_by(const TermLayout& lay) {
    Flags found(lay.cells * lay.leaves, 1), takes;
    for (i64 t = 0; t < lay.terms; ++t)
        for (i64 e = lay.term_entry[t]; e < lay.term_entry[t + 1]; ++e) {
            const i64 first = lay.first[lay.feature[e]];
            const auto atom_of = lay.atom_of(e);
            for (i64 leaf = lay.term_leaf[t]; leaf < lay.term_leaf[t + 1]; ++leaf) {
                takes.assign(lay.atom[e + 1] - lay.atom[e], 0);
                for (const i64 a : lay.taken(leaf, e - lay.term_entry[t])) takes[a] = 1;
                for (std::size_t c = 0; c < atom_of.size(); ++c)
                    found[(first + c) * lay.leaves + leaf] = takes[atom_of[c]];
            }
        }
    return found;
}

}  // namespace trust
