// The seam as Python sees it.
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings.hpp"
#include "kernel.hpp"
#include "numpy.hpp"

namespace trust {

// `interval` of many boxes that share one memory: rows of 2 + d.
static void intervals(Kernel& kernel, Table<const i64> first, Table<const i64> last,
                      Array<const double> memory, Table<double> out) {
    const std::size_t n = first.shape(0), d = first.shape(1);
    const std::unique_ptr<Kernel> worker = kernel.clone();
    std::vector<i64> span(2 * d);
    nb::gil_scoped_release released;
    for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(first.data() + i * d, d, span.data());
        std::copy_n(last.data() + i * d, d, span.data() + d);
        worker->interval(span, out.data() + i * (2 + d), memory.data());
    }
}

void bind_kernel(nb::module_& m) {
    nb::class_<Kernel>(m, "Kernel", "Bounds of a model's number on boxes of cells.")
        .def("intervals", &intervals, nb::arg("first"), nb::arg("last"),
             nb::arg("memory").noconvert(), nb::arg("out").noconvert(),
             "Bounds on n boxes that share one memory, written to rows of 2 + d.")
        .def(
            "narrow",
            [](Kernel& kernel, Array<const i64> span, Array<double> memory) {
                kernel.narrow(view(span), memory.data());
            },
            nb::arg("span"), nb::arg("memory").noconvert(),
            "Change the memory of a box into that of a box inside it.")
        .def("clone", &Kernel::clone, "The same model with a workspace of its own, for another thread.")
        .def(
            "relaxation",
            [](Kernel& kernel, Array<const i64> span, i64 side, double level,
               Array<const double> spend, double budget, Array<double> gains,
               Array<double> memory) {
                if (gains.size() != spend.size() + 1)
                    throw nb::value_error("expected one more gain than there are cells");
                return kernel.relaxation(view(span), side, level, view(spend), budget, gains.data(),
                                         memory.data());
            },
            nb::arg("span"), nb::arg("side"), nb::arg("level"), nb::arg("spend"), nb::arg("budget"),
            nb::arg("gains").noconvert(), nb::arg("memory").noconvert(),
            "Write the gain of each cell; what points that reach the level have at least.")
        .def(
            "errors",
            [](Kernel& kernel, Array<const i64> span, Array<const i64> point, Array<double> out,
               bool lasting) { kernel.errors(view(span), point.data(), view(out), lasting); },
            nb::arg("span"), nb::arg("point"), nb::arg("out").noconvert(), nb::arg("lasting"),
            "Write the share of each feature in the error of the last relaxation at a point.");
}

}  // namespace trust
