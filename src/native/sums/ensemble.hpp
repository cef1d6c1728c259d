// Rows of cells sent down trees, and the values of their leaves added up.
#pragma once
#include <span>

#include "kernel.hpp"

namespace trust {

// The nodes of all trees, one after another. A split sends a row left if the cell of its feature is
// at most its cut. A missing value, the gap of its feature, and splits of single cells are read
// from tables.
struct Forest {
    std::span<const i64> gaps;  // of each feature the cell of missing values, -1 where it has none
    std::span<const i64> root;  // of each tree
    std::span<const i64> feature;  // -1 at a leaf
    std::span<const i64> left, right, cut;
    const bool* missing_left;
    std::span<const i64> first;  // of the split's row in goes_left, -1 where it has none
    const bool* goes_left;       // of each cell of the feature

    // The leaf below a node that a row of cells reaches.
    i64 leaf(const i32* cells, i64 node) const {
        while (feature[node] >= 0) {
            const i64 f = feature[node], cell = cells[f];
            const bool goes = first[node] >= 0  ? goes_left[first[node] + cell]
                              : cell == gaps[f] ? missing_left[node]
                                                : cell <= cut[node];
            node = goes ? left[node] : right[node];
        }
        return node;
    }
};

// The leaf of each tree that each row reaches: a row of leaves for each row of d cells.
void descend(const Forest& forest, const i32* cells, i64 n, i64 d, i64* out);

// Add the value of each tree's leaf, one after another, to the total of each row of d cells.
template <class T>
void add_up(const Forest& forest, const i32* cells, i64 d, std::span<const T> value,
            std::span<T> total);

}  // namespace trust
