#include "own/python_kernel.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace trust {

using Rows = nb::ndarray<nb::numpy, const i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bounds = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An error of the method passes through the search as nb::python_error.
void PythonKernel::intervals(std::span<const i64> spans, std::span<const double* const> memories,
                             double* out) {
    const nb::gil_scoped_acquire held;
    const std::size_t many = memories.size(), d = spans.size() / many / 2;
    std::vector<i64> ends(2 * many * d);  // all first cells, then all last ones
    for (std::size_t i = 0; i < many; ++i)
        for (std::size_t end = 0; end < 2; ++end)
            std::copy_n(spans.data() + (2 * i + end) * d, d, ends.data() + (end * many + i) * d);
    const auto rows = [&](std::size_t end) {
        return nb::cast(Rows(ends.data() + end * many * d, {many, d}), nb::rv_policy::copy);
    };
    const nb::object said = object_.attr("intervals")(rows(0), rows(1));
    Bounds bounds;
    if (!nb::try_cast(said, bounds) || bounds.shape(0) != many || bounds.shape(1) != 2 + d)
        throw nb::value_error(("the kernel's intervals() of " + std::to_string(many) +
                               " boxes: expected an array of floats with " + std::to_string(many) +
                               " rows and " + std::to_string(2 + d) + " columns")
                                  .c_str());
    std::copy_n(bounds.data(), many * (2 + d), out);
}

}  // namespace trust
