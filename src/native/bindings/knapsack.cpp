// The knapsack as Python sees it.
#include <nanobind/stl/pair.h>

#include "bindings/bindings.hpp"
#include "knapsack/fixing.hpp"
#include "knapsack/sack.hpp"
#include "numpy.hpp"

namespace trust {

using knapsack::LINE;
using knapsack::Sack;

static void require(bool fits) {
    if (!fits) throw nb::value_error("knapsack: given arrays that do not fit each other");
}

// Candidates of d features: costs, gains and where each feature's begin, with their end.
static void require_row(std::size_t costs, std::size_t gains, Array<const i64> first) {
    require(first.size() > 1 && costs == gains && first.data()[0] == 0);
    for (std::size_t f = 0; f + 1 < first.size(); ++f)
        require(first.data()[f] <= first.data()[f + 1]);
    require(first.data()[first.size() - 1] == static_cast<i64>(costs));
}

static Sack sack_of(Array<const double> costs, Array<const double> gains, Array<const i64> first,
                    Table<const double> lines, Array<const double> parts) {
    require_row(costs.size(), gains.size(), first);
    require(lines.shape(1) == LINE && parts.size() == 3);
    require(lines.shape(0) == 0 || lines.shape(0) == first.size() - 1);
    return {view(costs),
            view(gains),
            view(first),
            knapsack::lines_of({lines.data(), lines.size()}),
            {parts.data()[0], parts.data()[1], parts.data()[2]}};
}

static bool begin_lines(Table<double> lines, Array<const double> own, Table<const double> ends) {
    const std::size_t d = lines.shape(0);
    require(lines.shape(1) == LINE && own.size() == d && ends.shape(0) == 2 && ends.shape(1) == d);
    const nb::gil_scoped_release released;
    return knapsack::begin({lines.data(), lines.size()}, view(own), {ends.data(), d},
                           {ends.data() + d, d});
}

static std::pair<double, double> best_multiplier(Array<const double> costs,
                                                 Array<const double> gains, Array<const i64> first,
                                                 double needed, Array<i64> below,
                                                 Array<i64> above) {
    require_row(costs.size(), gains.size(), first);
    require(below.size() == first.size() - 1 && above.size() == below.size());
    const Sack sack(view(costs), view(gains), view(first), {}, {});
    const nb::gil_scoped_release released;
    const auto found = knapsack::best_multiplier(sack, needed, view(below), view(above));
    return {found.multiplier, found.bound};
}

static std::pair<int, i64> cheapest_choice(Array<const double> costs, Array<const double> gains,
                                           Array<const i64> first, Table<const double> lines,
                                           Array<const double> parts, double needed, i64 most_nodes,
                                           Array<i64> point) {
    const Sack sack = sack_of(costs, gains, first, lines, parts);
    require(point.size() == sack.features());
    const nb::gil_scoped_release released;
    const auto [said, nodes] = knapsack::cheapest(sack, needed, most_nodes, view(point));
    return {static_cast<int>(said), nodes};
}

static double mend_choice_of(Array<const double> costs, Array<const double> gains,
                             Array<const i64> first, double needed, Array<i64> point) {
    require_row(costs.size(), gains.size(), first);
    require(point.size() == first.size() - 1);
    for (std::size_t f = 0; f < point.size(); ++f)
        require(0 <= point.data()[f] && point.data()[f] < first.data()[first.size() - 1]);
    const nb::gil_scoped_release released;
    return mend_choice({view(costs), view(gains), view(first)}, needed, view(point));
}

void bind_knapsack(nb::module_& m) {
    m.def("begin_lines", &begin_lines, nb::arg("lines").noconvert(), nb::arg("own"),
          nb::arg("ends"),
          "Begin each line of a person at the first value beyond their own. Return False if one "
          "cannot be. `ends` are the least and the greatest value that each feature may take.");
    m.def("best_multiplier", &best_multiplier, nb::arg("costs"), nb::arg("gains"), nb::arg("first"),
          nb::arg("needed"), nb::arg("below").noconvert(), nb::arg("above").noconvert(),
          "Return the best multiplier and its bound. Write what is bought just below it, which "
          "gains too little, and just above it, which gains enough.");
    m.def("cheapest_choice", &cheapest_choice, nb::arg("costs"), nb::arg("gains"), nb::arg("first"),
          nb::arg("lines"), nb::arg("parts"), nb::arg("needed"), nb::arg("most_nodes"),
          nb::arg("point").noconvert(),
          "Write the cheapest choice that gains what is needed. Return 0 if it is not found in so "
          "many nodes, 1 if there is none and 2 if it is found, and the nodes.");
    m.def("mend_choice", &mend_choice_of, nb::arg("costs"), nb::arg("gains"), nb::arg("first"),
          nb::arg("needed"), nb::arg("point").noconvert(),
          "Change a point so that it gains what is needed and is cheap. Return its cost, infinite "
          "if no single change is enough.");
}

}  // namespace trust
