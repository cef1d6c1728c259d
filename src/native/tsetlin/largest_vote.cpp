#include "tsetlin/largest_vote.hpp"

#include <algorithm>
#include <stdexcept>

namespace trust::tsetlin {

LargestVote::LargestVote(std::vector<Tables> banks, std::vector<Tables> pairs, std::size_t wanted,
                         bool strongest)
    : bank_tables_(std::move(banks)),
      pair_tables_(std::move(pairs)),
      wanted_(wanted),
      strongest_(strongest),
      below_(bank_tables_.size()) {
    if (wanted >= bank_tables_.size() || pair_tables_.size() + 1 != bank_tables_.size())
        throw std::invalid_argument("expected a pair for each class but the wanted one");
    const MachineTables& first = *bank_tables_.front();
    of_bank_.resize(2 + first.d);
    for (const Tables& each : bank_tables_) {
        if (each->d != first.d || each->C != first.C || each->link == Link::linear)
            throw std::invalid_argument("expected banks of votes with as many clauses each");
        banks_.push_back(std::make_unique<Machine>(each));
    }
    for (const Tables& each : pair_tables_) {
        if (each->d != first.d) throw std::invalid_argument("a pair has other features");
        pairs_.push_back(std::make_unique<Machine>(each));
    }
}

double LargestVote::chance(std::size_t k, bool at_best) {
    const auto law_of = [&](std::size_t j) -> const std::vector<double>& {
        return (j == k) == at_best ? banks_[j]->law_up() : banks_[j]->law_down();
    };
    const std::vector<double>& own = law_of(k);
    double total = 0.0;
    std::ranges::fill(below_, 0.0);
    for (std::size_t v = 0; v < own.size(); ++v) {
        double beats = own[v];
        for (std::size_t j = 0; j < banks_.size(); ++j) {
            if (j == k) continue;
            const double below = below_[j];
            below_[j] = below + law_of(j)[v];
            beats *= j < k ? below : below_[j];
        }
        total += beats;
    }
    return total;
}

void LargestVote::interval(Span span, double* out, const double* memory) {
    const std::size_t d = of_bank_.size() - 2;
    std::fill_n(out + 2, d, 0.0);
    for (const auto& bank : banks_) {  // their laws stay, which `chance` reads
        bank->interval(span, of_bank_.data(), memory);
        for (std::size_t f = 0; f < d; ++f) out[2 + f] += of_bank_[2 + f];
    }
    out[0] = std::max(chance(wanted_, false) - ROUNDING, 0.0);
    out[1] = chance(wanted_, true) + ROUNDING;
    if (!strongest_) return;
    double least = 0.0, most = 0.0;  // of the strongest other
    for (std::size_t j = 0; j < banks_.size(); ++j) {
        if (j == wanted_) continue;
        least = std::max(least, chance(j, false) - ROUNDING);
        most = std::max(most, chance(j, true) + ROUNDING);
    }
    out[0] = out[0] / (out[0] + most) - ROUNDING;
    out[1] = out[1] / (out[1] + least) + ROUNDING;
}

// That of the pair that bounds the probability best; none for a number that must fall.
//
// The K classes together have 1, so a share s means P_w >= s / (s + (1 - s)(K - 1)) at least.
double LargestVote::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                               double budget, double* gains, double* memory) {
    relaxed_ = nullptr;
    if (side < 0) return Kernel::relaxation(span, side, level, spend, budget, gains, memory);
    double best = INF;
    relaxed_ = pairs_.front().get();
    if (pairs_.size() > 1)
        for (const auto& pair : pairs_) {
            pair->interval(span, of_bank_.data(), memory);
            if (of_bank_[1] >= best) continue;
            best = of_bank_[1];
            relaxed_ = pair.get();
        }
    const double others = static_cast<double>(banks_.size() - 1);
    double own = std::min(std::max(level, 0.0), 1.0);
    if (strongest_) own = own / (own + (1.0 - own) * others);
    const double needed =
        relaxed_->relaxation(span, 1, own - ROUNDING, spend, budget, gains, memory);
    if (strongest_) {
        double& reach = gains[spend.size()];
        const double most = std::min(reach, 1.0);
        reach = most / (most + (1.0 - most) / others) + ROUNDING;
    }
    return needed;
}

void LargestVote::errors(Span span, const i64* point, std::span<double> out, bool lasting) {
    if (relaxed_ == nullptr) return Kernel::errors(span, point, out, lasting);
    relaxed_->errors(span, point, out, lasting);
}

}  // namespace trust::tsetlin
