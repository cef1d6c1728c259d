// A sum of tables of one and of two features, as its kernel and its repairs read it.
//
// Notation: features f, whose cells lie in one row, those of feature f from first[f] up to
// first[f + 1]. A **pair** p is a table of two features. It has two **entries**, 2 p and 2 p + 1,
// one for each feature, which map cells to bins: `bin` of a cell is a row or column of the table. A
// bin of an entry is an **atom**; those of all entries lie in one row. Each table is stored twice:
// an entry's rows are the other's bins.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

struct TableSum {
    struct Entry {
        i64 feature;
        i64 atom, many;  // its first atom, and how many bins it has
        i64 table;       // where its rows begin
        std::vector<i64> bin;
    };

    // `layout` is that of sums/tables.py, `numbers` the rounding, the start, the points of all
    // cells, and the tables. Raises std::invalid_argument where one does not fit the other.
    TableSum(std::span<const double> numbers, std::span<const i64> layout);

    std::size_t features() const { return first.size() - 1; }
    std::size_t cells() const { return points.size(); }
    std::size_t pairs() const { return entries.size() / 2; }

    static std::size_t other(std::size_t e) { return e ^ 1; }

    // The numbers of an entry's bins, from bin `low` on, with one bin of the other entry.
    const double* row(std::size_t e, i64 other_bin, i64 low = 0) const {
        const Entry& entry = entries[e];
        return tables.data() + entry.table + other_bin * entry.many + low;
    }

    double rounding;
    double start;  // what a sum begins with
    i64 atoms;
    std::vector<double> points, tables;
    std::vector<i64> first;
    std::vector<Entry> entries;
    std::vector<std::vector<std::size_t>> entries_of;  // those of each feature
};

}  // namespace trust
