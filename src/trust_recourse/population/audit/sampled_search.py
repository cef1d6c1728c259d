"""What the folder does not say, asked of the model for some people of each group.

Two questions, by exact searches: what share of the refused reaches a confidence, and at what cost,
for several confidences; and which single constraint, if lifted, would let those reach the target
who are proved to have no way. Who is asked is drawn by a hash of the row's number, so it depends on
the seed alone and not on how the rows lie in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.answers.recourse import Recourse
from trust_recourse.certificate import cost_parts
from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Ints, plain
from trust_recourse.models.readers.read_model import as_read
from trust_recourse.population.audit.counts import NONE, REACHED, STATUSES, people_of
from trust_recourse.population.audit.groups import Grouping, meant
from trust_recourse.population.audit.intervals import Estimate, mean_cost, share
from trust_recourse.population.batch.batch_folder import OWN, BatchFolder
from trust_recourse.question import Question, Target
from trust_recourse.question.cost import Cost

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
NODES = 20_000  # boxes of a search, where the batch had no limit of its own


@dataclass(frozen=True, eq=False)
class SampledStep:
    """One confidence: what share of the people asked reaches it, and the mean cost of those."""

    confidence: float
    reach: Estimate
    none: Estimate
    open: Estimate
    mean_cost: Estimate


class Some(NamedTuple):
    """How many of those asked, and what share of all that is."""

    people: int
    share: Estimate


@dataclass(frozen=True, eq=False)
class Sampled:
    """What the model says of some people of one group."""

    group: str
    asked: int  # of the refused, at several confidences
    frontier: tuple[SampledStep, ...]
    blocked: int  # of those without a way, what would open one
    opens: dict[str, Some]  # one constraint lifted, here or in another group → who would reach
    nothing: Some  # no single constraint would
    unsure: Some  # a limit ended a search, and no other constraint was found that would


@dataclass(frozen=True, eq=False)
class Asking:
    """The model with the question of the batch."""

    recourse: Recourse
    question: Question  # of one confidence

    @classmethod
    def of(cls, folder: BatchFolder, model: Any, cost: Cost | None = None) -> Asking:
        """The batch's own question, if this is the model that it asked, and at this cost."""
        told = folder.told
        model = as_read(model, folder.schema)
        given, expected = getattr(model, "fingerprint_", None), folder.fingerprint
        if given != expected:
            raise ValueError(
                f"the model has the fingerprint {given}, but {folder.path} was made with "
                f"{expected}; give the model that the batch asked, a library's own as it was read "
                "there: recourse.model, or from_model(model, schema)"
            )
        recourse = Recourse(
            model, folder.schema, _asked_cost(folder, cost), wanted=told["wanted"],
            decision_threshold=told["decision_threshold"],
        )  # fmt: skip
        recourse.need_cells("an audit with the model")
        if folder.question.mode == "argmax":
            raise ValueError(
                f"{folder.path}: it asked for no confidence (mode 'argmax'), so there are none to "
                "compare costs at; audit without the model"
            )
        asked = replace(folder.question, confidence=(folder.confidence,), n_options=1)
        if asked.plausible is not None:
            raise ValueError(
                f"{folder.path}: its answers passed a plausibility test, whose rows no batch "
                "holds, so the model cannot be asked again by it; audit without the model"
            )
        if recourse.proves(asked.engine):
            asked = replace(asked, node_limit=asked.node_limit or NODES)
        return cls(recourse, asked)

    @cached_property
    def levels(self) -> list[float]:
        """The confidences of the frontier, from the decision on; the batch's own among them."""
        least = self.recourse.decision_threshold
        own = self.question.confidence
        return sorted({level for level in (*LEVELS, *own) if level >= least})

    def frontier(self, x: Mapping[str, Any]) -> list[tuple[str, float]]:
        """The status of each confidence for one person, and what it costs them."""
        result = self.recourse.ask(dict(x), replace(self.question, confidence=tuple(self.levels)))
        costs: dict[Target, float] = {}
        for option in result.options:
            costs.setdefault(option.target, option.cost)
        found = result.status.items()
        return [(str(status), costs.get(target, np.nan)) for target, status in found]

    def opens(self, x: Mapping[str, Any]) -> tuple[list[str], bool]:
        """The constraints of which one, lifted, would be enough; and whether all were decided."""
        mine = self.recourse
        found, decided = [], True
        for relaxation in mine.schema.relaxations(dict(x), mine.cost.functions):
            other = mine.replaced(relaxation.schema)
            (status,) = other.ask(dict(x), self.question).status.values()
            if status in REACHED:
                found.append(relaxation.sentence)
            decided = decided and status != "not_found"
        return found, decided


def _asked_cost(folder: BatchFolder, cost: Cost | None) -> Cost:
    """The cost of the batch; its functions must be given again, as no file can hold them."""
    told, unwritten = folder.told["cost"], folder.told.get("cost_functions", [])
    if cost is None and not unwritten:
        return Cost(**told)
    if cost is None:
        raise ValueError(
            f"{folder.path}: its costs are by functions of your own, which no file can hold, so "
            "the model cannot be asked again by them; audit without the model, or in Python give "
            "the cost too: Audit.of(..., model=model, cost=cost)"
        )
    if cost_parts(cost) != (told, unwritten):
        raise ValueError(
            f"{folder.path}: was made with another cost than {cost!r}; give the cost of the batch"
        )
    return cost


