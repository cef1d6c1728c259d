"""Counterfactuals by gradient descent (Wachter et al. 2017): a baseline for neural networks.

`WACHTER` is the engine for `find(engine=WACHTER)`. `n_trials` are its steps for each λ.

From the person on, Adam descends the loss −log p + λ · L1 in scaled units, p being the confidence
in the wanted class, until the target is met: λ = 0.5, learning rate 0.1, 1,000 steps, as the TRUST
paper states in its section 6.1. For a band around τ the loss is the cross-entropy to τ in place of
−log p, so that a step too far is taken back.

The paper ran the CARLA library, which differs. It ignores the λ given under the name that it
documents, `lambda_param` (it reads `lambda_`, by default 0.01): here λ is what is given. Its
`clamp` changes a copy and so does nothing: here each step is projected onto the bounds, directions
and greatest changes of Ω(x). Steps, integers, holes and relations cannot be descended, so the
nearest allowed row of each step is what is tried and returned. Where 1,000 steps do not reach the
target, Wachter et al. give distance less weight and go on; CARLA takes 0.05 off λ until a clock
stops it, and below 0 distance becomes a gain. Here the same 0.05 comes off, down to λ = 0 and no
further, and there is no clock. As in CARLA, Adam is the variant AMSGrad and keeps its state.

Numbers, integers and booleans (as 0 or 1) move. Categories and ordinals stay, since between their
values there is nothing to descend, unless a relation forces one along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.search import (
    ChoiceAxis,
    Point,
    Problem,
    Progress,
    SearchEngine,
    Space,
    Tried,
)

Floats = NDArray[np.float64]
Confidence = Callable[[Floats], Floats]  # rows of codes → the wanted class's confidence

DISTANCE = 0.5  # λ, the weight of the distance in the loss
LESS = 0.05  # taken off it whenever the steps are used up
RATE = 0.1  # of learning, in scaled units
DECAY = (0.9, 0.999)  # of Adam's means of the gradient and of its square
ROUNDS = round(DISTANCE / LESS) + 1  # the last with no weight on the distance
MOVED = ("number", "integer", "boolean")  # the kinds whose codes are what the network reads
AT_ONCE = 50  # rows that the model is asked for in one call


def wachter(
    problem: Problem,
    confidence: Confidence,
    network: Network,
    *,
    n_trials: int = 1000,
    verbose: bool = False,
) -> list[Point]:
    """The distinct allowed points on the way down, from the person to the first that meets it.

    `n_trials` steps are made for each λ. `confidence` takes rows of codes and gives the wanted
    class's confidence; it decides, and `network` shows the way. Nothing is drawn by chance.
    """
    space = Space.of(problem)
    tried = Tried(space, confidence)
    way = chain([space.action_set.own], _descent(space, network, n_trials))
    bar = Progress(math.ceil((1 + ROUNDS * n_trials) / AT_ONCE), "wachter", show=verbose)
    while rows := list(islice(way, AT_ONCE)):
        asked = tried.ask([codes for codes in rows if codes is not None])
        met = next((point for point in asked if problem.target.met(point.confidence)), None)
        if met is not None:
            bar.total = bar.done + 1
        bar.step()
        if met is not None:
            points = tried.points
            return points[: points.index(met) + 1]
    return tried.points


def _descent(space: Space, network: Network, n_steps: int) -> Iterator[Floats | None]:
    """The allowed row nearest to where each step leads; None where no relation can be mended."""
    action_set, target = space.action_set, space.problem.target
    axes = [
        axis
        for axis in space.axes
        if not isinstance(axis, ChoiceAxis) and action_set.schema[axis.at].kind in MOVED
    ]
    if not axes:
        return
    at = [axis.at for axis in axes]
    scale, weight = np.array(
        [(action_set.schema[f].scale, action_set.schema[f].weight) for f in at]
    ).T
    own = action_set.own
    low, high = ((np.array([axis.ends for axis in axes]) - own[at, None]) / scale[:, None]).T
    sign = 1.0 if space.problem.wanted == 1 else -1.0
    goal = target.confidence if target.mode == "band" else 1.0
    inputs = action_set.schema.decode(own[None]).to_numpy(dtype=float)[0].copy()
    moved, adam = np.zeros(len(at)), Adam(len(at))
    for step in range(ROUNDS * n_steps):
        distance = DISTANCE - LESS * (step // n_steps)
        inputs[at] = own[at] + moved * scale
        odds, slope = network.log_odds(inputs)
        pull = (logistic(sign * odds) - goal) * sign * slope[at] * scale
        moved = moved - adam.move(pull + distance * weight * np.sign(moved))
        moved = np.clip(moved, low, high)
        codes = own.copy()
        for axis, wanted in zip(axes, own[at] + moved * scale, strict=True):
            codes[axis.at] = axis.nearest(wanted[None])[0]
        yield space.kept(codes)


class Adam:
    """The steps of Adam (Kingma and Ba 2015) with the maximum of AMSGrad (Reddi et al. 2018)."""

    def __init__(self, size: int) -> None:
        self.mean, self.square, self.most = np.zeros((3, size))
        self.count = 0

    def move(self, gradient: Floats) -> Floats:
        """What to subtract, given the gradient here."""
        self.count += 1
        slow, slower = DECAY
        self.mean = slow * self.mean + (1 - slow) * gradient
        self.square = slower * self.square + (1 - slower) * gradient**2
        self.most = np.maximum(self.most, self.square)
        size = np.sqrt(self.most / (1 - slower**self.count)) + 1e-8
        step: Floats = RATE * self.mean / (1 - slow**self.count) / size
        return step


# ---------------------------------------------------------------- networks and their gradients


def logistic(odds: float) -> float:
    """The probability of log odds, without overflow."""
    return 0.5 * (1.0 + math.tanh(0.5 * odds))


# The derivative of each activation, by the value that it gave.
SLOPES: dict[str, Callable[[Floats], Any]] = {
    "identity": np.ones_like,
    "relu": lambda value: value > 0,
    "tanh": lambda value: 1.0 - value**2,
    "logistic": lambda value: value * (1.0 - value),
}
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda sums: sums,
    "relu": lambda sums: np.maximum(sums, 0.0),
    "tanh": np.tanh,
    "logistic": lambda sums: 0.5 * (1.0 + np.tanh(0.5 * sums)),
}


@dataclass(frozen=True, eq=False)
class Network:
    """A network of one output, the log odds of class 1: its layers, and the hidden activation.

    >>> network = Network((np.array([[2.0], [-1.0]]),), (np.array([0.5]),), "relu")
    >>> network.log_odds(np.array([1.0, 1.0]))
    (1.5, array([ 2., -1.]))
    """

    weights: tuple[Floats, ...]
    intercepts: tuple[Floats, ...]
    activation: str

    @classmethod
    def of(cls, model: Any) -> Network:
        """The network of an `MLPClassifier`, with scalers before it taken into its first layer."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import check_is_fitted

        *scalers, last = (
            [part for _, part in model.steps] if isinstance(model, Pipeline) else [model]
        )
        if not isinstance(last, MLPClassifier):
            raise _unsupported(model)
        check_is_fitted(last)
        if last.n_outputs_ != 1:
            raise _unsupported(model)
        first, *weights = last.coefs_
        intercept, *intercepts = last.intercepts_
        for scaler in reversed(scalers):
            if (line := _line(scaler)) is None:
                raise _unsupported(model)
            slope, shift = line
            intercept = intercept + shift @ first
            first = slope[:, None] * first
        return cls((first, *weights), (intercept, *intercepts), last.activation)

    def log_odds(self, row: Floats) -> tuple[float, Floats]:
        """The log odds of class 1 at a row of inputs, and their gradient there."""
        values = [row]
        for weights, intercept in zip(self.weights[:-1], self.intercepts[:-1], strict=True):
            values.append(ACTIVATIONS[self.activation](values[-1] @ weights + intercept))
        odds = values[-1] @ self.weights[-1] + self.intercepts[-1]
        slope = self.weights[-1][:, 0]
        for value, weights in zip(values[:0:-1], self.weights[-2::-1], strict=True):
            slope = weights @ (slope * SLOPES[self.activation](value))
        return float(odds[0]), slope


