// Sums of points and of tables as Python sees them.
#include "sums/points.hpp"

#include "bindings/bindings.hpp"
#include "numpy.hpp"
#include "sums/primal.hpp"
#include "sums/tables.hpp"

namespace trust {

static void require(bool fits) {
    if (!fits) throw nb::value_error("points: given arrays that do not fit each other");
}

static void add_up_points(Table<const double> codes, Table<const i32> cells, Array<const i64> first,
                          Array<const double> points, Array<const double> slopes, double base,
                          Table<double> out) {
    const std::size_t n = codes.shape(0), d = first.size();
    require(codes.shape(1) == d && cells.shape(0) == n && cells.shape(1) == d);
    require(points.size() == slopes.size() && out.shape(0) == 2 && out.shape(1) == n);
    const Card card{view(first), view(points), view(slopes), base};
    const nb::gil_scoped_release released;
    add_up(card, {codes.data(), codes.size()}, {cells.data(), cells.size()},
           {{out.data(), n}, {out.data() + n, n}});
}

static double primal_of(const Tables& tables, Array<const double> costs, Array<i64> point, i64 side,
                        double low, double high) {
    const TableSum& sum = tables.sum();
    require(costs.size() == sum.cells() && point.size() == sum.features());
    for (std::size_t f = 0; f < point.size(); ++f)
        require(0 <= point.data()[f] && point.data()[f] < sum.first[f + 1] - sum.first[f]);
    const nb::gil_scoped_release released;
    return primal(sum, {static_cast<double>(side), low, high, view(costs)}, view(point));
}

void bind_points(nb::module_& m) {
    m.def("add_up_points", &add_up_points, nb::arg("codes"), nb::arg("cells"), nb::arg("first"),
          nb::arg("points"), nb::arg("slopes"), nb::arg("base"), nb::arg("out").noconvert(),
          "Write the sums of the points of rows of codes, and the sums of their sizes. A code x in "
          "cell c has points[c] + slopes[c] * x; the base is added last.");
    nb::class_<Tables, Kernel>(m, "Tables", "Bounds on a sum of tables of one and two features.")
        .def(
            "__init__",
            [](Tables* self, Array<const double> numbers, Array<const i64> layout) {
                new (self) Tables(std::make_shared<const TableSum>(view(numbers), view(layout)));
            },
            nb::arg("numbers"), nb::arg("layout"), "The arrays of `sums.tables.Tables`.")
        .def("primal", &primal_of, nb::arg("costs"), nb::arg("point").noconvert(), nb::arg("side"),
             nb::arg("low"), nb::arg("high"),
             "Change a point, a cell of each feature, into a cheap one with low <= side * number "
             "<= high. Return its cost, infinite if that failed.");
}

}  // namespace trust
