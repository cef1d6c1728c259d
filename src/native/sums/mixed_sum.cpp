#include "sums/mixed_sum.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sums/sweeps.hpp"

namespace trust {

static constexpr int DENSE = 0, LEAVES = 1;
static constexpr int FIRST_TURNS = 3;  // relaxations of the leaves while no price is known

MixedSum::MixedSum(Parts parts, std::shared_ptr<const Model> model)
    : Joined(std::move(parts)), model_(std::move(model)), spend_(model_->cells) {
    if (parts_.size() != 2) throw std::invalid_argument("expected tables and leaves");
    for (auto& gains : gains_) gains.resize(model_->cells + 1);
}

std::unique_ptr<Kernel> MixedSum::clone() const {
    return std::make_unique<MixedSum>(parts_.clone(), model_);
}

void MixedSum::interval(Span span, double* out, const double* memory) {
    std::fill_n(out, 2 + model_->first.size(), 0.0);
    for (const int part : {DENSE, LEAVES}) {
        const auto [least, most] = parts_.interval(part, span, memory);
        out[0] += model_->by[part] * least;
        out[1] += model_->by[part] * most;
        for (std::size_t f = 0; f < model_->first.size(); ++f)
            out[2 + f] += model_->by[part] * parts_.looseness()[f];
    }
    out[0] -= model_->rounding;
    out[1] += model_->rounding;
}

// The part's number is at most the result and its gains, which are left in `gains_`: -infinity if
// no point of the span can be paid.
double MixedSum::constant(int part, const Asked& asked, double level, std::span<const double> spend,
                          double* memory) {
    return level - parts_[part].relaxation(asked.span, asked.side, level, spend, INF,
                                           gains_[part].data(), memory + parts_.begin(part));
}

// Sets what the tables' gains leave to be paid at a price: 0 for the cheapest cell of each feature.
// Returns the sum of the tables' gains of these cells.
double MixedSum::left_to_pay(const Asked& asked, double price) {
    const std::size_t d = model_->first.size();
    double total = 0.0;
    for (std::size_t f = 0; f < d; ++f) {
        const i64 begin = model_->first[f] + asked.span[f];
        const i64 end = model_->first[f] + asked.span[d + f] + 1;
        double least = INF, its = 0.0;
        for (i64 c = begin; c < end; ++c) {
            spend_[c] = asked.spend[c] < INF ? asked.spend[c] - price * gains_[DENSE][c] : INF;
            if (spend_[c] < least) {
                least = spend_[c];
                its = gains_[DENSE][c];
            }
        }
        if (!(least < INF)) continue;  // nothing can be paid
        for (i64 c = begin; c < end; ++c) spend_[c] -= least;
        total += its;
    }
    return total;
}

void MixedSum::add_gains(const Asked& asked, double* gains) const {
    const std::size_t d = model_->first.size();
    for (std::size_t f = 0; f < d; ++f)
        for (i64 c = model_->first[f] + asked.span[f]; c <= model_->first[f] + asked.span[d + f];
             ++c)
            gains[c] =
                model_->by[DENSE] * gains_[DENSE][c] + model_->by[LEAVES] * gains_[LEAVES][c];
}

double MixedSum::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                            double /*budget*/, double* gains, double* memory) {
    const auto [dense, leaves] = model_->by;
    const Asked asked{span, side, level, spend};
    const auto [least, most] = parts_.interval(LEAVES, span, memory);
    const double greatest = side > 0 ? most : 1.0 - least;
    const double of_tables =
        constant(DENSE, asked, (level - leaves * greatest) / dense, spend, memory);
    double price = memory[0] > LEAST_PRICE ? memory[0] : 0.0, of_leaves = 0.0;
    for (int turn = price > 0.0 ? FIRST_TURNS - 1 : 0; turn < FIRST_TURNS; ++turn) {
        const double gain = left_to_pay(asked, price * dense);
        const double rest = (level - dense * (of_tables + gain)) / leaves;
        of_leaves = constant(LEAVES, asked, rest, spend_, memory);
        if (of_tables == -INF || of_leaves == -INF) break;
        add_gains(asked, gains);
        const double needed = level - dense * of_tables - leaves * of_leaves;
        price = best_price(model_->first, span, spend, gains, needed, price > 0.0 ? price : 1.0);
    }
    memory[0] = price;
    if (of_tables == -INF || of_leaves == -INF) {
        Kernel::relaxation(span, side, level, spend, INF, gains, memory);
        gains[spend.size()] = -1.0;
        return INF;
    }
    gains[spend.size()] =
        dense * gains_[DENSE].back() + leaves * gains_[LEAVES].back() + model_->rounding;
    return level - dense * of_tables - leaves * of_leaves - model_->rounding;
}

void MixedSum::errors(Span span, const i64* point, std::span<double> out, bool lasting) {
    std::vector<double> each(out.size());
    std::ranges::fill(out, 0.0);
    for (const int part : {DENSE, LEAVES}) {
        parts_[part].errors(span, point, each, lasting);
        for (std::size_t f = 0; f < out.size(); ++f) out[f] += model_->by[part] * each[f];
    }
}

}  // namespace trust
