// The seam as Python sees it.
#include "kernel.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings/bindings.hpp"
#include "numpy.hpp"

namespace trust {

// `interval` of many boxes that share one memory: rows of 2 + d.
static void intervals(Kernel& kernel, Table<const i64> first, Table<const i64> last,
                      Array<const double> memory, Table<double> out) {
    const std::size_t n = first.shape(0), d = first.shape(1);
    if (n == 0) return;
    const std::unique_ptr<Kernel> worker = kernel.clone();
    const nb::gil_scoped_release released;
    std::vector<i64> spans(2 * n * d);
    for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(first.data() + i * d, d, spans.data() + 2 * i * d);
        std::copy_n(last.data() + i * d, d, spans.data() + (2 * i + 1) * d);
    }
    const std::vector<const double*> memories(n, memory.data());
    worker->intervals(spans, memories, out.data());
}

static double relaxation(Kernel& kernel, Array<const i64> span, i64 side, double level,
                         Array<const double> spend, double budget, Array<double> gains,
                         Array<double> memory) {
    if (gains.size() != spend.size() + 1)
        throw nb::value_error("gains: expected one number more than cells");
    const std::unique_ptr<Kernel> worker = kernel.clone();
    const nb::gil_scoped_release released;
    return worker->relaxation(view(span), side, level, view(spend), budget, gains.data(),
                              memory.data());
}

// A kernel with a workspace that lasts from call to call, which one thread may use.
class Worker {
  public:
    explicit Worker(const Kernel& kernel) : kernel_(kernel.clone()) {}

    double relaxation(Array<const i64> span, i64 side, double level, Array<const double> spend,
                      double budget, Array<double> gains, Array<double> memory) {
        if (gains.size() != spend.size() + 1)
            throw nb::value_error("gains: expected one number more than cells");
        return kernel_->relaxation(view(span), side, level, view(spend), budget, gains.data(),
                                   memory.data());
    }

    void errors(Array<const i64> span, Array<const i64> point, Array<double> out, bool lasting) {
        if (span.size() != 2 * point.size() || out.size() != point.size())
            throw nb::value_error("errors: expected a number for each feature");
        kernel_->errors(view(span), point.data(), view(out), lasting);
    }

  private:
    std::unique_ptr<Kernel> kernel_;
};

void bind_kernel(nb::module_& m) {
    nb::class_<Kernel>(m, "Kernel", "Bounds of a model's number on boxes of cells.")
        .def("intervals", &intervals, nb::arg("first"), nb::arg("last"), nb::arg("memory"),
             nb::arg("out"), "Bounds on n boxes that share one memory, written to rows of 2 + d.")
        .def("relaxation", &relaxation, nb::arg("span"), nb::arg("side"), nb::arg("level"),
             nb::arg("spend"), nb::arg("budget"), nb::arg("gains"), nb::arg("memory"),
             "The gain that points of a span need; the gains of all cells are written.")
        .def(
            "narrow",
            [](Kernel& kernel, Array<const i64> span, Array<double> memory) {
                kernel.narrow(view(span), memory.data());
            },
            nb::arg("span"), nb::arg("memory"),
            "Change the memory of a box into that of a box inside it.");
    nb::class_<Worker>(m, "Worker", "A kernel with a workspace that lasts from call to call.")
        .def(nb::init<const Kernel&>(), nb::arg("kernel"))
        .def("relaxation", &Worker::relaxation, nb::arg("span"), nb::arg("side"), nb::arg("level"),
             nb::arg("spend"), nb::arg("budget"), nb::arg("gains").noconvert(),
             nb::arg("memory").noconvert(), "That of a kernel.")
        .def("errors", &Worker::errors, nb::arg("span"), nb::arg("point"),
             nb::arg("out").noconvert(), nb::arg("lasting"),
             "The share of each feature in the error of the last relaxation at a point.");
}

}  // namespace trust
