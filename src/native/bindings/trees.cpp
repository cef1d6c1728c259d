// Sums of trees and leads between them, for Python.
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "bindings/bindings.hpp"
#include "numpy.hpp"
#include "sums/ensemble.hpp"
#include "sums/layout.hpp"
#include "sums/log_odds_margin.hpp"
#include "sums/mixed_sum.hpp"
#include "sums/primal.hpp"
#include "sums/reduce.hpp"
#include "sums/terms.hpp"

namespace trust {

namespace {

using Doubles = Array<const double>;
using Ints = Array<const i64>;
using Bools = Array<const bool>;

void check(bool fits, const char* message) {
    if (!fits) throw std::invalid_argument(message);
}

Mask mask(const Table<const bool>& table) { return {table.data(), i64(table.shape(1))}; }

// ---------------------------------------------------------------- layout

auto py_make_layout(Table<const bool> allowed, Ints starts, Ints sizes) {
    std::vector<i64> made;
    {
        nb::gil_scoped_release released;
        made = make_layout(mask(allowed), view(starts), view(sizes));
    }
    return owned(std::move(made));
}

auto py_compact(Ints layout, Bools cells, Doubles costs, Bools apart) {
    Compact found;
    {
        nb::gil_scoped_release released;
        const TermLayout lay(view(layout));
        check(i64(cells.size()) == lay.cells && i64(costs.size()) == lay.cells &&
                  i64(apart.size()) == lay.d,
              "the cells, costs or features do not fit the layout");
        found = compact(lay, view(cells), view(costs), view(apart));
    }
    return nb::make_tuple(owned(std::move(found.layout)), owned(std::move(found.leaves)),
                          owned(std::move(found.constant)), owned(std::move(found.cells)),
                          owned(std::move(found.atoms)));
}

auto py_living_leaves(Ints layout, Bools cells) {
    const TermLayout lay(view(layout));
    check(i64(cells.size()) == lay.cells, "the cells do not fit the layout");
    return owned_flags(living_leaves(lay, view(cells)), {std::size_t(lay.leaves)});
}

// ---------------------------------------------------------------- reduction

auto py_taken_by(Ints layout) {
    const TermLayout lay(view(layout));
    return owned_flags(taken_by(lay), {std::size_t(lay.cells), std::size_t(lay.leaves)});
}

auto py_coupled(Ints layout) {
    Coupled found;
    {
        nb::gil_scoped_release released;
        found = coupled(TermLayout(view(layout)));
    }
    return nb::make_tuple(owned(std::move(found.row)), owned(std::move(found.column)),
                          owned(std::move(found.sign)), owned(std::move(found.entry)),
                          owned(std::move(found.set)));
}

auto py_priced_h(Ints layout, Ints entry, Array<const std::uint64_t> set, Doubles duals) {
    check(entry.size() == set.size() && entry.size() <= duals.size(),
          "expected an entry, a set and a dual value for each row");
    return owned(priced_h(TermLayout(view(layout)), view(entry), view(set), view(duals)));
}

double py_total_constant(Ints layout, Doubles values, Doubles h) {
    const TermLayout lay(view(layout));
    check(i64(values.size()) == lay.leaves && i64(h.size()) == lay.atoms,
          "the values or h do not fit the layout");
    return total_constant(lay, view(values), view(h));
}

auto py_gains_at(Ints layout, Doubles h) {
    const TermLayout lay(view(layout));
    check(i64(h.size()) == lay.atoms, "h does not fit the layout");
    return owned(gains_at(lay, view(h)));
}

double py_climb(Doubles values, Ints layout, Doubles spend, double need, double enough,
                Array<double> memory) {
    nb::gil_scoped_release released;
    return climb(view(values), TermLayout(view(layout)), view(spend), need, enough, view(memory));
}

double py_primal(Table<const bool> taken, Doubles values, Doubles costs, Ints first, Ints sizes,
                 Array<i64> point, double low, double high, i64 work) {
    check(taken.shape(0) == costs.size() && taken.shape(1) == values.size() &&
              first.size() == sizes.size() && first.size() == point.size(),
          "expected a row for each cell, a column for each leaf, a cell for each feature");
    for (std::size_t f = 0; f < point.size(); ++f)
        check(0 <= point.data()[f] && point.data()[f] < sizes.data()[f],
              "expected a cell of each feature");
    const LeafSum sum{mask(taken), view(values), view(first), view(sizes)};
    nb::gil_scoped_release released;
    return primal(sum, {1.0, low, high, view(costs)}, view(point), work);
}

// ---------------------------------------------------------------- trees

class PyForest {
  public:
    PyForest(Ints gaps, Ints root, Ints feature, Ints left, Ints right, Ints cut,
             Bools missing_left, Ints first, Bools goes_left)
        : arrays_{gaps, root, feature, left, right, cut, first},
          missing_left_(missing_left),
          goes_left_(goes_left) {
        for (const Ints& each : {left, right, cut, first})
            check(each.size() == feature.size(), "expected one number for each node");
        check(missing_left.size() == feature.size(), "expected one boolean for each node");
    }