def _line(scaler: Any) -> tuple[Floats, Floats] | None:
    """The slope and shift of each column, for a scaler that is a straight line; else None."""
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.utils.validation import check_is_fitted

    if isinstance(scaler, StandardScaler):
        check_is_fitted(scaler)
        slope = 1.0 / scaler.scale_ if scaler.with_std else np.ones(scaler.n_features_in_)
        return slope, -scaler.mean_ * slope if scaler.with_mean else 0.0 * slope
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        check_is_fitted(scaler)
        return scaler.scale_, scaler.min_
    return None


def _unsupported(model: Any) -> TypeError:
    parts = [type(part).__name__ for _, part in getattr(model, "steps", [])]
    given = f"a pipeline of {', '.join(parts)}" if parts else type(model).__name__
    return TypeError(
        f"engine 'wachter' needs the model's gradient; given {given}, expected scikit-learn's "
        "MLPClassifier of two classes, alone or in a pipeline after StandardScaler or MinMaxScaler "
        "(clip=False); engine='auto' can ask any model, 'exact' one with cells"
    )


def _search(model: Any, *asked: Any, random_state: int, **settings: Any) -> list[Point]:  # noqa: ARG001
    return wachter(*asked, Network.of(model), **settings)


WACHTER = SearchEngine("wachter", 1000, _search)
