// What reduces a sum of terms: the rows of its root LP, and bounds from a given h.
//
// Notation as in layout.hpp; h, K and gains as in sweeps.hpp. The LP has a weight for each cell and
// for each leaf.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sums/layout.hpp"

namespace trust {

// Rows of the LP as triples, with the entry and the set of atoms that each row is about. Bit i of a
// set is atom i of the entry.
struct Coupled {
    std::vector<i64> row, column;
    std::vector<double> sign;
    std::vector<i64> entry;
    std::vector<std::uint64_t> set;
};

// A row for a set of atoms of an entry: the leaves inside the set less the cells of the set. Sets
// are all runs from a leaf's first atom to a leaf's last where the atoms of each leaf are one run,
// and else those of the leaves themselves. A set is left out if a smaller one has the same leaves.
Coupled coupled(const TermLayout& lay);

// h from the dual values of the rows of `coupled`.
std::vector<double> priced_h(const TermLayout& lay, std::span<const i64> entry,
                             std::span<const std::uint64_t> set, std::span<const double> duals);

// K at h.
double total_constant(const TermLayout& lay, std::span<const double> values,
                      std::span<const double> h);

// The gain of each cell at h.
std::vector<double> gains_at(const TermLayout& lay, std::span<const double> h);

// Which leaves take each cell: a row of leaves for each cell.
Flags taken_by(const TermLayout& lay);

}  // namespace trust
