"""Whether an answer that is asked to survive retraining does so, and what that costs.

The paper's tables and three credit tables (at most 2,500 rows to learn from); a machine, LightGBM
of 50 trees with 8 leaves, and logistic regression. Each is learnt anew from bootstraps: 20 models
to search against, 20 for the validation, 20 whose share is told, and 50 fresh ones that judge.
People whom the model refuses may change up to four columns, on steps so coarse that every allowed
point can be looked at: all models are asked about all of them. So each way to ask for more than a
bare yes is exact, and ours is the answer of `find(..., survives=share)` itself, held against the
enumeration.

| way      | the cheapest point with at least one half by the model, and        |
|----------|--------------------------------------------------------------------|
| survives | what `find` finds                                                  |
| higher τ | more confidence of the model                                       |
| radius   | one half on the whole box of a radius                              |
| votes    | acceptance by a share of the models searched against               |
| spread   | mean over deviation of the log-odds of the models searched against |

A way's setting is one for all people of a table and model: the least that keeps as much, on average
over those who have an answer by `survives`, as that does. Who cannot get there goes as far as they
can.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean

import numpy as np
from scipy.ndimage import minimum_filter
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments import data as tables_of
from experiments.frame import Table, Unit
from trust_recourse import PTMClassifier, Recourse, Retrained, Schema, bootstraps

SEED = 42
MOST_ROWS = 2_500  # to learn from
SHARES = (0.8, 0.9, 0.95)
SETS = {"search": 20, "validation": 20, "told": 20, "fresh": 50}
KINDS = {"ptm": "PTM", "lightgbm": "LightGBM 50 × 8", "regression": "logistic regression"}
TITLES = {
    "synthetic_2d": "Synthetic 2D", "synthetic_5d": "Synthetic 5D", "iris": "Iris",
    "haberman": "Haberman", "heloc": "HELOC", "german_credit": "German credit",
    "give_me_some_credit": "Give Me Some Credit",
}  # fmt: skip
FREE = {  # the columns that may change, and by which steps
    "synthetic_2d": {"x0": 0.02, "x1": 0.02},
    "synthetic_5d": {"normal": 0.1, "laplace": 0.1, "uniform": 0.1, "poisson": 0.1},
    "iris": {"sepal_length": 0.1, "sepal_width": 0.1, "petal_length": 0.1, "petal_width": 0.1},
    "haberman": {"age": 2, "year": 1, "nodes": 1},
    "heloc": {"NetFractionRevolvingBurden": 5, "PercentTradesWBalance": 5, "AverageMInFile": 4,
              "MSinceMostRecentInqexcl7days": 4},
    "german_credit": {"duration": 6, "amount": 500, "savings": 1, "instalment_rate": 1},
    "give_me_some_credit": {"utilisation": 0.05, "debt_ratio": 0.05, "income": 200,
                            "credit_lines": 1},
}  # fmt: skip
LEVELS = tuple(round(0.5 + 0.0125 * k, 4) for k in range(40))
RADII = tuple(round(0.01 * k, 2) for k in range(41))
VOTES = tuple(k / 20 for k in range(10, 21))
SPREADS = tuple(round(0.1 * k, 1) for k in range(41))
WAYS = {"higher τ": LEVELS, "radius": RADII, "votes": VOTES, "spread": SPREADS}
SAME = 1e-9


# ---------------------------------------------------------------- the work


def units(scale):
    """One for each table and kind of model."""
    people = 12 if scale.name == "full" else 2
    named = TITLES if scale.name == "full" else [name for name in TITLES if name in scale.data]
    return [
        Unit("lasting", f"{name} {kind}", asked, (name, kind, people), 60.0)
        for name in named
        for kind in KINDS
    ]


def asked(name, kind, most):
    """A row for each person of a table: what every way gives them."""
    world = World.of(name, kind)
    each = (world.person(row) for row in world.refused(most))
    return [{"data": name, "kind": kind, **told} for told in each]


def coarse(name):
    """A table's rows, as all libraries take them, its labels, and the schema of what may change."""
    X, y, schema = getattr(tables_of, name)()
    schema = Schema.infer(X, guard=False) if schema is None else schema
    X = X.astype({c: "float64" for c in X if X[c].dtype.kind in "iub"})
    for feature in schema:
        places = {label: float(at) for at, label in enumerate(feature.values)}
        column = X[feature.name]
        if places:
            X[feature.name] = column.astype(object).map(places).astype(float)
            schema = schema.update(feature.name, values=tuple(map(float, range(len(places)))))
        elif feature.missing:
            X[feature.name] = column.where(~column.isin(feature.missing))
        if feature.missing:
            schema = schema.update(feature.name, missing=(math.nan,))
    steps = FREE[name]
    features = tuple(
        replace(each, step=float(steps[each.name]), mutable=True, protected=False)
        if each.name in steps
        else replace(each, mutable=False)
        for each in schema
    )
    return X, np.asarray(y), Schema(features)


