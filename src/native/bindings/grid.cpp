// From values to cells, as Python sees it.
#include "grid.hpp"

#include "bindings/bindings.hpp"
#include "numpy.hpp"

namespace trust {

static void grid_cells(Table<const double> codes, Array<const double> cuts, Array<const i64> first,
                       Array<const i64> sizes, Table<i32> cells) {
    const std::size_t d = sizes.size();
    if (codes.shape(1) != d || first.size() != d + 1 || cells.shape(0) != codes.shape(0) ||
        cells.shape(1) != d)
        throw nb::value_error("codes and cells: given other shapes than n rows of d features");
    const Cuts grid{view(cuts), view(first), view(sizes)};
    const nb::gil_scoped_release released;
    cells_of(grid, {codes.data(), codes.size()}, {cells.data(), cells.size()});
}

void bind_grid(nb::module_& m) {
    m.def("grid_cells", &grid_cells, nb::arg("codes"), nb::arg("cuts"), nb::arg("first"),
          nb::arg("sizes"), nb::arg("cells").noconvert(),
          "Write the cell of each code. The cuts of all features lie in one row, those of feature "
          "f from first[f] on. The cell of NaN is the feature's last.");
}

}  // namespace trust
