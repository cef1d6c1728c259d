#include "sums/terms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trust {

Terms::Model::Model(std::span<const double> of, std::span<const i64> layout)
    : numbers(of.begin(), of.end()), array(layout.begin(), layout.end()), lay(array) {
    if (i64(numbers.size()) != 1 + lay.leaves)
        throw std::invalid_argument("expected the rounding and a value for each leaf");
}

Terms::Dual::Dual(const Model& model)
    : sweeps(model.lay, model.values()), h(model.lay.atoms, 0.0) {}

Terms::Terms(std::span<const double> numbers, std::span<const i64> layout)
    : Terms(std::make_shared<const Model>(numbers, layout)) {}

Terms::Terms(std::shared_ptr<const Model> model)
    : model_(std::move(model)), lay_(model_->lay), alive_(lay_) {}

std::unique_ptr<Kernel> Terms::clone() const { return std::unique_ptr<Kernel>(new Terms(model_)); }

void Terms::interval(Span span, double* out, const double* memory) {
    std::fill_n(out + 2, lay_.d, 0.0);
    alive_.find(span);
    const double* alive = living(memory);
    const auto values = model_->values();
    double least_sum = 0.25, most_sum = 0.25;
    for (i64 t = 0; t < lay_.terms; ++t) {
        const i64 entry = lay_.term_entry[t], many = lay_.term_entry[t + 1] - entry;
        double least = INF, most = -INF;
        for (i64 leaf = lay_.term_leaf[t]; leaf < lay_.term_leaf[t + 1]; ++leaf) {
            const double v = values[leaf];
            const bool wider = alive[leaf] > 0.0 && (v < least || v > most);
            if (wider && alive_.reaches(leaf, entry, many)) {
                least = std::min(least, v);
                most = std::max(most, v);
            }
        }
        least_sum += least;
        most_sum += most;
        if (most > least) blame(span, entry, many, most - least, out + 2);
    }
    out[0] = least_sum - model_->rounding();
    out[1] = most_sum + model_->rounding();
}

// Features of a term with several cells share its width equally.
void Terms::blame(Span span, i64 entry, i64 many, double width, double* out) const {
    const auto features = lay_.feature.subspan(entry, many);
    const auto wide = [&](i64 f) { return span[lay_.d + f] > span[f]; };
    const auto n = double(std::ranges::count_if(features, wide));
    for (const i64 f : features)
        if (wide(f)) out[f] += width / n;
}

void Terms::narrow(Span span, double* memory) {
    double* alive = memory + 1 + lay_.atoms;
    for (i64 t = 0; t < lay_.terms; ++t) {
        const i64 entry = lay_.term_entry[t], many = lay_.term_entry[t + 1] - entry;
        for (i64 leaf = lay_.term_leaf[t]; leaf < lay_.term_leaf[t + 1]; ++leaf)
            if (alive[leaf] != 0.0 && !meets(span, leaf, entry, many)) alive[leaf] = 0.0;
    }
}

// Whether a leaf takes a cell of the span in each entry of its term.
bool Terms::meets(Span span, i64 leaf, i64 entry, i64 many) const {
    for (i64 j = 0; j < many; ++j) {
        const i64 f = lay_.feature[entry + j];
        const auto cells = lay_.atom_of(entry + j).subspan(span[f], span[lay_.d + f] - span[f] + 1);
        const auto taken = lay_.taken(leaf, j);
        if (std::ranges::find_first_of(cells, taken) == cells.end()) return false;
    }
    return true;
}

double Terms::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                         double /*budget*/, double* gains, double* memory) {
    if (!dual_) dual_.emplace(*model_);
    Sweeps& sweeps = dual_->sweeps;
    double* h = memory + 1;
    const double base = side > 0 ? 0.25 : 0.75, sign = double(side);
    dual_->side = sign;
    if (!sweeps.begin(span, spend, living(memory))) {
        clear_gains(lay_, span, gains);
        gains[spend.size()] = -1.0;
        return INF;
    }
    double price = memory[0] > LEAST_PRICE ? memory[0] : 1.0;
    for (int turn = 0; turn < SWEEPS; ++turn) {
        sweeps.sum_leaves(h);
        sweeps.fill_gains(span, h, gains);
        const double k = sweeps.sum_constants(sign).total;
        const double best = best_price(lay_.first, span, spend, gains, level - base - k, price);
        price = best > LEAST_PRICE ? best : std::max(0.5 * price, 2.0 * LEAST_PRICE);
        sweeps.sweep(sign, price, spend, turn % 2 == 0, h);
    }
    memory[0] = price;
    sweeps.fill_gains(span, h, gains);
    sweeps.sum_leaves(h);
    const auto [k, most] = sweeps.sum_constants(sign);
    double size = std::abs(k), reach = k;  // size: of all that is added up, which may cancel out
    for (i64 f = 0; f < lay_.d; ++f) {
        double top = -INF;
        for (i64 c = lay_.first[f] + span[f]; c <= lay_.first[f] + span[lay_.d + f]; ++c) {
            if (spend[c] == INF)
                gains[c] = -INF;
            else
                top = std::max(top, gains[c]);
        }
        reach += top;
    }
    for (i64 a = 0; a < lay_.atoms; ++a) {
        dual_->h[a] = h[a];
        size += std::abs(h[a]);
    }
    const double error = model_->rounding() * (1.0 + size);
    gains[spend.size()] = base + std::min(most, reach) + error;
    return level - base - k - error;
}

