// The extension `trust_recourse._native`.
#include "bindings.hpp"

NB_MODULE(_native, m) {
    nanobind::set_leak_warnings(false);  // models may live as long as the interpreter
    m.doc() = "Compiled bounds, searches and training.";
    trust::bind_kernel(m);
    trust::bind_own_kernels(m);
    trust::bind_search(m);
}
