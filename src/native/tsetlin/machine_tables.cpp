#include "tsetlin/machine_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace trust::tsetlin {

// Entries of `layout` before those of the features.
static constexpr std::size_t HEAD = 12;

MachineTables::MachineTables(Array<const double> numbers, Array<const i64> layout)
    : numbers_(numbers) {
    const std::span<const i64> laid = view(layout);
    if (laid.size() < HEAD || laid[0] < 0 || laid[1] < 0 || laid[1] % 2 != 0 || laid[9] < 0 ||
        laid[9] > 2 || laid.size() != HEAD + 3 * static_cast<std::size_t>(laid[0]))
        throw std::invalid_argument("layout: expected 12 entries and 3 for each feature");
    d = static_cast<std::size_t>(laid[0]);
    C = static_cast<std::size_t>(laid[1]);
    link = static_cast<Link>(laid[9]);
    i64 rows = 0, cells = 0;
    for (std::size_t f = 0; f < d; ++f) {
        const i64* of = laid.data() + HEAD + 3 * f;
        features.push_back({of[0], of[1], of[2]});
        if (of[0] < 1 || of[1] != rows || of[2] != cells)
            throw std::invalid_argument("layout: the features' tables do not follow each other");
        rows += of[0] * std::bit_width(static_cast<std::uint64_t>(of[0]));
        cells += of[0];
    }
    const i64 clauses = laid[1], last = static_cast<i64>(numbers.size());
    const auto part = [&](std::size_t entry, i64 size) {
        if (laid[entry] < 0 || laid[entry] + size > last)
            throw std::invalid_argument("layout: a table ends beyond the numbers");
        return numbers.data() + laid[entry];
    };
    const bool linear = link == Link::linear;
    empty = part(2, clauses);
    g = part(3, clauses + 1);
    rise = part(4, linear ? 1 : clauses + 1);
    fall = part(5, linear ? 0 : clauses + 1);
    least = part(6, rows * clauses);
    most = part(7, rows * clauses);
    logs = part(8, cells * clauses);
    least_log = part(10, rows * clauses);
    most_log = part(11, rows * clauses);
}

}  // namespace trust::tsetlin