def deepened(
    folder: BatchFolder,
    asking: Asking,
    by: Sequence[Grouping],
    sample: int,
    draws: int,
    seed: int,
    verbose: bool,
) -> list[tuple[Sampled, ...]]:
    """For each grouping its groups, with what the model says of up to `sample` people of each."""
    refused, stuck = _drawn(folder, by, sample, seed)
    some, blocked = _rows(refused), _rows(stuck)
    people = _people(folder, {*some, *blocked})
    bar = Progress(len(some) + len(blocked), "asking the model", show=verbose)
    curves = {row: asking.frontier(people[row]) for row in bar.over(some)}
    ways = {row: asking.opens(people[row]) for row in bar.over(blocked)}
    found = []
    for at, grouping in enumerate(by):
        lifted = {what for row in _rows(stuck[at : at + 1]) for what in ways[row][0]}
        groups = [
            _sampled(
                name, [curves[row] for row in refused[at].get(code, ())],
                [ways[row] for row in stuck[at].get(code, ())], lifted, asking.levels, draws,
                np.random.default_rng([seed, at, code]),
            )
            for code, name in enumerate(grouping.labels)
            if refused[at].get(code)
        ]  # fmt: skip
        found.append(tuple(groups))
    return found


def _sampled(
    name: str,
    curves: Sequence[Sequence[tuple[str, float]]],
    ways: Sequence[tuple[list[str], bool]],
    lifted: Collection[str],
    levels: Sequence[float],
    draws: int,
    rng: np.random.Generator,
) -> Sampled:
    steps = []
    for at, level in enumerate(levels):
        answers = [curve[at] for curve in curves]
        costs = [cost for status, cost in answers if status in REACHED]
        none = sum(status in NONE for status, _ in answers)
        n, reach = len(answers), len(costs)
        values, times = np.unique(np.array(costs), return_counts=True)
        steps.append(
            SampledStep(
                level, share(reach, n, draws, rng), share(none, n, draws, rng),
                share(n - reach - none, n, draws, rng), mean_cost(values, times, draws, rng),
            )
        )  # fmt: skip
    opens = Counter(sentence for sentences, _ in ways for sentence in sentences)
    nothing = sum(not sentences and decided for sentences, decided in ways)
    unsure = sum(not sentences and not decided for sentences, decided in ways)
    told = sorted(lifted if ways else (), key=lambda what: (-opens[what], what))

    def some(people: int) -> Some:
        return Some(people, share(people, len(ways), draws, rng))

    return Sampled(
        name, len(curves), tuple(steps), len(ways), {what: some(opens[what]) for what in told},
        some(nothing), some(unsure),
    )  # fmt: skip


# ---------------------------------------------------------------- who is asked

_Sample = dict[int, list[int]]  # group → rows


def _drawn(
    folder: BatchFolder, by: Sequence[Grouping], sample: int, seed: int
) -> tuple[list[_Sample], list[_Sample]]:
    """Rows of refused people, and of those without a way, for each group of each grouping."""
    kept: list[list[pd.DataFrame]] = [[] for _ in by]
    sources = [column.source for grouping in by for column in grouping.columns]
    needed = ["row", "status", "refused", "confidence_now", "cost", "n_changes", *sources]
    for frame in folder.frames(needed):
        who = people_of(frame)
        rows = frame["row"].to_numpy(dtype=np.int64)
        without = np.isin(who.status, [STATUSES.index(status) for status in NONE])
        for grouping, found in zip(by, kept, strict=True):
            table = pd.DataFrame(
                {"group": grouping.codes(frame), "row": rows, "score": _score(rows, seed),
                 "stuck": without}
            )[who.refused]  # fmt: skip
            table = pd.concat([*found, table])
            least = [_first(table, sample), _first(table[table["stuck"]], sample)]
            found[:] = [pd.concat(least).drop_duplicates("row")]
    refused = [_by_group(_first(table, sample)) for (table,) in kept]
    return refused, [_by_group(_first(table[table["stuck"]], sample)) for (table,) in kept]


def _first(table: pd.DataFrame, sample: int) -> pd.DataFrame:
    """Of each group, the rows of least score."""
    return table.sort_values(["score", "row"]).groupby("group").head(sample)


def _by_group(table: pd.DataFrame) -> _Sample:
    groups, rows = table["group"], table["row"]
    return {code: rows[groups == code].tolist() for code in groups.unique().tolist()}


def _score(rows: Ints, seed: int) -> NDArray[np.uint64]:
    """A number for each row as good as drawn by chance (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def _rows(samples: Sequence[_Sample]) -> list[int]:
    """Each row once, whichever groups it was drawn for."""
    return sorted({row for sample in samples for rows in sample.values() for row in rows})


def _people(folder: BatchFolder, rows: set[int]) -> dict[int, dict[str, Any]]:
    """The values of the people in these rows."""
    names = folder.schema.names
    found: dict[int, dict[str, Any]] = {}
    for frame in folder.frames(["row", *(OWN + name for name in names)]):
        wanted = frame[frame["row"].isin(rows)]
        for record in wanted.to_dict("records"):
            own = {name: meant(plain(record[OWN + name]), folder.schema[name]) for name in names}
            found[int(record["row"])] = own
    return found
