"""What to look at in a table before any model is believed: who people are, leaks, codes, ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from trust_recourse.io.scalars import Value, plain
from trust_recourse.io.wording import written
from trust_recourse.report.model.agreement import ranked, ranks
from trust_recourse.report.model.baselines import NUMBERS, regression
from trust_recourse.schema import Feature, Proposal, Schema, proposed
from trust_recourse.schema.guard import Lock, locks
from trust_recourse.schema.guess.meaning import measured, names_rows
from trust_recourse.schema.guess.sentinels import doubtful, sentinels, unsaid

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Kind = Literal["protected", "past", "leak", "sentinel", "id", "constant", "direction"]

LEAK = 0.99  # AUC of a column alone
FEWEST = 10  # rows of the smaller class, for a column to be judged by
LOOKED_AT = 20_000  # rows, of many
FEW = 20  # rows whose values may all differ by chance
REPEATED = 10  # rows of one id, on average, at most: of one customer, say
OTHERS = (0.01, 100)  # the share, and the rows, of a column that is not nearly constant
CONTRARY, CLEAR = 0.05, 3.29  # how far an AUC is on the wrong side of ½, also in its deviations
ORDERED = (*NUMBERS, "ordinal", "boolean")
STAYS = ("protected", "past", "leak", "id", "sentinel")  # what nobody should be told to change


@dataclass(frozen=True)
class Suspicion:
    """Something in a column that should be looked at before the model is believed."""

    column: str
    kind: Kind
    seen: str
    advice: str
    codes: tuple[Value, ...] = ()  # of kind "sentinel": the values that may mean missing

    @property
    def stays(self) -> bool:
        """Whether nobody should be told to change such a column, as long as nothing is said."""
        return self.kind in STAYS

    @property
    def named(self) -> tuple[str, ...]:
        """Of kind "sentinel": its codes as a schema has them, texts in quotation marks."""
        return tuple(map(_as_written, self.codes))

    @property
    def until(self) -> str:
        """Of kind "sentinel": until when it stays, in words; else ""."""
        named = " or ".join(self.named)
        means = "means" if len(self.codes) == 1 else "mean"
        return f"stays until you say whether {named} {means} missing" if self.codes else ""

    @property
    def sentence(self) -> str:
        """What was seen and what to do, in words."""
        return f"{self.column}: {self.seen}. {self.advice}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**asdict(self), "codes": list(self.codes)}


def check_table(
    X: Any, y: Any, schema: Schema | None = None, *, wanted: Any = None
) -> tuple[Suspicion, ...]:
    """Look for what often makes a model worthless, column by column.

    What is protected: who a person is (sex, age, origin, …), by name and values, where the schema
    does not say so. What is past, by its name or as one of a series of columns such as the bills of
    six months, where the schema lets it change. A leak: one column
    that alone tells a class with an AUC of 0.99 or more, on rows held out. A sentinel: a number far
    from all others, again and again, the usual codes below 0, nines beyond a gap, 0 as a score; a
    word that may say that nothing is known, as unknown, XNA and -9 among words. An
    id: another number in each row, in its order, or all numbers of a range, or called so. A column
    that is nearly constant. A direction: the schema lets a feature only rise (or fall), and in the
    data that lowers the share of `wanted`, the greater label if None, alone and beside all other
    columns.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"income": [*range(10, 58), 999, 999, 999]})
    >>> print(*(each.sentence for each in check_table(X, [0, 1, 1] * 17)))
    income: 999 in 3 of 51 rows, where all others are from 10 to 57. If it means missing, say so in
    the schema: missing: [999].
    """
    schema = Schema.infer(X, guard=False) if schema is None else schema
    labels = np.asarray(y)
    classes = np.unique(labels).tolist()
    if wanted is not None and wanted not in classes:
        raise ValueError(f"wanted={wanted!r}; expected one of the classes {classes}")
    codes = schema.encode(X)
    if labels.shape != (len(codes),):
        raise ValueError(f"y has shape {labels.shape} and X {len(codes)} rows; expected one a row")
    label = plain(classes[-1] if wanted is None else wanted)
    return tuple(suspicions(codes, labels, schema, label))


def uncontradicted(
    schema: Schema, found: Sequence[Proposal], X: Any, y: Any, wanted: Any = None
) -> tuple[Proposal, ...]:
    """The proposals for a schema, but for directions in which the class `wanted` becomes rarer.

    Where nobody says which is wanted, none is contradicted: time passes whatever a class is called.
    """
    labels = np.asarray(y)
    came = (labels == wanted).astype(np.intp)
    if wanted is None or not FEWEST <= came.sum() <= len(came) - FEWEST:
        return tuple(found)
    with_all = proposed(schema, tuple(found))
    against = {e.column for e in _directions(with_all.encode(X), came, with_all, wanted)}
    return tuple(e for e in found if "direction" not in e.fields or e.column not in against)


def suspicions(
    codes: Floats, labels: NDArray[Any], schema: Schema, wanted: Any
) -> Iterator[Suspicion]:
    """The same of codes and the label of each row."""
    several = {plain(label): (labels == label).astype(np.intp) for label in np.unique(labels)}
    wanted = plain(wanted)
    came = several[wanted]
    judged = {wanted: came} if len(several) == 2 else several
    judged = {label: of for label, of in judged.items() if FEWEST <= of.sum() <= len(of) - FEWEST}
    held = {lock.column: lock for lock in locks(schema.features, codes)}
    for feature, column in zip(schema, codes.T, strict=True):
        yield from _person(feature, held.get(feature.name))
        yield from _leak(feature, column, judged)
        yield from _id(feature, column)
        yield from _sentinel(feature, column)
        yield from _constant(feature, column)
    if wanted in judged:
        yield from _directions(codes, came, schema, wanted)


# ---------------------------------------------------------------- one column


def _constant(feature: Feature, column: Floats) -> Iterator[Suspicion]:
    values, counts = np.unique(column, return_counts=True)
    others = int(len(column) - counts.max())
    if others >= min(OTHERS[0] * len(column), OTHERS[1]):
        return
    value = feature.describe_code(values[counts.argmax()])
    seen = f"{value} in {'all' if not others else f'all but {others:,} of'} {len(column):,} rows"
    advice = "It can tell nothing" if not others else "It can tell little"
    yield Suspicion(feature.name, "constant", seen, f"{advice}: leave it out")


def _person(feature: Feature, lock: Lock | None) -> Iterator[Suspicion]:
    """Who someone is, or what they did: nothing that they can change."""
    if lock is None:
        return
    if lock.kind == "protected" and not feature.protected:
        yield Suspicion(
            feature.name, "protected", lock.seen,
            "If a law protects it here, say so in the schema: protected: true",
        )  # fmt: skip
    elif lock.kind == "past" and feature.movable and not feature.derived:
        yield Suspicion(
            feature.name, "past", lock.seen, "If nobody can change it, say so in the schema: "
            "mutable: false",
        )  # fmt: skip


def _leak(feature: Feature, column: Floats, judged: Mapping[Any, Ints]) -> Iterator[Suspicion]:
    """Of several classes, the one that it tells best."""
    rows = slice(None, None, -(-len(column) // LOOKED_AT))
    told = {label: _alone(feature, column[rows], came[rows]) for label, came in judged.items()}
    label, auc = max(told.items(), key=lambda each: each[1], default=(None, 0.5))
    if auc >= LEAK:
        yield Suspicion(
            feature.name, "leak", f"it alone tells class {label} with an AUC of {auc:.3f}",
            "Is it known before the decision? If it is only a trace of the outcome, leave it out",
        )  # fmt: skip


def _alone(feature: Feature, column: Floats, came: Ints) -> float:
    """The AUC of one column on rows held out: by its order, or by what its values had."""
    if not 1 < came.sum() < len(came) - 1:
        return 0.5
    known, p = np.where(np.isnan(column), -np.inf, column), np.empty(len(came))
    folds = min(3, int(came.sum()), int(len(came) - came.sum()))
    for learnt, held in StratifiedKFold(folds, shuffle=True, random_state=0).split(known, came):
        p[held] = _told(feature, column[learnt], came[learnt], column[held])
    ranked = roc_auc_score(came, ranks(known)) if feature.kind in ORDERED else 0.5
    return float(max(ranked, 1 - ranked, roc_auc_score(came, p)))


def _told(feature: Feature, learnt: Floats, came: Ints, held: Floats) -> Floats:
    if feature.kind not in ORDERED:
        size = len(feature.values) + 1
        at, asked = (np.nan_to_num(x, nan=size - 1).astype(np.intp) for x in (learnt, held))
        ones, rows = np.bincount(at, came, size), np.bincount(at, minlength=size)
        told: Floats = ((ones + came.mean()) / (rows + 1))[asked]
        return told
    tree = DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=3, random_state=0)
    p: Floats = tree.fit(learnt[:, None], came).predict_proba(held[:, None])[:, 1]
    return p


def _id(feature: Feature, column: Floats) -> Iterator[Suspicion]:
    known = column[~np.isnan(column)]
    rows, values = len(known), len(np.unique(known))
    if rows <= FEW:
        return
    advice = "If it only names the rows, leave it out"
    whole = feature.kind in NUMBERS and (known % 1 == 0).all()
    words = feature.kind == "category"
    called = (whole or words) and names_rows(feature.name)
    if (words and values > rows / 2) or (called and values > max(FEW, rows / REPEATED)):
        seen = f"{values:,} values in {rows:,} rows{', and the name of an id' if called else ''}"
        yield Suspicion(feature.name, "id", seen, advice)
        return
    if feature.kind not in NUMBERS or values < rows:
        return
    steps = np.diff(known)
    follows = (steps > 0).all() or (steps < 0).all()
    if follows and (whole or np.allclose(steps, steps[0], rtol=1e-6, atol=0)):
        way = "rises" if steps[0] > 0 else "falls"
        seen = f"another number in each of {rows:,} rows, which {way} from row to row"
        yield Suspicion(feature.name, "id", seen, advice)
    elif whole and np.ptp(known) < 2 * rows:
        low, high = written(known.min()), written(known.max())
        seen = f"another number in each of {rows:,} rows, all from {low} to {high}"
        yield Suspicion(feature.name, "id", seen, advice)


def _sentinel(feature: Feature, column: Floats) -> Iterator[Suspicion]:
    """Numbers or words that may mean missing."""
    own: Sequence[Value]
    if feature.kind in NUMBERS:
        own = sentinels(column, positive=measured(feature.name))
    else:
        own = [*unsaid(feature.values), *doubtful(feature.values)]
    if not own:
        return
    where = "which may say that nothing is known"
    if feature.kind in NUMBERS:
        rest = column[~np.isnan(column) & ~np.isin(column, own)]
        where = f"where all others are from {written(rest.min())} to {written(rest.max())}"
    many = int(np.isin(column, [feature.code_of(each) for each in own]).sum())
    named = ", ".join(map(_as_written, own))
    yield Suspicion(
        feature.name, "sentinel", f"{named} in {many:,} of {len(column):,} rows, {where}",
        f"If {'it means' if len(own) == 1 else 'they mean'} missing, say so in the schema: "
        f"missing: [{named}]",
        tuple(own),
    )  # fmt: skip


def _as_written(code: Value) -> str:
    return repr(code) if isinstance(code, str) else written(code)


# ---------------------------------------------------------------- beside the schema


def _directions(codes: Floats, came: Ints, schema: Schema, label: Any) -> Iterator[Suspicion]:
    """Features whose values go the wrong way, alone and beside all others."""
    ways = {at: _way(feature) for at, feature in enumerate(schema)}
    against = [at for at, way in ways.items() if way and _contrary(codes[:, at], came, way)]
    if not against:
        return
    ordered = [at for at, feature in enumerate(schema) if feature.kind in ORDERED]
    slopes = regression(schema, ORDERED).fit(codes, came)[-1].coef_[0][: len(ordered)]
    for at in against:
        if slopes[ordered.index(at)] * ways[at] >= 0:
            continue
        feature, way = schema[at], ways[at]
        auc = ranked(codes[:, at], came)[0]
        more, fewer = ("higher", "rises") if way > 0 else ("lower", "falls")
        stated = getattr(feature, "monotone", None)
        rule = f"monotone: {stated}" if stated else f"direction: {feature.direction}"
        yield Suspicion(
            feature.name, "direction",
            f"{rule}, but the {more} it is, the fewer rows are of class {label}: AUC {auc:.2f} "
            "alone, and no better beside the other columns",
            "Is it coded the other way round, or is another class hoped for? If not, nobody gains "
            f"when it {fewer}",
        )  # fmt: skip


def _way(feature: Feature) -> int:
    """1 if only a rise should help, −1 if only a fall, 0 if nothing is said."""
    moves = feature.direction if feature.movable else None
    stated = str(getattr(feature, "monotone", None) or moves)
    return {"increasing": 1, "increase": 1, "decreasing": -1, "decrease": -1}.get(stated, 0)


def _contrary(column: Floats, came: Ints, way: int) -> bool:
    auc, deviation = ranked(column, came)
    against = (0.5 - auc) * way
    return against >= CONTRARY and against >= CLEAR * deviation