def unfitted(kind, schema):
    """A model to learn, with fixed settings."""
    if kind == "ptm":
        return PTMClassifier(schema=schema, use_protected=True, random_state=SEED)
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=50, num_leaves=8, random_state=SEED, n_jobs=1, verbose=-1
        )
    words = [f.name for f in schema if f.kind == "category"]
    numbers = [f.name for f in schema if f.kind != "category"]
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_pipeline(
        make_column_transformer((scaled, numbers), (OneHotEncoder(drop="first"), words)),
        LogisticRegression(max_iter=1_000),
    )


@dataclass(frozen=True)
class World:
    """A model, those learnt anew, and the people it may refuse."""

    recourse: Recourse
    fresh: list  # scores of the models that judge
    X: object
    free: tuple[int, ...]
    fitted: object  # the model as its library has it, and the rows and labels it was learnt from
    learnt: tuple

    @classmethod
    def of(cls, name, kind):
        X, y, schema = coarse(name)
        order = np.random.default_rng(SEED).permutation(len(X))
        rows = order[: min(MOST_ROWS, int(0.7 * len(X)))]
        model = unfitted(kind, schema).fit(X.iloc[rows], y[rows])
        anew = bootstraps(model, X.iloc[rows], y[rows], sum(SETS.values()), random_state=SEED)
        ends = np.cumsum([0, *SETS.values()])
        sets = [anew[a:b] for a, b in pairwise(ends)]
        recourse = Recourse(model, schema, cost="l1", bootstraps=Retrained(*sets[:3]))
        fresh = [Recourse(other, schema).score for other in sets[3]]
        free = tuple(schema.position(each) for each in FREE[name])
        rest, learnt = X.iloc[order[len(rows) :]], (X.iloc[rows], y[rows])
        return cls(recourse, fresh, rest, free, model, learnt)

    def refused(self, most):
        """Rows with known values on the steps that the model refuses."""
        schema, found = self.recourse.schema, []
        for _, row in self.X.iterrows():
            if row.isna().iloc[list(self.free)].any():
                continue
            row = row.copy()
            for f in self.free:
                feature = schema[f]
                steps = round(row.iloc[f] / feature.step)
                least, high = feature.lower, feature.upper
                if least is not None:
                    steps = max(steps, math.ceil(least / feature.step - SAME))
                if high is not None:
                    steps = min(steps, math.floor(high / feature.step + SAME))
                row.iloc[f] = round(steps * feature.step, 10)
            if self.recourse.confidence(row) < 0.5:
                found.append(row)
            if len(found) == most:
                break
        return found

    def person(self, row):
        """What each way gives one person."""
        points = Points(self, row)
        told = {
            "person": str(row.name), "points": len(points.cost), "reachable": points.reachable,
            "seconds": timed(lambda: self.recourse.find(row, 0.5))[1], "ways": points.ways(),
        }  # fmt: skip
        told["survives"] = {f"{share:g}": self.ours(row, points, share) for share in SHARES}
        return told

    def ours(self, row, points, share):
        """The answer of `find`, and whether the enumeration has one that costs less."""
        result, seconds = timed(lambda: self.recourse.find(row, 0.5, survives=share))
        (status,) = result.status.values()
        told = {"status": str(status), "seconds": seconds}
        if not result.options:
            return told
        option, survival = result.options[0], next(iter(result.survival.values()))
        met = points.mean >= survival.threshold - SAME
        least = points.least(met)
        return told | {
            "cost": option.cost, "demand": survival.threshold, "told": survival.share,
            "low": survival.low, "high": survival.high, "validated": survival.validated,
            "kept": points.kept_at(option.codes), "least": least[0],
        }  # fmt: skip


