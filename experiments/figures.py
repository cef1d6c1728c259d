"""The figures of Appendix C: where each method takes the paper's queries.

Two features are drawn as they are, on the surface of the model's confidence; more of them on the
first two principal components of the rows learnt from. Drawn are the answers in Table 2's rows, of
the first seed where there are several; nothing is searched again.
"""

from __future__ import annotations

import numpy as np

from experiments.paper import SEED, TITLES, split
from experiments.people import Query, recourse
from trust_recourse import Option, Result, Status, Target
from trust_recourse.plot import draw_projection, draw_surface, projection_info, surface_info

SHOWN = {
    "Wachter, ANN": "Wachter",
    "GrowingSpheres, ANN": "GrowingSpheres",
    "PTM+TPE, 50 passes, 0.50 ± 0.1": "PTM+TPE, τ = 0.50",
    "PTM+TPE, 50 passes, 0.85 ± 0.1": "PTM+TPE, τ = 0.85",
    "Exact, vote, ≥ 0.85": "Exact, vote, at least 0.85",
    "Exact, vote, ≥ 0.85, radius 0.05": "Exact, vote, radius 0.05",
}


def appendix_c(rows, models):
    """A figure for each table of data; `models` says which model each row of Table 2 asks."""
    found = {}
    for data in TITLES:
        methods = {}
        for name, title in SHOWN.items():
            answers = [row for row in rows if (row["row"], row["data"]) == (name, data)]
            if results := answered(answers, models[name]):
                methods[title] = results
        if methods:
            found[f"counterfactuals_{data}"] = drawn(data, methods)
    return found


def answered(rows, model):
    """The answers to the paper's queries, as results to draw."""
    return [
        result(row, model)
        for row in rows
        if row["who"] == "paper" and row["seed"] == SEED and row.get("x") is not None
    ]


def result(row, model):
    """A result as the search that wrote this row would have given it."""
    query = Query(row["data"], row["fold"], row["person"])
    door, target = recourse(model, query), Target(0.5)
    x = door.schema.decode(np.array([row["x"]])).iloc[0]
    moved = {name: (query.x[name], x[name]) for name in x.index if query.x[name] != x[name]}
    status = Status(row["status"])
    option = Option(x, moved, row["l2"], row["confidence"], status, target)
    return Result(door, query.x, row["before"], (option,), {target: status})


def drawn(data, methods):
    s = split(data)
    X, y = s.X.iloc[s.learnt], s.y[s.learnt]
    if X.shape[1] == 2:
        axes = draw_surface(surface_info(methods, X=X))
    else:
        axes = draw_projection(projection_info(methods, X, y))
    figure = axes[0].get_figure()
    figure.suptitle(TITLES[data])
    return figure
