// The search as Python sees it.
#include "search/search.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "numpy.hpp"

namespace trust {

template <class T>
static std::vector<T> copied(const Array<const T>& array) {
    return {array.data(), array.data() + array.size()};
}

template <class T>
static nb::object to_numpy(const std::vector<T>& of) {
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(of.data(), {of.size()}),
                    nb::rv_policy::copy);
}

static void expect_size(const char* name, std::size_t size, std::size_t expected) {
    if (size != expected)
        throw nb::value_error((std::string(name) + ": given " + std::to_string(size) +
                               " numbers, expected " + std::to_string(expected))
                                  .c_str());
}

// What a question asks of a search, and the arrays of Python that say so.
static void make(Search* self, Array<const i64> offset, Array<const double> codes,
                 Array<const double> costs, Array<const i64> valley,
                 const std::vector<Kernel*>& kernels,
                 const std::vector<Array<const double>>& memories,
                 const std::vector<Array<const i64>>& cells,
                 const std::vector<Array<const i64>>& first_cells,
                 const std::vector<i64>& many_cells,
                 const std::vector<std::pair<double, double>>& ends, const std::vector<i64>& sides,
                 std::optional<std::pair<Array<const i64>, Array<const i64>>> around,
                 std::optional<Array<const i64>> own, Array<const i64> relations,
                 Array<const double> gains, Array<const i64> follows, Array<const double> formulas,
                 Array<const double> raw_low, Array<const double> raw_high, i64 most_boxes) {
    Candidates candidates{copied(offset), copied(codes), copied(costs), copied(valley)};
    if (offset.size() == 0) throw nb::value_error("offset: expected one number more than features");
    const std::size_t d = candidates.features(), n = candidates.many(), K = kernels.size();
    expect_size("codes", codes.size(), n);
    expect_size("costs", costs.size(), n);
    expect_size("valley", valley.size(), d);
    for (const std::size_t many : {memories.size(), cells.size(), first_cells.size(),
                                   many_cells.size(), ends.size(), sides.size()})
        expect_size("conditions", many, K);
    std::vector<Condition> conditions;
    for (std::size_t k = 0; k < K; ++k) {
        expect_size("cells", cells[k].size(), n);
        expect_size("first_cells", first_cells[k].size(), d);
        conditions.push_back({kernels[k]->clone(), copied(memories[k]), copied(cells[k]),
                              copied(first_cells[k]), many_cells[k], sides[k], ends[k].first,
                              ends[k].second});
    }
    std::optional<Around> near;
    if (around) {
        near = Around{copied(around->first), copied(around->second), std::vector<i64>(d, 0)};
        expect_size("around", near->lows.size(), n);
        expect_size("around", near->highs.size(), n);
        if (own) near->own = copied(*own);
        expect_size("own", near->own.size(), d);
    }
    if (follows.size() > 0) {
        expect_size("raw_low", raw_low.size(), n);
        expect_size("raw_high", raw_high.size(), n);
    }
    new (self) Search(std::move(candidates), std::move(conditions), std::move(near),
                      Relations(view(relations), copied(gains)),
                      Following(view(follows), view(formulas), copied(raw_low), copied(raw_high)),
                      most_boxes);
}

// The tree as arrays: feature, cut, multiplier and row of each node; then the rows of memory.
static nb::tuple tree_of(const Search& search) {
    const Tree::Preorder nodes = search.tree().preorder();
    const std::vector<double>& memory = search.tree().memory();
    const std::size_t size = search.memory(), rows = size == 0 ? 0 : memory.size() / size;
    return nb::make_tuple(
        to_numpy(nodes.feature), to_numpy(nodes.after), to_numpy(nodes.multiplier),
        to_numpy(nodes.row),
        nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(memory.data(), {rows, size}),
                 nb::rv_policy::copy));
}

void bind_search(nb::module_& m) {
    nb::enum_<Said>(m, "Said", "Why a search pauses.")
        .value("DONE", Said::done, "Nothing is left to search.")
        .value("FOUND", Said::found, "The corner is the cheapest point left.")
        .value("BETTER", Said::better, "The corner is better than the best so far.")
        .value("PAUSED", Said::paused, "As many boxes were opened as asked for.")
        .value("FULL", Said::full, "Too many boxes wait.");
    nb::class_<Search>(m, "Search", "Branch and bound over boxes of candidates.")
        .def("__init__", &make, nb::kw_only(), nb::arg("offset"), nb::arg("codes"),
             nb::arg("costs"), nb::arg("valley"), nb::arg("kernels"), nb::arg("memories"),
             nb::arg("cells"), nb::arg("first_cells"), nb::arg("many_cells"), nb::arg("ends"),
             nb::arg("sides"), nb::arg("around").none(), nb::arg("own").none(),
             nb::arg("relations"), nb::arg("gains"), nb::arg("follows"), nb::arg("formulas"),
             nb::arg("raw_low"), nb::arg("raw_high"), nb::arg("most_boxes"),
             "From the candidates of all features in one row, and lists with an entry for each "
             "condition.")
        .def(
            "begin",
            [](Search& search, double low, double high, i64 side, double key, bool most,
               i64 heuristic_from, bool prove) {
                const nb::gil_scoped_release released;
                search.begin({low, high, side, key, most, heuristic_from, prove});
            },
            nb::arg("low"), nb::arg("high"), nb::arg("side"), nb::kw_only(), nb::arg("key"),
            nb::arg("most"), nb::arg("heuristic_from"), nb::arg("prove"),
            "Start a question: the target's number within low and high, or as great as can be.")
        .def("run", &Search::run, nb::arg("boxes"), nb::call_guard<nb::gil_scoped_release>(),
             "Open so many boxes at most.")
        .def("tree", &tree_of, "The tree of a proof in preorder.")
        .def_prop_ro(
            "corner",
            [](const Search& search) {
                return to_numpy(std::vector<i64>(search.corner().begin(), search.corner().end()));
            },
            "A candidate of each feature: the point that the search reports.")
        .def_prop_ro("nodes", &Search::nodes, "Boxes opened so far.")
        .def_prop_ro("bound", &Search::bound, "What every answer still to come costs at least.")
        .def_rw("cutoff", &Search::cutoff, "An answer costs no more than this.")
        .def_rw("reached", &Search::reached, "The number to go beyond.")
        .def_rw("heuristic_from", &Search::heuristic_from,
                "Boxes after which points that meet the target are looked for.")
        .def_prop_rw(
            "low", [](Search& search) { return search.target().low; },
            [](Search& search, double low) { search.target().low = low; },
            "The least number of the target.")
        .def_prop_rw(
            "high", [](Search& search) { return search.target().high; },
            [](Search& search, double high) { search.target().high = high; },
            "The greatest number of the target.")
        .def_prop_ro(
            "side", [](Search& search) { return search.target().side; },
            "Whether the number must rise to meet the target, +1, or fall, -1.");
}

}  // namespace trust
