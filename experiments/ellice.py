"""Answers that survive retraining beside ElliCE's, on logistic regression.

ElliCE wants a yes from every regression whose loss is at most ε above the least; these are taken to
be the ellipsoid (θ' − θ)ᵀ H (θ' − θ) ≤ 2ε around the weights θ, with the Hessian H of the loss. The
worst of them gives a row x the log-odds θ·x − √(2ε · xᵀH⁻¹x), which have to be above 0. ε is told
as a share of the loss; the package's own page names a tenth.

The models, the people and the fresh models that judge are those of `lasting`. ElliCE's search takes
the very regression, on the standardised columns and within the same bounds, by its own settings:
along the gradient, by all columns that may change or by few of them (`sparsity`). It lives in an
environment of its own, as other peers do, and its answers are measured here. They need not lie on
the steps that ours keep to, which makes them cheaper if anything.

So that its condition is not blamed for its search, the cheapest allowed point that meets the
condition is found, too, by enumeration. Who cannot meet it goes as far as they can; so does
ElliCE's search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
import pandas as pd

from experiments import peers
from experiments.frame import Table, Unit
from experiments.lasting import SAME, SEED, SHARES, TITLES, Points, World

DATA = ("synthetic_2d", "synthetic_5d", "iris", "haberman")  # all numbers, none missing
RIDGE = 1e-4  # that ElliCE adds to the Hessian
EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # shares of the loss
ROUNDED = 1e-3  # of log-odds, by single precision
FINE = tuple(
    round(digits * 10.0**power, 6)
    for power in range(-4, 1)
    for digits in (1.0, 1.5, 2.0, 3.0, 4.5, 6.7)
)
SEARCHES = {"gradient": "ElliCE", "sparse": "ElliCE, sparse"}
QUERIES = tuple((search, epsilon) for search in SEARCHES for epsilon in EPSILONS)
WAYS = SEARCHES | {"exact": "its condition, exactly"}
NOT_BUILT = "no environment .venv-peers/ellice here; `make peers` builds it"


# ---------------------------------------------------------------- the work


def units(scale):
    """One for each table; what ElliCE's environment was built of is part of it."""
    named = DATA if scale.name == "full" else [name for name in DATA if name in scale.data]
    built = peers.built_of("ellice")
    people = 8 if scale.name == "full" else 2
    return [Unit("ellice", name, asked, (name, people, built), 90.0) for name in named]


def asked(name, most, built):
    """A row for each person of a table: ours, ElliCE's, and the cheapest by its condition."""
    world = World.of(name, "regression")
    regression, rows = Regression.of(world), world.refused(most)
    people = [Points(world, row) for row in rows]
    some = [points for points in people if points.reachable]
    reply = theirs(regression, some) if built else peers.Reply([], {}, NOT_BUILT)
    unanswered = {"found": [], "note": reply.trouble}
    answers = iter(reply.answers + [unanswered] * (len(some) * len(QUERIES)))
    told = []
    for row, points in zip(rows, people, strict=True):
        told.append(
            {
                "data": name, "person": str(row.name), "reachable": points.reachable,
                "loss": regression.loss, "trouble": reply.trouble, "versions": reply.versions,
                "survives": {f"{share:g}": world.ours(row, points, share) for share in SHARES},
                "exact": exactly(regression, points) if points.reachable else [],
                **{search: [] for search in SEARCHES},
            }
        )  # fmt: skip
        for search, epsilon in QUERIES if points.reachable else ():
            told[-1][search].append(judged(regression, points, epsilon, next(answers)))
    return told


def exactly(regression, points):
    """For each ε the cheapest point that meets the condition, or the one nearest to that."""
    margin = regression.margin(regression.seen(points.codes))
    settings = [math.sqrt(2.0 * share * regression.loss) for share in FINE]
    most = margin[points.yes].max()
    return [
        {"cost": cost, "kept": kept, "valid": True, "met": bool(most >= setting - SAME)}
        for setting, (cost, kept) in zip(settings, points.along(margin, settings), strict=True)
    ]