    void descend(Table<const i32> cells, Table<i64> out) const {
        const Forest forest = viewed(cells.shape(1));
        check(out.shape(0) == cells.shape(0) && out.shape(1) == forest.root.size(),
              "expected a row for each row of cells, with a place for each tree");
        nb::gil_scoped_release released;
        trust::descend(forest, cells.data(), i64(cells.shape(0)), i64(cells.shape(1)), out.data());
    }

    template <class T>
    void add_up(Table<const i32> cells, Array<const T> value, Array<T> total) const {
        const Forest forest = viewed(cells.shape(1));
        check(value.size() == forest.feature.size() && total.size() == cells.shape(0),
              "expected a value for each node and a total for each row of cells");
        nb::gil_scoped_release released;
        trust::add_up<T>(forest, cells.data(), i64(cells.shape(1)), view(value), view(total));
    }

  private:
    struct {
        Ints gaps, root, feature, left, right, cut, first;
    } arrays_;
    Bools missing_left_, goes_left_;

    Forest viewed(std::size_t d) const {
        check(arrays_.gaps.size() == d, "expected a column of cells for each feature");
        return {view(arrays_.gaps),   view(arrays_.root),  view(arrays_.feature),
                view(arrays_.left),   view(arrays_.right), view(arrays_.cut),
                missing_left_.data(), view(arrays_.first), goes_left_.data()};
    }
};

// ---------------------------------------------------------------- kernels

Parts parts_of(const std::vector<const Kernel*>& kernels, const Ints& memory, i64 features) {
    check(memory.size() == kernels.size(), "expected a place in memory for each kernel");
    return {kernels, view(memory), features};
}

void make_margin(LogOddsMargin* self, const std::vector<const Kernel*>& kernels, Ints memory,
                 i64 features, Table<const double> sums, i64 classes, i64 own, bool strongest,
                 double rounding, double lowest, double width) {
    check(sums.shape(1) == 3, "expected an offset, a width and an entropy for each part");
    LogOddsMargin::Model model{{}, classes, own, strongest, {rounding, lowest, width}};
    for (std::size_t i = 0; i < sums.shape(0); ++i)
        model.sums.push_back({sums(i, 0), sums(i, 1), sums(i, 2)});
    new (self) LogOddsMargin(parts_of(kernels, memory, features),
                             std::make_shared<const LogOddsMargin::Model>(std::move(model)));
}

void make_mixed(MixedSum* self, const std::vector<const Kernel*>& kernels, Ints memory, Doubles by,
                double rounding, Ints sizes) {
    check(kernels.size() == 2 && by.size() == 2,
          "expected tables and leaves, and a factor of each");
    MixedSum::Model model{{by.data()[0], by.data()[1]}, rounding, {}, 0};
    for (const i64 size : view(sizes)) {
        model.first.push_back(model.cells);
        model.cells += size;
    }
    new (self) MixedSum(parts_of(kernels, memory, i64(sizes.size())),
                        std::make_shared<const MixedSum::Model>(std::move(model)));
}

}  // namespace

void bind_trees(nb::module_& m) {
    nb::class_<Terms, Kernel>(m, "Terms", "Bounds on a sum of small terms.")
        .def(
            "__init__",
            [](Terms* self, Doubles numbers, Ints layout) {
                new (self) Terms(view(numbers), view(layout));
            },
            nb::arg("numbers"), nb::arg("layout"));
    nb::class_<LogOddsMargin, Kernel>(m, "LogOddsMargin",
                                      "Bounds on the lead of one class over the others.")
        .def("__init__", &make_margin, nb::arg("kernels"), nb::arg("memory"), nb::arg("features"),
             nb::arg("sums"), nb::arg("classes"), nb::arg("own"), nb::arg("strongest"),
             nb::arg("rounding"), nb::arg("lowest"), nb::arg("width"));
    nb::class_<MixedSum, Kernel>(m, "MixedSum", "Bounds on a sum of tables and of small terms.")
        .def("__init__", &make_mixed, nb::arg("kernels"), nb::arg("memory"), nb::arg("by"),
             nb::arg("rounding"), nb::arg("sizes"));
    nb::class_<PyForest>(m, "Forest", "The nodes of all trees of an ensemble.")
        .def(nb::init<Ints, Ints, Ints, Ints, Ints, Ints, Bools, Ints, Bools>(), nb::arg("gaps"),
             nb::arg("root"), nb::arg("feature"), nb::arg("left"), nb::arg("right"), nb::arg("cut"),
             nb::arg("missing_left"), nb::arg("first"), nb::arg("goes_left"))
        .def("descend", &PyForest::descend, nb::arg("cells"), nb::arg("out").noconvert(),
             "Write the leaf of each tree that each row of cells reaches.")
        .def("add_up", &PyForest::add_up<double>, nb::arg("cells"), nb::arg("value"),
             nb::arg("total").noconvert(),
             "Add the value of each tree's leaf to the total of each row.")
        .def("add_up", &PyForest::add_up<float>, nb::arg("cells"), nb::arg("value"),
             nb::arg("total").noconvert(), "The same in single precision.");
    m.def("climb", &py_climb, nb::arg("values"), nb::arg("layout"), nb::arg("spend"),
          nb::arg("need"), nb::arg("enough"), nb::arg("memory").noconvert(),
          "The bound on what a sum of at least `need` costs; the h and the price go to memory.");
    m.def("compact", &py_compact, nb::arg("layout"), nb::arg("cells"), nb::arg("costs"),
          nb::arg("apart"), "The layout of some cells alone, and what it contains.");
    m.def("coupled", &py_coupled, nb::arg("layout"), "Rows of the root LP, with entries and sets.");
    m.def("gains_at", &py_gains_at, nb::arg("layout"), nb::arg("h"),
          "The sum of the h of each cell.");
    m.def("living_leaves", &py_living_leaves, nb::arg("layout"), nb::arg("cells"),
          "Which leaves some remaining cells reach.");
    m.def("make_layout", &py_make_layout, nb::arg("allowed"), nb::arg("starts"), nb::arg("sizes"),
          "The layout of leaves, in one array.");
    m.def("primal", &py_primal, nb::arg("taken"), nb::arg("values"), nb::arg("costs"),
          nb::arg("first"), nb::arg("sizes"), nb::arg("point").noconvert(), nb::arg("low"),
          nb::arg("high"), nb::arg("work"),
          "Change a point into a cheap one that is enough; its cost.");
    m.def("priced_h", &py_priced_h, nb::arg("layout"), nb::arg("entry"), nb::arg("set"),
          nb::arg("duals"), "h of all atoms from the dual values of the root LP.");
    m.def("taken_by", &py_taken_by, nb::arg("layout"), "Which leaves take each cell.");
    m.def("total_constant", &py_total_constant, nb::arg("layout"), nb::arg("values"), nb::arg("h"),
          "The part of the bound on the sum that depends on no cell.");
}

}  // namespace trust
