// The boxes that wait to be searched.
//
// A box lies in a slot. Free slots are used again. A heap holds the slots of waiting boxes: the
// least key first; of equal keys the younger box, which lies deeper in the tree.
#pragma once
#include <vector>

#include "search/candidates.hpp"

namespace trust {

struct Waiting {
    double key = 0.0;      // a bound on the cost of what lies in the box
    i32 node = 0;          // its number in the order of making
    i32 split = 0;         // the feature to cut it at
    i32 where = -1;        // a candidate to part from the cheapest by that cut; -1 if none
    bool relaxed = false;  // bounded by multipliers
    bool failed = false;   // its corner is no answer
    bool off = false;      // trimmed off, in a proof, or a part of such a box
    bool lost = false;     // the corner's neighbourhood contains the known loss
    bool sure = false;     // the first condition is met on all of it, or its number is constant
};

class Boxes {
  public:
    // `memory` is how many numbers the kernels keep of a box. `losses`: whether a loss is kept,
    // too.
    Boxes(i64 features, i64 memory, bool losses);

    // Leaves one box, that in the slot returned, which does not wait.
    i32 restart();

    // A new slot with a copy of a box.
    i32 copy(i32 slot);
    void release(i32 slot) { free_.push_back(slot); }
    // How many boxes there are, waiting or not.
    i64 many() const { return i64(slots_.size()) - i64(free_.size()); }

    void push(i32 slot);
    i32 pop();
    i32 next() const { return heap_.front(); }
    i64 waiting() const { return i64(heap_.size()); }

    Waiting& operator[](i32 slot) { return slots_[slot]; }
    const Waiting& operator[](i32 slot) const { return slots_[slot]; }

    OpenBox box(i32 slot) {
        i32* first = ends_.data() + 2 * d_ * slot;
        return {first, first + d_};
    }
    std::span<double> memory(i32 slot) {
        return {memory_.data() + size_ * slot, std::size_t(size_)};
    }
    i32* loss(i32 slot) { return loss_.data() + d_ * slot; }
    i32* worst(i32 slot) { return worst_.data() + d_ * slot; }

  private:
    bool before(i32 a, i32 b) const {
        const Waiting &one = slots_[a], &other = slots_[b];
        return one.key < other.key || (one.key == other.key && one.node > other.node);
    }

    i64 d_, size_;
    bool losses_;
    std::vector<Waiting> slots_;
    std::vector<i32> ends_;   // 2d of each slot
    std::vector<i32> loss_;   // where the floor is missed near the corner, a cell for each feature
    std::vector<i32> worst_;  // the same near a point that a multiplier buys: a guess in a part
    std::vector<double> memory_;
    std::vector<i32> heap_, free_;
};

}  // namespace trust
