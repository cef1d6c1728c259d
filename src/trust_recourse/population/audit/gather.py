"""The audit: who can reach the target and at what cost, group by group."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import near, some
from trust_recourse.population.audit.audit_request import AuditRequest, Bands
from trust_recourse.population.audit.counts import FEW, Group, of, tallied
from trust_recourse.population.audit.groups import MOST, Grouping, groupings
from trust_recourse.population.audit.intervals import (
    LEVEL,
    Estimate,
    MeasuredGroup,
    apart,
    measured,
)
from trust_recourse.population.audit.rate_tables import AuditTables, jsonable
from trust_recourse.population.audit.sampled_search import Asking, Sampled, deepened
from trust_recourse.population.batch.batch_folder import BatchFolder
from trust_recourse.question.cost import Cost

if TYPE_CHECKING:
    from trust_recourse.report.audit_page import AuditPage

COMPARED = ("refused", "reach", "none", "mean_cost", "capped_cost", "changes")
CAP = 0.9  # the cap on a cost is what this share of all who can pay at most
SHOWN = 0.99  # curves are drawn up to the cost of this share of all who can
POINTS = 161  # of the grid that curves are computed on


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """One group beside the reference group, in one measure."""

    group: str
    measure: str
    difference: Estimate
    ratio: Estimate  # NaN where the reference is 0
    few: bool  # too few people in either group to read anything into it
    clear: bool  # beyond chance, also when all comparisons of the grouping are allowed for


@dataclass(frozen=True, eq=False)
class GroupedPart:
    """The groups of one grouping, measured, and compared with the reference."""

    title: str
    groups: tuple[MeasuredGroup, ...]
    reference: str
    comparisons: tuple[GroupComparison, ...]
    cap: float  # on a cost, where all refused count
    sampled: tuple[Sampled, ...] = ()  # what the model says of some people, where it was given

    def __getitem__(self, name: str) -> MeasuredGroup:
        """The group of this name."""
        for each in self.groups:
            if each.group.name == name:
                return each
        known = [each.group.name for each in self.groups]
        raise KeyError(f"no group {name!r} by {self.title}{near(name, known)}; {some(known)}")


@dataclass(frozen=True, eq=False)
class Audit(AuditTables):
    """Who can reach the target and at what cost, by group, with what chance alone may do.

    `Audit.of(folder, by=["sex"])` makes one from what `trust-recourse batch` wrote. `table()` and
    `differences()` are its numbers as tables, `page()` all of it to read.
    """

    parts: tuple[GroupedPart, ...]
    confidence: float
    target: str  # all that was asked of an answer, in words
    cost: str  # in words
    wanted: Any
    draws: int
    seed: int
    titles: dict[str, str]  # of the features
    few: int = FEW  # people, below which a number is shown but nothing is read into it

    @classmethod
    def of(
        cls,
        folder: str | os.PathLike[str],
        by: Sequence[str] | str = (),
        *,
        bands: Mapping[str, Bands] | None = None,
        cross: bool = False,
        reference: Mapping[str, str] | None = None,
        model: Any = None,
        cost: Cost | None = None,
        sample: int = 50,
        draws: int = 1000,
        random_state: int = 0,
        verbose: bool = False,
    ) -> Audit:
        """Read a folder that a batch wrote, one part at a time.

        Parameters
        ----------
        folder : what `trust-recourse batch` wrote.
        by : columns to group by: features, or columns of the input that the batch kept; the
            schema's protected features if none is named.
        bands : for columns of numbers, where bands begin, such as {"age": [25, 35, 50]}, or "q4"
            for four bands with as many people each, which is the default.
        cross : also by all the columns together.
        reference : the group that others are compared with, by column; the largest if not given.
        model : the model that the batch asked. With it, some people of each group are asked more:
            what several confidences cost, and which constraint stands in the way.
        cost : the cost of the batch; needed with a model where it has functions of your own, which
            no file can hold.
        sample : of how many people of each group, for either question.
        draws, random_state : of the bootstrap, and of who is asked more.
        verbose : show a progress bar while the model is asked, and where there are many groups.

        """
        request = AuditRequest(
            by=(by,) if isinstance(by, str) else tuple(by), bands=bands or {}, cross=cross,
            reference=reference or {}, sample=sample, draws=draws, random_state=random_state,
        )  # fmt: skip
        opened = BatchFolder.read(folder)
        if cost is not None and model is None:
            raise ValueError(
                "cost is for asking the model; give it too: Audit.of(..., model=model)"
            )
        asking = None if model is None else Asking.of(opened, model, cost)
        asked = groupings(opened, request.by, request.bands, request.cross)
        counted = tallied(opened, asked)
        told: list[tuple[Sampled, ...]] = [()] * len(asked)
        if asking is not None:
            told = deepened(opened, asking, asked, sample, draws, random_state, verbose)
        chosen = dict(request.reference)
        many = sum(map(len, counted))
        bar = Progress(many, "groups", show=verbose and many > MOST)
        parts = []
        for at, (grouping, groups) in enumerate(zip(asked, counted, strict=True)):
            named = _reference(grouping, groups, chosen)
            part = _part(grouping.title, groups, named, draws, [random_state, at], bar)
            parts.append(replace(part, sampled=told[at]))
        if chosen:
            odd = next(iter(chosen))
            known = [name for grouping in asked for name in _names(grouping)]
            raise ValueError(f"reference for {odd!r}, which is not among the groups {some(known)}")
        words = Cost(**opened.told["cost"]).words
        words += ", with functions of your own" * bool(opened.told.get("cost_functions"))
        titles = {feature.name: feature.title for feature in opened.schema}
        return cls(
            tuple(parts), opened.confidence, opened.target, words, opened.told.get("wanted"),
            draws, random_state, titles,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All numbers in lists, texts and numbers that JSON can hold."""
        names = ("counts", "table", "differences", "asked", "curves", "levels", "blocked")
        found = {
            "confidence": self.confidence, "target": self.target, "cost": self.cost,
            "wanted": self.wanted, "people": self.people, "draws": self.draws, "seed": self.seed,
            "interval": LEVEL,
            "parts": [
                {"by": part.title, "reference": part.reference, "cap": part.cap}
                for part in self.parts
            ],
            **{name: getattr(self, name)().to_dict("records") for name in names},
        }  # fmt: skip
        told: dict[str, Any] = jsonable(found)
        return told

    # ------------------------------------------------------------ for people

    def page(self, *, organisation: str = "", pictures: bool = True) -> AuditPage:
        """All of it to read: `text()`, `html()`, `pdf(path)`, or `save(path)` by its ending."""
        from trust_recourse.report.audit_page import audit_page

        return audit_page(self, organisation=organisation, pictures=pictures)

    def __repr__(self) -> str:
        by = ", ".join(part.title for part in self.parts)
        return f"Audit of {self.people:,} people by {by}; page() shows it, table() its numbers"

    @cached_property
    def people(self) -> int:
        """How many people there are."""
        return sum(each.group.people for each in self.parts[0].groups)

    @property
    def unknown(self) -> int:
        """Of how many people the row could not be read, so that no decision is known."""
        return sum(each.group.unknown for each in self.parts[0].groups)


