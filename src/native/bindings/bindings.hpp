// What each file of bindings adds to the module.
#pragma once
#include <nanobind/nanobind.h>

namespace trust {

void bind_grid(nanobind::module_& m);
void bind_kernel(nanobind::module_& m);
void bind_machines(nanobind::module_& m);
void bind_knapsack(nanobind::module_& m);
void bind_points(nanobind::module_& m);
void bind_own(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_trees(nanobind::module_& m);

}  // namespace trust
