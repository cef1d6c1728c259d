#include "search/relations.hpp"

#include <stdexcept>

namespace trust {

Relations::Relations(std::span<const i64> terms, std::vector<double> gains)
    : gains_(std::move(gains)) {
    if (terms.size() % 4 != 0) throw std::invalid_argument("relations: four numbers for each term");
    for (std::size_t t = 0; t < terms.size(); t += 4)
        terms_.push_back({terms[t], terms[t + 1], terms[t + 2], Ends(terms[t + 3])});
    Relation now{{0, 0}, {0, 0}};
    for (i64 t = 0; t < i64(terms_.size()); ++t) {
        if (now.way.last == now.way.first && terms_[t].ends != Ends::nothing) now.way.last = t + 1;
        if (terms_[t].ends != Ends::relation) continue;
        now.all.last = t + 1;
        relations_.push_back(now);
        now = {{t + 1, t + 1}, {t + 1, t + 1}};
    }
}

double Relations::best_gain(Box box, const Term& term) const {
    const double* gains = gains_.data() + term.gains;
    const i32 a = box.first[term.feature], b = box.last[term.feature];
    if (term.peak >= 0) return gains[std::min(std::max(i32(term.peak), a), b)];
    double best = gains[a];
    for (i32 c = a + 1; c <= b; ++c) best = std::max(best, gains[c]);
    return best;
}

bool Relations::may_hold(Box box) const {
    double total = 0.0;
    bool open = false;
    for (const Term& term : terms_) {
        total += best_gain(box, term);
        if (term.ends == Ends::nothing) continue;
        open = open || total >= 0.0;
        total = 0.0;
        if (term.ends == Ends::way) continue;
        if (!open) return false;
        open = false;
    }
    return true;
}

// The sums are those of `may_hold`, to the same bits.
bool Relations::broken_with(Box box, Part relation, i64 feature, i64 candidate) const {
    double total = 0.0;
    for (i64 t = relation.first; t < relation.last; ++t) {
        const Term& term = terms_[t];
        total += term.feature == feature ? gains_[term.gains + candidate] : best_gain(box, term);
        if (term.ends == Ends::nothing) continue;
        if (total >= 0.0) return false;
        total = 0.0;
    }
    return true;
}

i64 Relations::broken(Point point) const {
    for (const Relation& relation : relations_) {
        double total = 0.0;
        bool open = false;
        for (i64 t = relation.all.first; t < relation.all.last; ++t) {
            const Term& term = terms_[t];
            total += gains_[term.gains + point[term.feature]];
            if (term.ends == Ends::nothing) continue;
            open = open || total >= 0.0;
            total = 0.0;
        }
        if (!open) return relation.all.first;
    }
    return -1;
}

Cut Relations::repair(const Candidates& candidates, Box box, Point corner, i64 term) const {
    double least = INF;
    Cut found{-1, 0};
    for (i64 first = term;;) {
        i64 last = first;
        while (terms_[last].ends == Ends::nothing) ++last;
        for (i64 k = first; k <= last; ++k) {
            const i64 f = terms_[k].feature;
            double rest = 0.0;
            for (i64 other = first; other <= last; ++other)
                if (other != k) rest += gains_[terms_[other].gains + corner[terms_[other].feature]];
            for (i32 c = box.first[f]; c <= box.last[f]; ++c) {
                const double more = candidates.cost(f, c) - candidates.cost(f, corner[f]);
                if (more < least && c != corner[f] && rest + gains_[terms_[k].gains + c] >= 0.0) {
                    least = more;
                    found = {f, c > corner[f] ? c - 1 : c};
                }
            }
        }
        if (terms_[last].ends == Ends::relation) return found;
        first = last + 1;
    }
}

}  // namespace trust
