// All boxes ever made, as a binary tree. It is kept where a proof is wanted.
//
// Nodes are numbered in the order of making. A node is cut after a candidate of a feature into the
// nodes left and left + 1, or it is a leaf, whose feature is -1 - reason.
#pragma once
#include <span>
#include <vector>

#include "kernel.hpp"

namespace trust {

// Why a box is discarded. The first five are those of a certificate.
enum class Reason : i32 { cost, confidence, lagrangian, relation, point, floor, open };

class Tree {
  public:
    static constexpr i64 NONE = -1;

    // A tree of one leaf, the root. Without a proof only the nodes are counted.
    void restart(bool kept, i64 memory);

    bool kept() const { return kept_; }
    void leaf(i64 node, Reason reason, double multiplier = 0.0);

    // A leaf that a multiplier discards, with what the kernels remember of a box: a row of the
    // tree's own memory, which is a new one if `row` is NONE. Returns the row.
    i64 priced_leaf(i64 node, double multiplier, std::span<const double> memory, i64 row = NONE);

    // Cuts a node; returns its left child.
    i32 cut(i64 node, i64 feature, i32 after);

    // The nodes from the root on, left parts first.
    struct Preorder {
        std::vector<i64> feature, after, row;
        std::vector<double> multiplier;
    };
    Preorder preorder() const;
    const std::vector<double>& memory() const { return memory_; }

  private:
    struct Node {
        i32 feature = -1 - i32(Reason::open);
        i32 after = 0;
        i32 left = 0;
        i32 row = -1;
        double multiplier = 0.0;
    };

    bool kept_ = false;
    i64 size_ = 0;  // of what the kernels remember of a box
    i64 made_ = 1, rows_ = 0;
    std::vector<Node> nodes_;
    std::vector<double> memory_;
};

}  // namespace trust