@dataclass(frozen=True)
class Regression:
    """A logistic regression on standardised columns, and ElliCE's ellipsoid around its weights."""

    world: World
    theta: np.ndarray  # the intercept last
    hessian: np.ndarray
    loss: float

    @classmethod
    def of(cls, world):
        X, y = world.learnt
        last = world.fitted[-1]
        theta = np.append(last.coef_[0], last.intercept_[0])
        rows = with_one(world.fitted[:-1].transform(X))
        odds = rows @ theta
        p = 1.0 / (1.0 + np.exp(-odds))
        hessian = (rows * (p * (1.0 - p))[:, None]).T @ rows / len(rows)
        loss = float(np.logaddexp(0.0, np.where(y == 1, -odds, odds)).mean())
        return cls(world, theta, hessian + RIDGE * np.eye(len(theta)), loss)

    def seen(self, codes):
        """Rows as the regression sees them, a 1 behind."""
        X = pd.DataFrame(codes, columns=self.world.recourse.schema.names)
        return with_one(self.world.fitted[:-1].transform(X))

    def margin(self, rows):
        """The √(2ε) up to which the worst regression of the ellipsoid still says yes."""
        return rows @ self.theta / self._length(rows)

    def worst(self, rows, epsilon):
        """The least log-odds by any regression of the ellipsoid."""
        return rows @ self.theta - math.sqrt(2.0 * epsilon) * self._length(rows)

    def _length(self, rows):
        return np.sqrt((rows * np.linalg.solve(self.hessian, rows.T).T).sum(axis=1))


def with_one(rows):
    return np.hstack([rows, np.ones((len(rows), 1))])


def theirs(regression, people):
    """ElliCE's reply to every search and ε for every person, through the pipe."""
    X, y = regression.world.learnt
    train, theta = regression.world.fitted[:-1].transform(X), regression.theta
    queries = []
    for points in people:
        (own,) = regression.seen(points.own[None])
        ranges = {f"x{i}": ends for i, *ends in free_ranges(regression, points).values()}
        queries += [
            {"x": own[:-1].tolist(), "ranges": ranges, "sparse": search == "sparse",
             "epsilon": epsilon * regression.loss}
            for search, epsilon in QUERIES
        ]  # fmt: skip
    request = {
        "names": [f"x{i}" for i in range(train.shape[1])], "train": train.tolist(),
        "labels": y.tolist(), "weights": theta[:-1].tolist(), "intercept": theta[-1],
        "queries": queries, "seed": SEED, "most_seconds": peers.MOST_SECONDS,
    }  # fmt: skip
    command = [peers.BUILT / "ellice" / "bin" / "python", peers.SCRIPTS / "ask_ellice.py"]
    longest = peers.START_SECONDS + peers.MOST_SECONDS * len(people)
    return peers.converse(command, request, lambda _: [], longest)


def free_ranges(regression, points):
    """By column that can change: its place in the regression, and its ends as they are seen."""
    found = {}
    for f, values in zip(points.world.free, points.values, strict=True):
        if values[0] < values[-1]:
            both = np.tile(points.own, (2, 1))
            both[:, f] = values[0], values[-1]
            low, high = regression.seen(both)
            (at,) = np.flatnonzero(low != high)
            found[f] = int(at), low[at], high[at]
    return found


def judged(regression, points, epsilon, answer):
    """What an answer costs and who keeps it; only columns that may change are taken over."""
    told = {"note": answer["note"]}
    if not answer["found"]:
        return told
    *values, worst_told, seconds = answer["found"][0]
    codes = points.own.copy()
    grids = dict(zip(points.world.free, points.values, strict=True))
    for f, (place, low, high) in free_ranges(regression, points).items():
        part = min(max((values[place] - low) / (high - low), 0.0), 1.0)
        codes[f] = grids[f][0] + part * (grids[f][-1] - grids[f][0])
    worst = float(regression.worst(regression.seen(codes[None]), epsilon * regression.loss)[0])
    return told | {
        "seconds": seconds, "cost": float(points.cost_of(codes[None])[0]),
        "kept": points.kept_at(codes),
        "valid": bool(points.world.recourse.confidence_of(codes) >= 0.5),
        "met": worst >= -ROUNDED, "worst": worst, "worst_told": worst_told,
    }  # fmt: skip


# ---------------------------------------------------------------- what it adds up to


def tables(rows):
    """What ElliCE gives at each ε, and what it costs to keep as much as ours."""
    return [_epsilon_table(rows), _same_table(rows)]


def by_data(rows):
    """Those of each table who can get a yes at all."""
    for name in DATA:
        people = [row for row in rows if row["data"] == name]
        if people:
            yield name, [row for row in people if row["reachable"]]


def valid(people, way, epsilon):
    """The people with an answer at an ε that the model of today accepts, each with it."""
    at = (FINE if way == "exact" else EPSILONS).index(epsilon)
    return [(p, p[way][at]) for p in people if p[way][at].get("valid")]


def _means(answers):
    if not answers:
        return ("–", "–")
    return tuple(f"{fmean(answer[what] for answer in answers):.3f}" for what in ("cost", "kept"))


