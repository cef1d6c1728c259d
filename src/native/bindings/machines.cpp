// Tsetlin machines as Python sees them: bounds, inference and learning.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/bindings.hpp"
#include "numpy.hpp"
#include "tsetlin/blocks.hpp"
#include "tsetlin/guess.hpp"
#include "tsetlin/inference.hpp"
#include "tsetlin/learning.hpp"
#include "tsetlin/machine.hpp"

namespace trust {

using namespace tsetlin;

namespace {

template <class T>
Matrix<T> matrix(const Table<T>& table) {
    return {table.data(), table.shape(0), table.shape(1)};
}

void expect(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// ---------------------------------------------------------------- literals and draws

// First column, literals, order and gap of each feature, and o: `Literals.layout`.
using LiteralLayout =
    std::tuple<Array<const i64>, Array<const i64>, Array<const bool>, Array<const bool>, i64>;

Literals literals_of(const LiteralLayout& layout) {
    const auto& [first, size, ordered, gap, o] = layout;
    const Literals literals{view(first), view(size), view(ordered), view(gap), o};
    const std::size_t d = first.size();
    expect(size.size() == d && ordered.size() == d && gap.size() == d,
           "literals: one entry for each feature expected");
    for (std::size_t f = 0; f < d; ++f)
        expect(literals.first[f] >= 0 && literals.size[f] >= 0 &&
                   literals.first[f] + literals.size[f] + literals.gap[f] <= o,
               "literals: a feature's end beyond o");
    return literals;
}

// The bit generator of a `numpy.random.Generator`, locked while this lives.
class Locked {
  public:
    explicit Locked(const nb::object& generator)
        : bits_(generator.attr("bit_generator")), lock_(bits_.attr("lock")) {
        const nb::object capsule = bits_.attr("capsule");
        draws_ =
            static_cast<const BitGenerator*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
        if (draws_ == nullptr) throw nb::python_error();
        lock_.attr("acquire")();
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked() { lock_.attr("release")(); }

    const BitGenerator& draws() const { return *draws_; }

  private:
    nb::object bits_, lock_;
    const BitGenerator* draws_;
};

// ---------------------------------------------------------------- bounds

bool guess(const Machine& machine, i64 side, double level, Array<const i64> offset,
           Array<const i64> cells, Array<const double> costs, Array<const i64> forced,
           Array<i64> point, i64 work, const nb::callable& go_on) {
    const std::size_t d = machine.tables().d;
    expect(offset.size() == d + 1 && point.size() == d && cells.size() == costs.size() &&
               offset.data()[d] == static_cast<i64>(costs.size()),
           "guess: expected d + 1 offsets, and a cell and a cost for each candidate");
    const auto asked = [&go_on] {
        const nb::gil_scoped_acquire held;
        return nb::cast<bool>(go_on());
    };
    const nb::gil_scoped_release released;
    return Guess(machine.tables(),
                 {side, level, view(offset), view(cells), view(costs), view(forced), work, asked})
        .run(view(point));
}

void bind_bounds(nb::module_& m) {
    nb::class_<Machine, Kernel> made(m, "Machine", "Bounds on the number of a Tsetlin machine.");
    made.attr("LONG") = Machine::LONG;
    made.def(
            "__init__",
            [](Machine* made, Array<const double> numbers, Array<const i64> layout) {
                new (made) Machine(std::make_shared<const MachineTables>(numbers, layout));
            },
            nb::arg("numbers"), nb::arg("layout"),
            "Arrays of `trust_recourse.models.tsetlin.bounds.ClauseBounds`, which are kept.")
        .def("guess", &guess, nb::arg("side"), nb::arg("level"), nb::arg("offset"),
             nb::arg("cells"), nb::arg("costs"), nb::arg("forced"), nb::arg("point").noconvert(),
             nb::arg("work"), nb::arg("go_on"),
             "Search from `point` for a cheap point that reaches a level; whether one was found.");
}

// ---------------------------------------------------------------- inference

// Arrays that a function of the core fills without the interpreter's lock.
template <class Fill>
auto filled(std::size_t rows, std::size_t columns, const Fill& fill) {
    std::vector<double> out(rows * columns);
    {
        const nb::gil_scoped_release released;
        fill(Matrix<double>{out.data(), rows, columns});
    }
    return adopted<double>(std::move(out), {rows, columns});
}

template <class Fill>
auto filled(std::size_t n, const Fill& fill) {
    std::vector<double> out(n);
    {
        const nb::gil_scoped_release released;
        fill(std::span<double>(out));
    }
    return owned(std::move(out));
}

auto py_firing(Table<const i32> cells, Array<const i64> first_cell, Table<const double> factors,
               Array<const double> empty) {
    expect(cells.shape(1) == first_cell.size() && factors.shape(1) == empty.size(),
           "firing: shapes do not fit together");
    return filled(cells.shape(0), empty.size(), [&](Matrix<double> out) {
        const Matrix<const i32> rows = matrix(cells);
        const i64 last = static_cast<i64>(factors.shape(0));
        for (std::size_t i = 0; i < rows.rows; ++i)
            for (std::size_t f = 0; f < rows.columns; ++f) {
                const i64 row = first_cell.data()[f] + rows[i][f];
                expect(row >= 0 && row < last, "firing: a cell beyond the table of factors");
            }
        firing(rows, view(first_cell), matrix(factors), view(empty), out);
    });
}

auto py_vote_law(Table<const double> q) {
    expect(q.shape(1) % 2 == 0, "vote_law: expected (n, C) with an even C");
    return filled(q.shape(0), q.shape(1) + 1,
                  [&](Matrix<double> out) { vote_laws(matrix(q), out); });
}

auto py_expectation(Table<const double> law, Array<const double> g) {
    expect(law.shape(1) == g.size(), "expectation: shapes do not fit together");
    return filled(law.shape(0),
                  [&](std::span<double> out) { expectation(matrix(law), view(g), out); });
}

auto py_scores(Table<const double> q, Array<const double> weights, double intercept) {
    expect(q.shape(1) == weights.size(), "scores: shapes do not fit together");
    return filled(q.shape(0),
                  [&](std::span<double> out) { scores(matrix(q), view(weights), intercept, out); });
}

auto py_logistic(Array<const double> score) {
    return filled(score.size(), [&](std::span<double> out) { logistic(view(score), out); });
}

auto py_log_loss(Table<const double> q, Array<const i8> y, Array<const double> weights,
                 double intercept) {
    expect(q.shape(0) == y.size() && q.shape(1) == weights.size(),
           "log_loss: shapes do not fit together");
    double loss = 0.0;
    const auto gradient = filled(weights.size() + 1, [&](std::span<double> out) {
        loss = log_loss(matrix(q), view(y), view(weights), intercept, out);
    });
    return std::tuple{loss, gradient};
}

auto py_slopes(Table<const double> q, Array<const double> g) {
    expect(q.shape(1) > 0 && q.shape(1) % 2 == 0 && g.size() == q.shape(1) + 1,
           "slopes: expected (n, C) with an even C, and C + 1 values of the link");
    return filled(q.shape(0), q.shape(1),
                  [&](Matrix<double> out) { slopes(matrix(q), view(g), out); });
}

auto py_literal_rows(Table<const i32> cells, const LiteralLayout& layout) {
    const Literals literals = literals_of(layout);
    expect(cells.shape(1) == literals.first.size(), "literal_rows: shapes do not fit together");
    const std::size_t rows = cells.shape(0), columns = static_cast<std::size_t>(2 * literals.o);
    std::vector<std::uint8_t> out(rows * columns);
    literal_rows(matrix(cells), literals, {out.data(), rows, columns});
    return adopted<bool>(std::move(out), {rows, columns});
}

auto py_monte_carlo(Table<const i32> cells, const LiteralLayout& layout,
                    Table<const double> inclusion, Array<const double> worth, double intercept,
                    i64 n_passes, const nb::object& rng) {
    const Locked locked(rng);
    const Literals literals = literals_of(layout);
    expect(cells.shape(1) == literals.first.size() &&
               static_cast<i64>(inclusion.shape(1)) == 2 * literals.o &&
               (worth.size() == inclusion.shape(0) || worth.size() == inclusion.shape(0) + 1),
           "monte_carlo: shapes do not fit together");
    const Passes passes{matrix(cells), literals, matrix(inclusion), n_passes, locked.draws()};
    return filled(cells.shape(0),
                  [&](std::span<double> out) { monte_carlo(passes, view(worth), intercept, out); });
}

void bind_inference(nb::module_& m) {
    m.def("firing", &py_firing, "The probability that each clause fires at rows of cells, (n, C).");
    m.def("vote_law", &py_vote_law, "The law of the vote for each row of q, (n, C + 1).");
    m.def("expectation", &py_expectation, "E[g(v)] of each row of laws.");
    m.def("scores", &py_scores, "The intercept and the weighted sum of each row of q.");
    m.def("logistic", &py_logistic, "The logistic function of each score.");
    m.def("log_loss", &py_log_loss,
          "The log-loss of all rows together, and its derivatives by each weight, then by the "
          "intercept.");
    m.def("slopes", &py_slopes, "What E[g(v)] gains when each clause fires for sure, (n, C).");
    m.def("literal_rows", &py_literal_rows,
          "Truth of every literal and its negation at rows of cells.");
    m.def("monte_carlo", &py_monte_carlo,
          "The mean over passes that draw every automaton again: of g(v), from C + 1 values of "
          "the link, or of the score, from C weights.");
}

// ---------------------------------------------------------------- learning

template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

Samples samples_of(const Table<const i32>& cells, const Array<const i8>& y,
                   const Literals& literals) {
    expect(cells.shape(0) == y.size() && cells.shape(1) == literals.first.size(),
           "learning: a row of cells for each sample expected");
    return {matrix(cells), view(y)};
}

Uniforms uniforms_of(const Cube<const float>& draws, const Array<const i8>& y, std::size_t C) {
    expect(draws.shape(0) == y.size() && draws.shape(1) == 2 && draws.shape(2) == C,
           "learning: draws of (n, 2, C) expected");
    return {draws.data(), C};
}

Steps steps_of(const std::tuple<float, float>& qs) { return {std::get<0>(qs), std::get<1>(qs)}; }

i64 learn_plain(Table<const i32> cells, Array<const i8> y, const LiteralLayout& layout,
                Table<const bool> allowed, Cube<const float> draws, double T,
                std::tuple<float, float> qs, bool keep, Cube<float> states, Array<float> pi,
                Array<bool> fired) {
    const Literals literals = literals_of(layout);
    const std::size_t C = states.shape(0), K = states.shape(1);
    expect(K == static_cast<std::size_t>(2 * literals.o) && allowed.shape(0) == 2 &&
               allowed.shape(1) == K && pi.size() == C * K && fired.size() == C &&
               states.shape(2) >= 2 && states.shape(2) % 2 == 0,
           "learn_plain: shapes do not fit together");
    PlainVectors machine{literals,  matrix(allowed),     T, steps_of(qs),
                         keep,      states.shape(2) / 2, K, states.data(),
                         pi.data(), view(fired)};
    const Samples samples = samples_of(cells, y, literals);
    const Uniforms uniforms = uniforms_of(draws, y, C);
    nb::gil_scoped_release released;
    return machine.learn(samples, uniforms);
}

i64 learn_integer(Table<const i32> cells, Array<const i8> y, const LiteralLayout& layout,
                  Table<const bool> allowed, const nb::object& rng, double T, double s,
                  i64 n_states, Table<i16> states, Array<bool> fired) {
    const Literals literals = literals_of(layout);
    const std::size_t K = states.shape(1);
    expect(K == static_cast<std::size_t>(2 * literals.o) && allowed.shape(0) == 2 &&
               allowed.shape(1) == K && fired.size() == states.shape(0),
           "learn_integer: shapes do not fit together");
    Integers machine{literals, matrix(allowed), T, s, n_states, matrix(states), view(fired)};
    const Samples samples = samples_of(cells, y, literals);
    const Locked locked(rng);
    nb::gil_scoped_release released;
    return machine.learn(samples, locked.draws());
}

// `Blocks`, and the arrays that it works on.
class HeldBlocks {
  public:
    using StepTables =
        std::tuple<Array<const float>, Array<const i64>, Array<const float>, Array<const float>>;

    HeldBlocks(const LiteralLayout& layout, double T, std::tuple<float, float> qs,
               const StepTables& tables, Cube<float> states, Table<const bool> forbidden,
               Array<float> pi, Array<bool> fired)
        : layout_(layout),
          tables_(tables),
          states_(states),
          forbidden_(forbidden),
          pi_(pi),
          fired_(fired),
          literals_(literals_of(layout_)) {
        const std::size_t C = states.shape(0), K = states.shape(1), rows = states.shape(2);
        expect(K == static_cast<std::size_t>(2 * literals_.o) && forbidden.shape(0) == C &&
                   forbidden.shape(1) == K && fired.size() == C && rows >= 8 && rows % 2 == 0 &&
                   pi.size() == C * Blocks::LANES * ((K + Blocks::LANES - 1) / Blocks::LANES),
               "Blocks: shapes do not fit together");
        blocks_.emplace(C, K, rows / 2, literals_, T, steps_of(qs), taken(tables),
                        Blocks::Arrays{states.data(), forbidden.data(), pi.data(), fired.data()});
    }

    std::tuple<std::size_t, i64> learn(std::size_t i, Table<const i32> cells, Array<const i8> y,
                                       Cube<const float> draws) {
        const Samples samples = samples_of(cells, y, literals_);
        const Uniforms uniforms = uniforms_of(draws, y, blocks_->clauses());
        i64 right = 0;
        nb::gil_scoped_release released;
        i = blocks_->learn(i, samples, uniforms, right);
        return {i, right};
    }

    void settle(std::size_t first, std::size_t last, i64 due) {
        expect(last <= blocks_->clauses(), "settle: there are not so many clauses");
        nb::gil_scoped_release released;
        blocks_->settle(first, last, due);
    }

  private:
    static Blocks::Tables taken(const StepTables& tables) {
        const auto& [taps, offset, bottom, top] = tables;
        expect(taps.size() == 256 * 5 && offset.size() == 256 && bottom.size() == 256 * 32 &&
                   top.size() == 256 * 32,
               "Blocks: tables of 256 histories expected");
        return {taps.data(), offset.data(), bottom.data(), top.data()};
    }

    LiteralLayout layout_;
    StepTables tables_;
    Cube<float> states_;
    Table<const bool> forbidden_;
    Array<float> pi_;
    Array<bool> fired_;
    Literals literals_;
    std::optional<Blocks> blocks_;
};

void bind_learning(nb::module_& m) {
    m.def("learn_plain", &learn_plain, nb::arg("cells"), nb::arg("y"), nb::arg("layout"),
          nb::arg("allowed"), nb::arg("draws"), nb::arg("T"), nb::arg("qs"), nb::arg("keep"),
          nb::arg("states").noconvert(), nb::arg("pi").noconvert(), nb::arg("fired").noconvert(),
          "Learn samples on whole state vectors, in place; returns how many votes were right.");
    m.def("learn_integer", &learn_integer, nb::arg("cells"), nb::arg("y"), nb::arg("layout"),
          nb::arg("allowed"), nb::arg("rng"), nb::arg("T"), nb::arg("s"), nb::arg("n_states"),
          nb::arg("states").noconvert(), nb::arg("fired").noconvert(),
          "Learn samples on integer states, in place; returns how many votes were right.");
    nb::class_<HeldBlocks> blocks(m, "Blocks", "State vectors that learn in blocks, in place.");
    blocks.attr("BLOCK") = Blocks::BLOCK;
    blocks.attr("LANES") = Blocks::LANES;
    blocks
        .def(nb::init<const LiteralLayout&, double, std::tuple<float, float>,
                      const HeldBlocks::StepTables&, Cube<float>, Table<const bool>, Array<float>,
                      Array<bool>>(),
             nb::arg("layout"), nb::arg("T"), nb::arg("qs"), nb::arg("tables"),
             nb::arg("states").noconvert(), nb::arg("forbidden").noconvert(),
             nb::arg("pi").noconvert(), nb::arg("fired").noconvert())
        .def("learn", &HeldBlocks::learn, nb::arg("i"), nb::arg("cells"), nb::arg("y"),
             nb::arg("draws"),
             "Learn from sample i on until a clause must be settled; returns the next sample and "
             "how many votes were right.")
        .def("settle", &HeldBlocks::settle, nb::arg("first"), nb::arg("last"), nb::arg("due"),
             "Settle the clauses [first, last) that learnt at least `due` steps.");
}

}  // namespace

void bind_machines(nb::module_& m) {
    bind_bounds(m);
    bind_inference(m);
    bind_learning(m);
}

}  // namespace trust
