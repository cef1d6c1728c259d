#include "sums/ensemble.hpp"

#include <algorithm>

namespace trust {

static constexpr i64 BLOCK = 256;  // rows whose cells stay in the cache while all trees read them

void descend(const Forest& forest, const i32* cells, i64 n, i64 d, i64* out) {
    for (i64 i = 0; i < n; ++i)
        for (const i64 root : forest.root) *out++ = forest.leaf(cells + i * d, root);
}

template <class T>
void add_up(const Forest& forest, const i32* cells, i64 d, std::span<const T> value,
            std::span<T> total) {
    const auto n = i64(total.size());
    for (i64 start = 0; start < n; start += BLOCK)
        for (const i64 root : forest.root)
            for (i64 i = start; i < std::min(start + BLOCK, n); ++i)
                total[i] += value[forest.leaf(cells + i * d, root)];
}

template void add_up(const Forest&, const i32*, i64, std::span<const float>, std::span<float>);
template void add_up(const Forest&, const i32*, i64, std::span<const double>, std::span<double>);

}  // namespace trust
