// The extension `trust_recourse._native`.
#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
    nanobind::set_leak_warnings(false);  // models may live as long as the interpreter
    m.doc() = "Compiled bounds, searches and training.";
    trust::bind_kernel(m);
    trust::bind_machines(m);
    trust::bind_grid(m);
    trust::bind_knapsack(m);
    trust::bind_points(m);
    trust::bind_own(m);
    trust::bind_search(m);
    trust::bind_trees(m);
}