def timed(work):
    """What it gives, and its CPU seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


class Points:
    """Every point that one person may become, and what all models say of it."""

    def __init__(self, world, row):
        recourse = world.recourse
        action_set = recourse.schema.action_set(row)
        self.world, self.own, self.schema = world, action_set.own, recourse.schema
        self.values = [np.sort(action_set.actions[f].values()) for f in world.free]
        grid = np.stack(np.meshgrid(*self.values, indexing="ij"), -1).reshape(-1, len(world.free))
        codes = np.tile(self.own, (len(grid), 1))
        codes[:, world.free] = grid
        self.codes, self.cost = codes, self.cost_of(codes)
        self.p = recourse.confidences(codes)
        models = recourse.ensemble.models.search
        odds = np.array([log_odds(model.score_of(1).at_codes(codes)) for model in models])
        self.mean = log_odds(recourse.ensemble.mean.at_codes(codes))
        self.votes = (odds >= 0.0).mean(axis=0)
        self.spread = odds.mean(axis=0) / np.maximum(odds.std(axis=0, ddof=1), 1e-9)
        self.yes = self.p >= 0.5

    @property
    def reachable(self):
        return bool(self.yes.any())

    def cost_of(self, codes):
        """The L1 of the way to each of some rows."""
        free = list(self.world.free)
        scales = np.array([self.schema[f].scale * 1.0 for f in free])
        weights = np.array([self.schema[f].weight for f in free])
        return (np.abs(codes[:, free] - self.own[free]) / scales * weights).sum(axis=1)

    @cached_property
    def _kept(self):
        return {}

    def kept_at(self, codes):
        """The share of the fresh models that accept a point."""
        key = codes.tobytes()
        if key not in self._kept:
            said = [float(score.at_codes(codes[None])[0]) for score in self.world.fresh]
            self._kept[key] = fmean(p >= 0.5 for p in said)
        return self._kept[key]

    def least(self, met):
        """The cost of the cheapest point that is accepted and meets more, and which it is."""
        at = np.flatnonzero(self.yes & met)
        if not len(at):
            return None, None
        best = at[self.cost[at].argmin()]
        return float(self.cost[best]), best

    def ways(self):
        """For each way and each of its settings, what the cheapest costs, and who keeps it."""
        if not self.reachable:
            return {}
        measures = {"higher τ": self.p, "votes": self.votes, "spread": self.spread}
        found = {way: self.along(measure, WAYS[way]) for way, measure in measures.items()}
        return found | {"radius": self._by_radius()}

    def along(self, measure, settings):
        """The cheapest point with so much of a measure, and who keeps it, for each of these."""
        rows = []
        for setting in settings:
            cost, best = self.least(measure >= setting - SAME)
            if best is None:  # as far as there is
                best = int(np.where(self.yes, measure, -np.inf).argmax())
                cost = float(self.cost[best])
            rows.append((cost, self.kept_at(self.codes[best])))
        return rows

    def _by_radius(self):
        """The least confidence on a box of steps, by which it is as for any other measure."""
        shape, rows = [len(each) for each in self.values], []
        p, most = self.p.reshape(shape), None
        for radius in RADII:
            many = [
                int(radius * self.schema[f].scale / self.schema[f].step + SAME)
                for f in self.world.free
            ]
            size = [2 * k + 1 for k in many]
            floor = minimum_filter(p, size=size, mode="nearest").ravel()
            cost, best = self.least(floor >= 0.5)
            if best is None:
                best = most if most is not None else int(np.where(self.yes, floor, -1.0).argmax())
                cost = float(self.cost[best])
            most = best
            rows.append((cost, self.kept_at(self.codes[best])))
        return rows


def log_odds(p):
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.log(p / (1.0 - p))


# ---------------------------------------------------------------- what it adds up to


def tables(rows):
    """What survives, and what the other ways cost that keep as much."""
    return [_kept_table(rows), _ways_table(rows), _pace_table(rows)]


def cells(rows):
    """The people of each table, model and share asked for, with what `survives` gave them."""
    for name in TITLES:
        for kind in KINDS:
            people = [r for r in rows if (r["data"], r["kind"]) == (name, kind)]
            for share in SHARES if people else ():
                yield name, kind, share, people


def answered(people, share):
    """Those who have an answer, each with it."""
    return [
        (p, p["survives"][f"{share:g}"]) for p in people if "cost" in p["survives"][f"{share:g}"]
    ]


def covers(answer):
    """Whether the interval that was told holds the share of the fresh models."""
    return answer["low"] <= answer["kept"] <= answer["high"]


def as_cheap_as_any(answer):
    """Whether no point that meets the demand costs less."""
    return abs(answer["cost"] - answer["least"]) <= SAME * (1.0 + answer["cost"])


def _kept_table(rows):
    body = []
    for name, kind, share, people in cells(rows):
        found = [answer for _, answer in answered(people, share)]
        reach = sum(p["reachable"] for p in people)
        line = [TITLES[name], KINDS[kind], f"{share:g}", f"{len(found)} of {reach}"]
        if found:
            line += [
                f"{fmean(a['cost'] for a in found):.3f}", f"{fmean(a['told'] for a in found):.3f}",
                f"{fmean(a['kept'] for a in found):.3f}",
                f"{sum(map(covers, found))} of {len(found)}",
                f"{sum(map(as_cheap_as_any, found))} of {len(found)}",
            ]  # fmt: skip
        body.append(tuple(line + ["–"] * (9 - len(line))))
    header = ("Data", "Model", "Asked", "Answered", "L1", "Told", "Kept by fresh models",
              "Interval holds it", "Cheapest by enumeration")  # fmt: skip
    return Table("What survives retraining", header, tuple(body), tuple(_kept_sentences(rows)))


def _kept_sentences(rows):
    means, holds, all_of, short, wrong = [], 0, 0, [], 0
    for name, kind, share, people in cells(rows):
        found = [answer for _, answer in answered(people, share)]
        if found:
            kept = fmean(a["kept"] for a in found)
            means.append(kept - share)
            holds, all_of = holds + sum(map(covers, found)), all_of + len(found)
            wrong += len(found) - sum(map(as_cheap_as_any, found))
            if kept < share - 0.03:
                short.append(f"{TITLES[name]}, {KINDS[kind]}, {share:g}: {kept:.3f}")
    yield (
        "Answered: of those who can get a yes at all. Told: the share of 20 models that had no "
        "part in the search, with an interval of 90 %; kept: that of 50 fresh ones. L1 is scaled."
    )
    if means:
        least = "; ".join(short) or "none"
        yield (
            f"The share kept is {min(means):+.3f} to {max(means):+.3f} beside the one asked for; "
            f"more than 0.03 below it: {least}. The interval holds the share of the fresh models "
            f"in {holds} of {all_of} answers. Answers that the enumeration beats: {wrong}."
        )


def dearer(people, share, way):
    """What a way costs over what `survives` does, where one setting for all keeps as much."""
    found = answered(people, share)
    if not found:
        return None
    kept, cost = (fmean(a[what] for _, a in found) for what in ("kept", "cost"))
    for at in range(len(WAYS[way])):
        each = [p["ways"][way][at] for p, _ in found]
        if fmean(k for _, k in each) >= kept - SAME:
            return fmean(c for c, _ in each) / cost, WAYS[way][at]
    return math.inf, None


def _ways_table(rows):
    body = []
    for name, kind, share, people in cells(rows):
        line = []
        for way in WAYS:
            found = dearer(people, share, way)
            if found is None:
                line.append("–")
            else:
                ratio, setting = found
                line.append("keeps less" if setting is None else f"{ratio:.2f} ({setting:g})")
        body.append((TITLES[name], KINDS[kind], f"{share:g}", *line))
    return Table(
        "What other ways cost that keep as much, over what survives costs",
        ("Data", "Model", "Asked", *(f"{way}" for way in WAYS)), tuple(body),
        tuple(_ways_sentences(rows)),
    )  # fmt: skip


def _ways_sentences(rows):
    yield (
        "Mean L1 of a way over that of `survives`, for those who have an answer, at its least "
        "setting (in brackets) whose answers are kept by as many fresh models on average; above 1 "
        "it costs more. The settings are chosen by the fresh models themselves, which flatters "
        "them. “Keeps less”: no setting does."
    )
    for kind, words in KINDS.items():
        for way in WAYS:
            found = [dearer(people, share, way) for _, k, share, people in cells(rows) if k == kind]
            ratios = [each[0] for each in found if each is not None and each[1] is not None]
            none = sum(each is not None and each[1] is None for each in found)
            if ratios:
                yield (
                    f"{words}, {way}: {math.exp(fmean(map(math.log, ratios))):.2f} times in the "
                    f"geometric mean of {len(ratios)} cells, from {min(ratios):.2f} to "
                    f"{max(ratios):.2f}; keeps less in {none}."
                )


def _pace_table(rows):
    body = []
    for name in TITLES:
        for kind in KINDS:
            people = [r for r in rows if (r["data"], r["kind"]) == (name, kind) and r["reachable"]]
            if people:
                plain = np.array([p["seconds"] for p in people])
                long = np.array(
                    [[p["survives"][f"{s:g}"]["seconds"] for s in SHARES] for p in people]
                )
                ratio = long / plain[:, None]
                times = f"{1e3 * np.median(plain):.1f}", f"{1e3 * np.median(long):.0f}"
                ratios = f"{np.median(ratio):.0f}", f"{ratio.max():.0f}"
                body.append((TITLES[name], KINDS[kind], *times, *ratios))
    header = ("Data", "Model", "Plain, ms", "Survives, ms", "Ratio, median", "Ratio, greatest")
    return Table(
        "What it takes to find them", header, tuple(body), ("CPU of one process beside others.",)
    )
