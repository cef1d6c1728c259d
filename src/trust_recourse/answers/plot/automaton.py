"""One automaton: the law of its state, and with what probability it includes its literal."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.answers.plot.style import (
    BLACK,
    BLUE,
    GREY,
    legend,
    new_axes,
    plain_frame,
    titled,
)
from trust_recourse.io.scalars import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    held = np.asarray(model.states_[clause, k])
    if held.ndim == 0:  # an ordinary machine's automaton is in one state
        states = np.zeros(2 * model.n_states)
        states[int(held)] = 1.0
    else:
        states = held.astype(np.float64)
    return AutomatonInfo(clause, literal, states, float(model.inclusion_[clause, k]))


def draw_automaton(info: AutomatonInfo, ax: Axes | None = None) -> Axes:
    """Draw the law of the state; the states that include the literal are filled."""
    own = ax is None
    (ax,) = new_axes() if ax is None else (ax,)
    plain_frame(ax)
    n = len(info.states) // 2
    at = np.arange(2 * n) - n + 0.5
    out = f"exclude it: {1.0 - info.inclusion:.3f}"
    ax.bar(at[:n], info.states[:n], width=1.0, color=GREY, label=out)
    ax.bar(
        at[n:], info.states[n:], width=1.0, color=BLUE, label=f"include it: {info.inclusion:.3f}"
    )
    ax.axvline(0, color=BLACK, linestyle="--", linewidth=1.0)
    ax.set_xlabel("state, counted from the middle; from there on the literal is included")
    ax.set_ylabel("probability")
    ax.set_title(titled(f"Rule {info.clause}: {info.literal}"), fontsize="medium")
    legend([ax], own=own)
    return ax
