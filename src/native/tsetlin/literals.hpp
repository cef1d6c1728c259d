// The literals of a row of cells.
//
// Feature f owns literals first[f] … first[f] + size[f]. An ordered feature's literal t states
// `cell <= t`, a category's `cell = t`. With gap[f] one more literal states that the value is
// missing; then neither the other literals nor their negations are true.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel.hpp"

namespace trust::tsetlin {

struct Literals {
    std::span<const i64> first, size;
    std::span<const bool> ordered, gap;
    i64 o;  // literals, not counting their negations

    // truth[:o] of the literals, truth[o:2o] of the negations.
    void at(const i32* cells, std::uint8_t* truth) const {
        for (std::size_t f = 0; f < first.size(); ++f) {
            std::uint8_t* said = truth + first[f];
            std::uint8_t* denied = said + o;
            const i64 n = size[f], c = cells[f];
            const bool known = !(gap[f] && c == (ordered[f] ? n + 1 : n));
            for (i64 t = 0; t < n; ++t) {
                const bool is = ordered[f] ? c <= t : c == t;
                said[t] = is && known;
                denied[t] = !is && known;
            }
            if (gap[f]) {
                said[n] = !known;
                denied[n] = known;
            }
        }
    }
};

}  // namespace trust::tsetlin