# ---------------------------------------------------------------- one grouping


def _names(grouping: Grouping) -> list[str]:
    return [grouping.title, *(c.source for c in grouping.columns if len(grouping.columns) == 1)]


def _reference(grouping: Grouping, groups: Sequence[Group], chosen: dict[str, str]) -> str:
    """The group that others are compared with; what is used is taken out of `chosen`."""
    known = [group.name for group in groups]
    for name in list(chosen):
        if name in _names(grouping) or f"from.{name}" in _names(grouping):
            wanted = chosen.pop(name)
            if wanted not in known:
                hint = near(wanted, known) or f"; expected one of {some(known)}"
                raise ValueError(f"reference {wanted!r} by {grouping.title}{hint}")
            return wanted
    present = [group for group in groups if group.name not in grouping.blank] or groups
    return max(present, key=lambda group: group.people).name


def _part(
    title: str,
    groups: Sequence[Group],
    reference: str,
    draws: int,
    seed: Sequence[int],
    bar: Progress,
) -> GroupedPart:
    cap, grid = _scale(groups)
    found = tuple(
        measured(group, cap, grid, draws, np.random.default_rng([*seed, at]))
        for at, group in enumerate(bar.over(groups))
    )
    beside = next(each for each in found if each.group.name == reference)
    pairs = [
        (each, measure, min(of(each.group, measure), of(beside.group, measure)) < FEW)
        for each in found
        if each is not beside
        for measure in COMPARED
    ]
    judged = sum(not few for _, _, few in pairs)
    comparisons = tuple(_compared(each, beside, m, few, judged) for each, m, few in pairs)
    return GroupedPart(title, found, reference, comparisons, cap)


def _scale(groups: Sequence[Group]) -> tuple[float, Floats]:
    """The cap on a cost and the grid of the curves, from all who can, whatever their group."""
    values = np.concatenate([group.costs for group in groups])
    times = np.concatenate([group.times for group in groups])
    if not len(values):
        return np.nan, np.zeros(1)
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(times[order]) / times.sum()
    cap, end = (
        float(values[order][np.searchsorted(upto, level - 1e-12)]) for level in (CAP, SHOWN)
    )
    return cap, np.linspace(0.0, end, POINTS)


def _compared(
    each: MeasuredGroup, beside: MeasuredGroup, measure: str, few: bool, judged: int
) -> GroupComparison:
    a, b = each.estimates[measure], beside.estimates[measure]
    difference = Estimate(a.value - b.value, a.draws - b.draws)
    ratio = Estimate(np.nan, np.empty(0))
    if b.value > 0:
        ratio = Estimate(a.value / b.value, a.draws / np.maximum(b.draws, 1e-300))
    # Bonferroni: all comparisons of a grouping together are wrong with 5% at most
    low, high = difference.interval
    outside = not few and not low <= 0.0 <= high
    clear = outside and apart(each, beside, measure, (1 - LEVEL) / 2 / judged)
    return GroupComparison(each.group.name, measure, difference, ratio, few, clear)