def _epsilon_table(rows):
    body = []
    for name, people in by_data(rows):
        for epsilon in EPSILONS:
            line = [TITLES[name], f"{100 * epsilon:g} %"]
            for way in WAYS:
                found = [answer for _, answer in valid(people, way, epsilon)]
                met = sum(answer["met"] for answer in found)
                line += [f"{len(found)}, {met} of {len(people)}", *_means(found)]
                if way in SEARCHES:
                    line.append(f"{median(a['seconds'] for a in found):.2f}" if found else "–")
            body.append(tuple(line))
    each = ("Yes, robust", "L1", "Kept", "Seconds")
    header = ("Data", "ε", *each, *(f"Sparse: {word}" for word in each),
              *(f"Exactly: {word}" for word in each[:3]))  # fmt: skip
    return Table("ElliCE on logistic regression", header, tuple(body), tuple(_sentences(rows)))


def _sentences(rows):
    yield (
        "ε is a share of the loss. “Yes, robust”: of those who can get a yes at all, how many "
        "answers the model of today accepts, and how many of them meet ElliCE's condition. The "
        "others are as far as its search came; “exactly” is the cheapest point on the steps that "
        "meets it, or the one nearest to that. L1 is scaled; kept by fresh models; median CPU "
        "seconds."
    )
    answers = [a for p in rows for search in SEARCHES for a in p[search] if "worst" in a]
    if answers:
        apart = max(abs(a["worst"] - a["worst_told"]) for a in answers)
        yield (
            f"The worst log-odds of {len(answers)} answers are at most {apart:.1g} from those that "
            "ElliCE tells."
        )
    yield from sorted({f"Not run: {row['trouble']}." for row in rows if row["trouble"]})
    told = sorted({f"{n} {v}" for row in rows for n, v in row["versions"].items()})
    if told:
        yield f"Versions: {', '.join(told)}."


def dearer(people, share, way):
    """What a way costs over ours where it keeps as much, by the ε at which that costs least.

    The ratio of the means over those whom both answer, ε, and for how many; or nothing.
    """
    found = []
    for epsilon in FINE if way == "exact" else EPSILONS:
        both = [
            (p["survives"][f"{share:g}"], answer)
            for p, answer in valid(people, way, epsilon)
            if "cost" in p["survives"][f"{share:g}"]
        ]
        if both:
            ours, other = (
                [fmean(each[what] for each in side) for what in ("cost", "kept")]
                for side in zip(*both, strict=True)
            )
            if other[1] >= ours[1] - SAME:
                found.append((other[0] / ours[0], epsilon, len(both)))
    return min(found, default=None)


def _same_table(rows):
    body, ratios = [], {way: [] for way in WAYS}
    for name, people in by_data(rows):
        for share in SHARES:
            ours = [p["survives"][f"{share:g}"] for p in people]
            found = [a for a in ours if "cost" in a]
            line = [TITLES[name], f"{share:g}", f"{len(found)} of {len(people)}"]
            line += _means(found)
            line.append(f"{median(a['seconds'] for a in ours):.3f}" if ours else "–")
            for way in WAYS:
                as_much = dearer(people, share, way)
                if as_much is None:
                    line.append("keeps less" if found else "–")
                else:
                    ratio, epsilon, many = as_much
                    ratios[way].append(ratio)
                    line.append(f"{ratio:.2f} ({100 * epsilon:g} %; {many})")
            body.append(tuple(line))
    header = ("Data", "Asked", "Answered", "L1", "Kept", "Seconds", *WAYS.values())
    notes = [
        "The first columns are ours, `find(..., survives=asked)`, in CPU seconds. Then the mean L1 "
        "of ElliCE's answers, and of the cheapest points by its condition, over ours, at the "
        "cheapest ε (in brackets, with the people whom both answer) whose answers as many fresh "
        f"models keep; above 1 it costs more. ElliCE was asked at {len(EPSILONS)} of them, the "
        f"condition at {len(FINE)}. They are chosen by the fresh models themselves, which flatters "
        "them."
    ]
    for way, words in WAYS.items():
        if ratios[way]:
            mean = math.exp(fmean(map(math.log, ratios[way])))
            notes.append(
                f"{words[0].upper()}{words[1:]}: {mean:.2f} times ours in the geometric mean of "
                f"{len(ratios[way])} cells, from {min(ratios[way]):.2f} to {max(ratios[way]):.2f}."
            )
    return Table("What it costs to keep as much as ours", header, tuple(body), tuple(notes))
