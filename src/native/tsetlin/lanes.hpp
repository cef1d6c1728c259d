// Sums and products in a fixed order: eight lanes, joined by a fixed tree.
//
// Every processor gives the same bits, and compilers may use vectors of two, four or eight numbers.
#pragma once
#include <cstddef>

// Functions compiled for several levels of x86-64. The loader picks the widest that the processor
// has. All give the same bits: `sum_of` fixes the order of sums, and nothing is contracted.
//
// A macro, because an attribute cannot be chosen in any other way. CMake checks that the compiler
// and the C library support it. Helpers of a cloned function are inlined into it, or they would be
// compiled for the lowest level only.
#if defined(TRUST_HAVE_CLONES)
#define TRUST_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TRUST_CLONES
#endif

namespace trust::tsetlin {

// The combination of term(0) … term(n - 1). Term j goes to lane j mod 8.
template <class T, class Term, class Join>
[[gnu::always_inline]] inline T folded(std::size_t n, T empty, const Term& term, const Join& join) {
    constexpr std::size_t lanes = 8;
    T lane[lanes] = {empty, empty, empty, empty, empty, empty, empty, empty};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (std::size_t l = 0; l < lanes; ++l) lane[l] = join(lane[l], term(j + l));
    for (std::size_t l = 0; j + l < n; ++l) lane[l] = join(lane[l], term(j + l));
    return join(join(join(lane[0], lane[4]), join(lane[2], lane[6])),
                join(join(lane[1], lane[5]), join(lane[3], lane[7])));
}

template <class T, class Term>
[[gnu::always_inline]] inline T sum_of(std::size_t n, const Term& term) {
    return folded(n, T{0}, term, [](T a, T b) { return a + b; });
}

template <class T, class Term>
[[gnu::always_inline]] inline T product_of(std::size_t n, const Term& term) {
    return folded(n, T{1}, term, [](T a, T b) { return a * b; });
}

}  // namespace trust::tsetlin
