"""Rules by their literals, how surely each belongs and where it holds; and one automaton."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.answers.plot import style
from trust_recourse.answers.plot.waterfall import LINE, explained, label
from trust_recourse.io.scalars import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from trust_recourse.answers.explain import RuleExplanation

MOST_RULES, MOST_LITERALS = 10, 24
LEAST = 0.05  # literals less likely in every rule shown are left out


@dataclass(frozen=True, eq=False)
class RuleMapInfo:
    """What `draw_rule_map` draws."""

    rules: tuple[str, ...]
    literals: tuple[str, ...]
    inclusion: Floats  # (rules, literals)
    points: tuple[str, ...]
    holds: NDArray[np.bool_]  # (points, literals)
    starts: tuple[int, ...]  # columns at which another feature's literals begin
    left_out: tuple[int, int]  # rules and literals that tell less


def rule_map_info(
    explanation: RuleExplanation, rules: int = MOST_RULES, literals: int = MOST_LITERALS
) -> RuleMapInfo:
    """Gather the rules of the greatest shares and the literals likeliest to belong to them.

    Literals come feature by feature, in the order of their thresholds. The points are the factual
    and the two that are explained.
    """
    explained(explanation)
    if explanation.by != "rule":
        raise TypeError(
            f"given an explanation by {explanation.noun}s, which have no literals; expected one of "
            "a Tsetlin machine"
        )
    points, clauses = explanation.points, explanation.points.clauses
    chosen = np.argsort(-np.abs(explanation.shown.terms), kind="stable")[:rules]
    best, o, owners = (
        clauses.inclusion[chosen].max(axis=0), clauses.literals.n_literals, clauses.literals.owners
    )  # fmt: skip
    likeliest = [int(k) for k in np.argsort(-best, kind="stable")[:literals] if best[k] >= LEAST]
    columns = sorted(likeliest, key=lambda k: (owners[k], k >= o, k))
    shown = {place.name: place for place in (points.all[0], explanation.start, explanation.end)}
    return RuleMapInfo(
        tuple(label(explanation, int(j)) for j in chosen),
        tuple(clauses.names[k] for k in columns),
        clauses.inclusion[chosen][:, columns],
        tuple(shown),
        np.array([place.true[columns] for place in shown.values()]),
        tuple(int(k) + 1 for k in np.flatnonzero(np.diff(owners[columns]))),
        (len(clauses.inclusion) - len(chosen), 2 * o - len(columns)),
    )


def draw_rule_map(info: RuleMapInfo, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
    """Draw inclusion probabilities as shades; above them a full mark where a literal holds."""
    if axes is None:
        wide = 3.4 + 0.26 * len(info.literals)
        lines = sum(max(label.count("\n") + 1.5, 2.5) for label in info.rules)
        longest = max([len(name) for name in info.literals], default=0)
        tall = 1.2 + 0.07 * min(longest, 32) + LINE * lines + 0.25 * len(info.points)
        ratio = [0.25 * len(info.points) + 0.1, LINE * lines]
        top, below = style.new_axes((wide, tall), rows=2, sharex=True, height_ratios=ratio)
    else:
        top, below = axes
    _points(top, info)
    if not info.literals:
        style.note(below, f"No literal belongs to a rule with a probability of {LEAST:g} or more.")
        return top, below
    shades = below.imshow(info.inclusion, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), pi in np.ndenumerate(info.inclusion):
        if pi >= 0.1:
            below.text(
                column, row, f"{pi:.1f}"[1:] if pi < 0.95 else "1", ha="center", va="center",
                fontsize=6, color=style.WHITE if pi > 0.5 else style.BLACK,
            )  # fmt: skip
    for column in info.starts:
        below.axvline(column - 0.5, color=style.GREY, linewidth=0.8)
    names = [style.shortened(name, 32) for name in info.literals]
    below.set_xticks(range(len(names)), names, rotation=90, fontsize=style.SMALL)
    below.set_yticks(range(len(info.rules)), list(info.rules), fontsize=style.SMALL)
    below.figure.colorbar(shades, ax=[top, below], label="belongs to the rule with probability")
    return top, below


def _points(ax: Axes, info: RuleMapInfo) -> None:
    for row, holds in enumerate(info.holds):
        at = np.arange(len(holds))
        for where, colour in ((holds, style.BLACK), (~holds, style.WHITE)):
            ax.scatter(
                at[where], np.full(where.sum(), row), color=colour, s=22,
                edgecolors=style.BLACK, linewidths=0.7,
            )  # fmt: skip
    ax.set_yticks(range(len(info.points)), list(info.points), fontsize=style.SMALL)
    ax.set_ylim(len(info.points) - 0.4, -0.6)
    ax.spines[:].set_visible(False)
    ax.tick_params(bottom=False, labelbottom=False, left=False)
    rules, literals = info.left_out
    more = f"; {rules} rules and {literals} literals less telling are left out"
    ax.set_title(
        style.titled(
            "Which literals belong to which rule (full mark: the literal holds there"
            + (more if rules or literals else "") + ")", 90,
        ),
        fontsize=style.SMALL + 1, loc="left",
    )  # fmt: skip


# ---------------------------------------------------------------- one automaton


@dataclass(frozen=True, eq=False)
class AutomatonInfo:
    """What `draw_automaton` draws."""

    clause: int
    literal: str
    states: Floats  # (2N,) the probability of each state; from N on the literal is included
    inclusion: float


def automaton_info(model: Any, clause: int, literal: str) -> AutomatonInfo:
    """Gather the states of one automaton, its literal named as in `model.literals_`."""
    if model.states_ is None:
        raise ValueError(
            "this model holds no states: they were dropped, or not saved with it; "
            "fit it anew, or save it with states=True"
        )
    literal = literal.replace("<=", "≤").replace("!=", "≠")
    if literal not in model.literals_:
        near = difflib.get_close_matches(literal, model.literals_, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"literal={literal!r}; expected one of model.literals_{hint}")
    if not 0 <= clause < len(model.inclusion_):
        raise IndexError(f"clause {clause}: there are {len(model.inclusion_)}, counted from 0")
    k = model.literals_.index(literal)
    states = np.asarray(model.states_[clause, k], dtype=np.float64)
    if states.ndim == 0:  # an ordinary machine's automaton is in one state
        states = np.eye(2 * model.n_states)[int(states)]
    return AutomatonInfo(clause, literal, states, float(model.inclusion_[clause, k]))


def draw_automaton(info: AutomatonInfo, ax: Axes | None = None) -> Axes:
    """Draw the law of the state; the states that include the literal are filled."""
    own, ax = ax is None, style.plain_axes(ax)
    n = len(info.states) // 2
    at = np.arange(2 * n) - n + 0.5
    out = f"exclude it: {1.0 - info.inclusion:.3f}"
    ax.bar(at[:n], info.states[:n], width=1.0, color=style.GREY, label=out)
    ax.bar(
        at[n:],
        info.states[n:],
        width=1.0,
        color=style.BLUE,
        label=f"include it: {info.inclusion:.3f}",
    )
    ax.axvline(0, color=style.BLACK, linestyle="--", linewidth=1.0)
    ax.set_xlabel("state, counted from the middle; from there on the literal is included")
    ax.set_ylabel("probability")
    ax.set_title(style.titled(f"Rule {info.clause}: {info.literal}"), fontsize="medium")
    style.legend([ax], own=own)
    return ax
