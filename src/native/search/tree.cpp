#include "search/tree.hpp"

namespace trust {

void Tree::restart(bool kept, i64 memory) {
    kept_ = kept;
    size_ = memory;
    made_ = 1;
    rows_ = 0;
    nodes_.assign(kept ? 1 : 0, Node());
    memory_.clear();
}

void Tree::leaf(i64 node, Reason reason, double multiplier) {
    if (!kept_) return;
    Node& here = nodes_[node];
    here = Node();
    here.feature = -1 - i32(reason);
    here.multiplier = multiplier;
}

i64 Tree::priced_leaf(i64 node, double multiplier, std::span<const double> memory, i64 row) {
    leaf(node, Reason::lagrangian, multiplier);
    if (!kept_ || size_ == 0) return row;
    if (row == NONE) {
        row = rows_++;
        memory_.insert(memory_.end(), memory.begin(), memory.end());
    }
    nodes_[node].row = i32(row);
    return row;
}

i32 Tree::cut(i64 node, i64 feature, i32 after) {
    const i64 left = made_;
    made_ += 2;
    if (kept_) {
        nodes_.resize(made_);
        Node& here = nodes_[node];
        here = Node();
        here.feature = i32(feature);
        here.after = after;
        here.left = i32(left);
    }
    return i32(left);
}

Tree::Preorder Tree::preorder() const {
    Preorder found;
    std::vector<i64> waiting;
    if (kept_) waiting.push_back(0);
    while (!waiting.empty()) {
        const Node& here = nodes_[waiting.back()];
        waiting.pop_back();
        found.feature.push_back(here.feature);
        found.after.push_back(here.after);
        found.row.push_back(here.row);
        found.multiplier.push_back(here.multiplier);
        if (here.feature >= 0) {
            waiting.push_back(here.left + 1);
            waiting.push_back(here.left);
        }
    }
    return found;
}

}  // namespace trust
