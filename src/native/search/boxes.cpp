#include "search/boxes.hpp"

namespace trust {

Boxes::Boxes(i64 features, i64 memory, bool losses)
    : d_(features), size_(memory), losses_(losses) {}

i32 Boxes::restart() {
    heap_.clear();
    free_.clear();
    slots_.assign(1, Waiting());
    ends_.assign(2 * d_, 0);
    memory_.assign(size_, 0.0);
    loss_.assign(losses_ ? d_ : 0, 0);
    worst_.assign(losses_ ? d_ : 0, 0);
    return 0;
}

// Copies within a vector that has grown: pointers from before would dangle.
template <class T>
static void copy_row(std::vector<T>& rows, i64 size, i32 from, i32 to) {
    std::copy_n(rows.begin() + size * from, size, rows.begin() + size * to);
}

i32 Boxes::copy(i32 slot) {
    i32 made = i32(slots_.size());
    if (free_.empty()) {
        slots_.emplace_back();
        ends_.resize(ends_.size() + 2 * d_);
        memory_.resize(memory_.size() + size_);
        if (losses_) {
            loss_.resize(loss_.size() + d_);
            worst_.resize(worst_.size() + d_);
        }
    } else {
        made = free_.back();
        free_.pop_back();
    }
    slots_[made] = slots_[slot];
    copy_row(ends_, 2 * d_, slot, made);
    copy_row(memory_, size_, slot, made);
    if (losses_) {
        copy_row(loss_, d_, slot, made);
        copy_row(worst_, d_, slot, made);
    }
    return made;
}

void Boxes::push(i32 slot) {
    std::size_t i = heap_.size();
    heap_.push_back(slot);
    while (i > 0) {
        const std::size_t up = (i - 1) / 2;
        if (!before(slot, heap_[up])) break;
        heap_[i] = heap_[up];
        i = up;
    }
    heap_[i] = slot;
}

i32 Boxes::pop() {
    const i32 top = heap_.front(), slot = heap_.back();
    heap_.pop_back();
    const std::size_t n = heap_.size();
    if (n == 0) return top;
    std::size_t i = 0;
    while (2 * i + 1 < n) {
        std::size_t down = 2 * i + 1;
        if (down + 1 < n && before(heap_[down + 1], heap_[down])) ++down;
        if (!before(heap_[down], slot)) break;
        heap_[i] = heap_[down];
        i = down;
    }
    heap_[i] = slot;
    return top;
}

}  // namespace trust
