"""Counting: what became of the people of each group, part by part, in little memory.

Kept are counts, and of the costs each different one with how often it occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from trust_recourse.io.scalars import Bools, Floats, Ints
from trust_recourse.population.audit.groups import Grouping, Often
from trust_recourse.population.batch.batch_folder import NEW, OWN, BatchFolder

REACHED = ("optimal", "feasible", "already_met")
NONE = ("infeasible",)
OPEN = ("not_found", "unanswered")
FEW = 30  # people, below which nothing is read into a number
STATUSES = (*REACHED, *NONE, *OPEN)


@dataclass(frozen=True, eq=False)
class Group:
    """What became of the people of one group.

    Everyone is accepted, refused, or of unknown decision (their row could not be read). Each of the
    refused can reach the target, is proved to have no way, or is open: no answer was found.
    `costs` are the different costs of those who can, rising, and `times` how often each occurs.
    """

    name: str
    accepted: int
    unknown: int
    statuses: dict[str, int]  # of the refused
    costs: Floats
    times: Ints
    changes: Ints  # of those who can: how many change 0, 1, 2, … features
    asked: dict[str, int]  # of those who can: how many are asked to change a feature

    @property
    def refused(self) -> int:
        """How many the model refuses."""
        return sum(self.statuses.values())

    @property
    def people(self) -> int:
        """How many there are."""
        return self.accepted + self.unknown + self.refused

    @property
    def reached(self) -> int:
        """How many of the refused can reach the target."""
        return sum(self.statuses[each] for each in REACHED)

    @property
    def none(self) -> int:
        """How many of the refused are proved to have no way."""
        return sum(self.statuses[each] for each in NONE)

    @property
    def open(self) -> int:
        """Of how many of the refused it is not known."""
        return sum(self.statuses[each] for each in OPEN)


def of(group: Group, measure: str) -> int:
    """How many people of a group a measure is of."""
    if measure == "refused":
        return group.accepted + group.refused
    return group.refused if measure in ("reach", "none", "open", "capped_cost") else group.reached


def tallied(folder: BatchFolder, by: Sequence[Grouping]) -> list[list[Group]]:
    """The groups of each grouping that hold anybody, in one reading of the folder."""
    names = [n for n in folder.schema.names if {OWN + n, NEW + n} <= set(folder.columns)]
    counts = [_Counts(len(grouping.labels), names) for grouping in by]
    sources = [column.source for grouping in by for column in grouping.columns]
    columns = ["status", "refused", "confidence_now", "cost", "n_changes", *sources]
    columns += [mark + name for name in names for mark in (OWN, NEW)]
    for frame in folder.frames(columns):
        people = people_of(frame)
        changed = {}
        for name in names:
            own, new = frame[OWN + name], frame[NEW + name]  # a blank option changes nothing
            changed[name] = ((own != new).fillna(True) & new.notna()).to_numpy(dtype=bool)
        for grouping, count in zip(by, counts, strict=True):
            count.add(grouping.codes(frame), people, changed)
    return [
        [count.group(at, name) for at, name in enumerate(grouping.labels) if count.people[at]]
        for grouping, count in zip(by, counts, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The people of one part, as arrays."""

    known: Bools  # whether the model's decision is known
    refused: Bools
    status: Ints  # the place among STATUSES
    cost: Floats
    changes: Ints


def people_of(frame: pd.DataFrame) -> Outcomes:
    """What each row of a part says, or a refusal of what no batch writes."""
    places = {status: at for at, status in enumerate(STATUSES)}
    status = frame["status"].map(places)
    if status.isna().any():
        odd = frame["status"][status.isna()].iloc[0]
        raise ValueError(f"a row has the status {odd!r}; expected one of {', '.join(STATUSES)}")
    codes = np.asarray(status, dtype=np.int64)
    # a row that could not be read has no confidence, and so no decision
    known = (frame["refused"].notna() & frame["confidence_now"].notna()).to_numpy(dtype=bool)
    refused = known & frame["refused"].fillna(False).to_numpy(dtype=bool)
    cost = frame["cost"].to_numpy(dtype=np.float64, na_value=np.nan)
    met = codes == places["already_met"]
    cost = np.where(met, 0.0, cost)
    changes = frame["n_changes"].to_numpy(dtype=np.float64, na_value=0.0)
    return Outcomes(known, refused, codes, cost, np.where(met, 0, changes).astype(np.int64))


class _Counts:
    """What is counted so far, for every group of one grouping."""

    def __init__(self, size: int, names: list[str]) -> None:
        self.size = size
        self.people, self.accepted = _zeros(size), _zeros(size)
        self.statuses, self.changes = _zeros(size, len(STATUSES)), _zeros(size, len(names) + 1)
        self.asked = {name: _zeros(size) for name in names}
        self.costs = [Often() for _ in range(size)]

    def add(self, groups: Ints, who: Outcomes, changed: dict[str, Bools]) -> None:
        self.people += np.bincount(groups, minlength=self.size)
        self.accepted += np.bincount(groups[who.known & ~who.refused], minlength=self.size)
        np.add.at(self.statuses, (groups[who.refused], who.status[who.refused]), 1)
        can = who.refused & (who.status < len(REACHED))
        np.add.at(self.changes, (groups[can], who.changes[can]), 1)
        for name, moved in changed.items():
            self.asked[name] += np.bincount(groups[can & moved], minlength=self.size)
        for at in np.unique(groups[can]).tolist():
            self.costs[at].add(who.cost[can & (groups == at)])

    def group(self, at: int, name: str) -> Group:
        statuses = dict(zip(STATUSES, self.statuses[at].tolist(), strict=True))
        accepted = int(self.accepted[at])
        unknown = int(self.people[at]) - accepted - sum(statuses.values())
        costs, times = self.costs[at].sort()
        asked = {feature: int(counts[at]) for feature, counts in self.asked.items()}
        return Group(name, accepted, unknown, statuses, costs, times, self.changes[at], asked)


def _zeros(*shape: int) -> Ints:
    return np.zeros(shape, dtype=np.int64)
