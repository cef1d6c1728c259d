"""The numbers of an audit as tables, for programs and for spreadsheets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from trust_recourse.io.tables import as_csv
from trust_recourse.population.audit.counts import FEW, STATUSES, of
from trust_recourse.population.audit.intervals import Estimate

if TYPE_CHECKING:
    from trust_recourse.population.audit.gather import GroupedPart

LONG = ["by", "group", "about", "what", "value", "low", "high", "of", "few", "clear"]


class AuditTables:
    """The parts of an audit as tables."""

    parts: Sequence[GroupedPart]

    def table(self) -> pd.DataFrame:
        """One row per group and measure: of how many people, value, low, high."""
        rows = [
            (part.title, each.group.name, measure, of(each.group, measure), *_numbers(estimate),
             of(each.group, measure) < FEW)
            for part in self.parts
            for each in part.groups
            for measure, estimate in each.estimates.items()
        ]  # fmt: skip
        return pd.DataFrame(
            rows, columns=["by", "group", "measure", "of", "value", "low", "high", "few"]
        )

    def counts(self) -> pd.DataFrame:
        """One row per group: people, accepted, of unknown decision, and the refused by status."""
        head = ["by", "group", "people", "accepted", "unknown", "refused", *STATUSES]
        rows = [
            (part.title, each.group.name, each.group.people, each.group.accepted,
             each.group.unknown, each.group.refused, *map(each.group.statuses.get, STATUSES))
            for part in self.parts
            for each in part.groups
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=head)

    def differences(self) -> pd.DataFrame:
        """One row per group and measure: how it differs from the reference group."""
        head = ["by", "group", "reference", "measure", "difference", "low", "high", "ratio",
                "ratio_low", "ratio_high", "few", "clear"]  # fmt: skip
        rows = [
            (part.title, each.group, part.reference, each.measure, *_numbers(each.difference),
             *_numbers(each.ratio), each.few, each.clear)
            for part in self.parts
            for each in part.comparisons
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=head)

    def asked(self) -> pd.DataFrame:
        """One row per group and feature: of those who can, the share asked to change it."""
        rows = [
            (part.title, each.group.name, name, *_numbers(estimate))
            for part in self.parts
            for each in part.groups
            for name, estimate in each.asked.items()
        ]
        return pd.DataFrame(rows, columns=["by", "group", "feature", "value", "low", "high"])

    def curves(self) -> pd.DataFrame:
        """One row per group and cost: the share of the refused accepted at no more than that."""
        tables = [
            pd.DataFrame(
                {"by": part.title, "group": each.group.name, "cost": each.curve.grid,
                 "value": each.curve.share, "low": each.curve.low, "high": each.curve.high}
            )
            for part in self.parts
            for each in part.groups
        ]  # fmt: skip
        return pd.concat(tables, ignore_index=True)

    def levels(self) -> pd.DataFrame:
        """One row per group and confidence, of the people whom the model was asked about."""
        rows = [
            (part.title, each.group, step.confidence, each.asked, *_numbers(step.reach),
             step.none.value, step.open.value, *_numbers(step.mean_cost))
            for part in self.parts
            for each in part.sampled
            for step in each.frontier
        ]  # fmt: skip
        head = ["by", "group", "confidence", "asked", "reach", "reach_low", "reach_high", "none",
                "open", "mean_cost", "mean_cost_low", "mean_cost_high"]  # fmt: skip
        return pd.DataFrame(rows, columns=head)

    def blocked(self) -> pd.DataFrame:
        """One row per group and constraint: how many would reach the target if it were lifted."""
        rows = [
            (part.title, each.group, sentence, some.people, each.blocked, *_numbers(some.share))
            for part in self.parts
            for each in part.sampled
            for sentence, some in [
                *each.opens.items(),
                *(("no single constraint", n) for n in (each.nothing,) if n.people),
                *(("not known", n) for n in (each.unsure,) if n.people),
            ]
        ]
        head = ["by", "group", "if", "people", "of", "share", "low", "high"]
        return pd.DataFrame(rows, columns=head)

    def to_csv(self) -> str:
        """All numbers as one CSV, a row each."""
        return as_csv(pd.DataFrame(self._long(), columns=LONG))

    def _long(self) -> Iterator[tuple[Any, ...]]:
        ends = math.nan, math.nan
        for row in self.counts().to_dict("records"):
            head = row["by"], row["group"]
            for what in ("people", "accepted", "unknown", "refused"):
                yield *head, "count", what, row[what], *ends, row["people"], None, None
            for what in STATUSES:
                about = "count of the refused"
                yield *head, about, what, row[what], *ends, row["refused"], None, None
        for by, group, measure, n, value, low, high, few in self.table().itertuples(index=False):
            yield by, group, "group", measure, value, low, high, n, few, None
        for row in self.differences().to_dict("records"):
            head, tail = (row["by"], row["group"]), (None, row["few"], row["clear"])
            beside = f"{row['measure']}, less that of {row['reference']}"
            yield *head, "difference", beside, row["difference"], row["low"], row["high"], *tail
            beside = f"{row['measure']}, by that of {row['reference']}"
            yield *head, "ratio", beside, row["ratio"], row["ratio_low"], row["ratio_high"], *tail
        for by, group, feature, value, low, high in self.asked().itertuples(index=False):
            yield by, group, "asked to change", feature, value, low, high, None, None, None
        for row in self.levels().to_dict("records"):
            head, n = (row["by"], row["group"]), row["asked"]
            what = f"{row['confidence']:g}"
            ends = row["reach_low"], row["reach_high"]
            yield *head, "reach at a confidence", what, row["reach"], *ends, n, None, None
            ends = row["mean_cost_low"], row["mean_cost_high"]
            yield *head, "mean cost at a confidence", what, row["mean_cost"], *ends, n, None, None
        for by, group, what, _, n, value, low, high in self.blocked().itertuples(index=False):
            yield by, group, "would open a way", what, value, low, high, n, None, None


def jsonable(value: Any) -> Any:
    """The same, with None for what JSON cannot hold: no number, or no end."""
    if isinstance(value, dict):
        return {key: jsonable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(estimate: Estimate) -> tuple[float, float, float]:
    return (estimate.value, *estimate.interval)