// How far the bound of each term lies above its value at the point, shared by its entries.
void Terms::errors(Span /*span*/, const i64* point, std::span<double> out, bool /*lasting*/) {
    std::ranges::fill(out, 0.0);
    if (!dual_) return;
    const Sweeps& sweeps = dual_->sweeps;
    for (const auto& term : sweeps.box().terms()) {
        const auto entries = sweeps.box().entries(term);
        if (entries.empty()) continue;
        double bound = sweeps.constant(term.term);
        for (const auto& entry : entries) bound += dual_->h[lay_.atom_at(entry.entry, point)];
        for (const auto& leaf : sweeps.box().leaves(term)) {
            if (!holds(sweeps.box(), leaf, entries, point)) continue;
            const double error = bound - dual_->side * sweeps.value(leaf);
            for (const auto& entry : entries)
                out[lay_.feature[entry.entry]] += error / double(entries.size());
            break;
        }
    }
}

// Whether a point lies in a gathered leaf.
bool Terms::holds(const Gathered& box, const Gathered::Leaf& leaf,
                  std::span<const Gathered::Entry> entries, const i64* point) const {
    i64 p = leaf.pair;
    for (const auto& entry : entries) {
        const Gathered::Pair& pair = box.pair(p++);
        const auto taken = box.taken(pair);
        const i64 atom = lay_.atom_at(entry.entry, point);
        if (!pair.all() && std::ranges::find(taken, atom) == taken.end()) return false;
    }
    return true;
}

namespace {

constexpr double MORE = 1e-4;   // of a bound: a smaller gain does not pay
constexpr double CLOSE = 1.05;  // prices nearer to each other are alike

class Climb {
  public:
    Climb(std::span<const double> values, const TermLayout& lay, std::span<const double> spend,
          double need, double enough, std::span<double> memory)
        : lay_(lay),
          spend_(spend),
          need_(need),
          enough_(enough),
          memory_(memory),
          h_(memory.subspan(1, lay.atoms)),
          gains_(lay.cells + 1),
          sweeps_(lay, values) {
        span_.assign(2 * lay.d, 0);
        for (i64 f = 0; f < lay.d; ++f) span_[lay.d + f] = lay.end_cell(f) - lay.first[f] - 1;
    }

    double top() {
        sweeps_.begin(span_, spend_, memory_.data() + 1 + lay_.atoms);
        price_ = memory_[0];
        bound_ = bound_at(price_);
        kept_.assign(h_.begin(), h_.end());
        double factor = 2.0;
        while (factor > CLOSE && bound_ < enough_)
            if (!go(factor) && !go(1.0 / factor)) factor = std::sqrt(factor);
        memory_[0] = price_;
        return bound_;
    }

  private:
    // Change the price by a factor for as long as that pays; whether it did.
    bool go(double by) {
        bool moved = false;
        while (bound_ < enough_ && LEAST_PRICE < price_ * by && price_ * by < MOST_PRICE) {
            const double found = bound_at(price_ * by);
            if (found <= bound_ + MORE * std::abs(bound_)) {
                std::ranges::copy(kept_, h_.begin());
                break;
            }
            std::ranges::copy(h_, kept_.begin());
            bound_ = found;
            price_ *= by;
            moved = true;
        }
        return moved;
    }

    // The bound on the cost after some sweeps at a price.
    double bound_at(double price) {
        sweeps_.sum_leaves(h_.data());
        for (int turn = 0; turn < SWEEPS; ++turn)
            sweeps_.sweep(1.0, price, spend_, turn % 2 == 0, h_.data());
        sweeps_.fill_gains(span_, h_.data(), gains_.data());
        const double k = sweeps_.sum_constants(1.0).total;
        const double total = priced(lay_.first, span_, spend_, gains_.data(), price).total;
        return price * (need_ - k) + total;
    }

    const TermLayout& lay_;
    std::span<const double> spend_;
    double need_, enough_;
    std::span<double> memory_, h_;
    std::vector<i64> span_;
    std::vector<double> gains_, kept_;
    Sweeps sweeps_;
    double price_ = 0.0, bound_ = 0.0;
};

}  // namespace

double climb(std::span<const double> values, const TermLayout& lay, std::span<const double> spend,
             double need, double enough, std::span<double> memory) {
    if (i64(values.size()) != lay.leaves || i64(spend.size()) != lay.cells ||
        i64(memory.size()) != 1 + lay.atoms + lay.leaves)
        throw std::invalid_argument("the values, costs or memory do not fit the layout");
    return Climb(values, lay, spend, need, enough, memory).top();
}

}  // namespace trust
