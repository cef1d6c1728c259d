"""The frontier: what each cost buys, as stairs that can be clicked or walked by buttons."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from trust_recourse.io.wording import percent, signed
from trust_recourse.web.page.question_panel import next_level, steps
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import cost
from trust_recourse.web.page.widgets import Latest, heading, note, press, status_line

Step = tuple[float, float]  # cost and confidence

RESOLUTION = 0.01  # of confidence between neighbours
OPTION = 18  # pixels across the dot of an option
CLEAR = OPTION // 2 + 3  # pixels from an axis to its numbers, that a dot on it does not reach
STAGES = (100, 1_000, None)  # boxes of each search; what the first ones find is drawn meanwhile
DRAWN = 200  # steps at most; a longer staircase is thinned
EVERY, FEWER = "Every step", "Fewer steps"
ENDED = {
    "time_limit": "The time limit ended the search",
    "max_steps": "The search ended at its greatest number of steps",
    "node_limit": "The search goes on",
}
NUMBERS_ONLY = "p => 'cost ' + p.value[0].toPrecision(3) + ', confidence ' + (Math.floor(p.value[1] * 1000) / 10).toFixed(1) + '%'"  # noqa: E501


class FrontierChart:
    """The chart, and two buttons that ask for the next step up or down."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ended_by: str | None = None  # the limit that ended the search of the stairs
        self.through: set[float] = set()  # levels that they are known to lead through
        self.resolution: float | None = RESOLUTION
        heading("What each cost buys")
        self.said = note("")
        self.latest = Latest(*status_line("Searching for more steps…"))
        with ui.element("div").classes("line-up levels") as self.key:  # in the chart, dots hide it
            self.asked = ui.label().classes("level asked")
            self.threshold = ui.label().classes("level threshold")
        self.chart = ui.echart(
            picture([], [], 0.5, 0.5), on_point_click=self._clicked, renderer="svg"
        ).classes("chart")
        self.chart.props["role"] = "img"
        with ui.element("div").classes("line-up") as self.buttons:
            self.walks = {
                -1: press("A step down", lambda: self._walk(-1), icon="south_west"),
                1: press("A step up", lambda: self._walk(1), icon="north_east"),
            }
            for button in self.walks.values():
                button.props["title"] = "Ask for the next step"
            self.every = press(EVERY, self._every, icon="stairs")
            self.step = ui.label().classes("wide numbers")
            self.step.props["role"] = "status"
        session.on(self._empty, "person")
        session.on(self._question, "question")
        session.on(self._answer, "answer")
        session.on(self._climb, "settled")
        self._empty()

    def _empty(self, locks: Any = None) -> None:
        self.stairs: list[Step] = []
        self.locks = locks
        self.now: Step | None = None  # cost and confidence of the first option
        self.before: Step | None = None  # of the answer before, to much the same question
        self.latest.stop()
        self._draw()

    def _question(self) -> None:
        question = self.session.question
        if question is None or not self.session.state.recourse.exact:
            return
        asked = question.question
        locks = asked.lock, question.freed, asked.cost, str(asked.limits), asked.max_changes
        self.latest.stop()  # the cards come first
        if locks != self.locks:
            self._draw_by(RESOLUTION)
            self._empty(locks)

    def _climb(self) -> None:
        """Search for the steps that are not drawn yet, once the cards are complete."""
        asked = self.session.question is not None and self.session.state.recourse.exact
        drawn = self.stairs and not self.ended_by and self.session.confidence in self.through
        if asked and not drawn:
            self.latest.ask(self._work)

    def _every(self) -> None:
        """Ask for every step there is, or for no more than before."""
        self._draw_by(RESOLUTION if self.resolution is None else None)
        self.latest.ask(self._work)

    def _draw_by(self, resolution: float | None) -> None:
        self.resolution = resolution
        self.every.text = FEWER if resolution is None else EVERY

    def _answer(self) -> None:
        """Note what the answer costs beside the one before."""
        assert self.session.result is not None
        for option in self.session.result.options[:1]:
            if (now := (option.cost, option.confidence)) != self.now:
                self.now, self.before = now, self.now
        self._draw()

    async def _work(self) -> None:
        session, question = self.session, self.session.question
        assert question is not None
        recourse, limit = session.recourse, session.state.limits.seconds
        for boxes in STAGES:
            job = partial(
                recourse.frontier, question.person, session.confidence,
                resolution=self.resolution, time_limit=limit, node_limit=boxes,
            )  # fmt: skip
            table = await session.state.work(job)
            self.stairs = list(steps(table, DRAWN))
            self.through = {session.confidence, *(confidence for _, confidence in self.stairs)}
            self.ends = table.attrs["from"], table.attrs["to"]
            self.ended_by, self.all = table.attrs["ended_by"], len(table)
            self._draw()
            if self.ended_by != "node_limit":
                return

    def _draw(self) -> None:
        session = self.session
        known = bool(self.stairs)
        self.chart.visible = self.buttons.visible = known
        self.said.text = self._words()
        self.step.text = "" if self.now is None else step_words(self.now, self.before)
        to_win = session.decision.mode == "argmax"  # which is no level of confidence
        levels = () if to_win else (session.confidence, session.threshold)
        self.key.visible = known and not to_win
        self.asked.text = f"asked for {percent(session.confidence)}"
        self.threshold.text = f"decision threshold {percent(session.threshold)}"
        for way, button in self.walks.items():
            button.set_enabled(self._next(way) is not None)
        if known:
            options = session.result.options if session.result is not None else ()
            by = session.settings.cost or session.state.recourse.cost
            self.chart.options.clear()
            self.chart.options.update(
                picture(
                    self.stairs, [(o.cost, o.confidence) for o in options], *levels,
                    complete=not self.ended_by, cost_name=by.words,
                )
            )  # fmt: skip
            self.chart.props["aria-label"] = self.said.text
            self.chart.update()

    def _words(self) -> str:
        if self.session.question is None:
            return "The stairs of cost and confidence appear with a person."
        if not self.session.state.recourse.exact:
            return "This model has no cells, so its stairs are not known."
        if not self.stairs:
            return ""
        if len(self.stairs) == 1 and self.ended_by:
            return f"{ENDED[self.ended_by]} before it found a step."
        if len(self.stairs) == 1:
            most = percent(self.stairs[0][1])
            if self.resolution is None:
                return f"No allowed change gives more confidence than {most}."
            return f"No allowed change adds a point to {most}; every step shows smaller gains."
        thinned = f", of which {len(self.stairs)} are drawn" if len(self.stairs) < self.all else ""
        ends = " to ".join(map(percent, self.ends))
        so_far = "" if self.ends[0] == self.ends[1] else f": it is complete from {ends}"
        cut = f" {ENDED[self.ended_by]}{so_far}." if self.ended_by else ""
        within = "" if self.resolution is None else ", to within a point"
        return (
            f"{self.all} steps{thinned}, from {percent(self.stairs[0][1])} to "
            f"{percent(self.stairs[-1][1])}{within}. Click one to ask for its confidence.{cut}"
        )

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        place: Any = event.value  # cost and confidence
        self.chart.run_chart_method("dispatchAction", {"type": "hideTip"})  # no finger moves away
        self.session.ask(confidence=float(place[1]))

    def _next(self, way: int) -> float | None:
        asked, result = self.session.confidence, self.session.result
        shown = result.options[0].confidence if result is not None and result.options else asked
        return next_level(self.stairs, asked, shown, way)

    def _walk(self, way: int) -> None:
        if (level := self._next(way)) is not None:
            self.session.ask(confidence=level)


def step_words(now: Step, before: Step | None = None) -> str:
    """What the first option costs, and what is bought for what since the one before.

    >>> step_words((0.285, 0.735))
    'Option 1: 73.5% for 0.285.'
    >>> step_words((0.285, 0.735), (0.282, 0.712))
    'Option 1: from 71.2% for 0.282 to 73.5% for 0.285, +2.3 points for +0.003.'
    """
    then = f"{percent(now[1])} for {cost(now[0])}"
    if before is None:
        return f"Option 1: {then}."
    first = f"{percent(before[1])} for {cost(before[0])}"
    after, ahead = (float(percent(step[1]).removesuffix("%")) for step in (now, before))
    points = signed(after - ahead, 1).replace("-", "−")  # of a percent, as they are shown
    more = now[0] - before[0]
    price = f"{'+' if more >= 0 else '−'}{cost(abs(more))}"
    return f"Option 1: from {first} to {then}, {points} points for {price}."


def picture(
    stairs: list[tuple[float, float]],
    options: list[tuple[float, float]],
    asked: float | None = None,
    threshold: float | None = None,
    *,
    complete: bool = True,
    cost_name: str = "L1",
) -> dict[str, Any]:
    """The chart for ECharts; colours are names of the style sheet, so that they follow the dark.

    A level line leads on from the last step if it is known that no more can be bought; what is
    asked for and the decision have one where they are levels of confidence; words stand outside.
    """
    muted, line = "var(--muted)", "var(--line)"
    end = max([cost for cost, _ in [*stairs, *options]], default=1.0) * 1.06 or 1.0
    shown = [confidence for _, confidence in [*stairs, *options]]
    low, high = span([*shown, *(at for at in (asked, threshold) if at is not None)])
    axis: dict[str, Any] = {
        "nameTextStyle": {"color": muted, "fontSize": 12},
        "axisLabel": {"color": muted, "margin": CLEAR},
        "axisLine": {"lineStyle": {"color": line}},
        "splitLine": {"lineStyle": {"color": line}},
    }
    lines = (asked, "var(--accent)", "solid"), (threshold, "var(--no)", "dashed")
    levels = [
        {
            "yAxis": at,
            "lineStyle": {"color": colour, "type": dashes, "width": 1.5},
            "label": {"show": False},
        }
        for at, colour, dashes in lines
        if at is not None
    ]
    drawn = [list(step) for step in stairs]
    last = [[end, stairs[-1][1]]] if stairs and complete else []
    return {
        "animation": False,
        "textStyle": {"fontFamily": "inherit"},
        "grid": {"left": 56, "right": 24, "top": 36, "bottom": 52},
        "tooltip": {"trigger": "item", ":formatter": NUMBERS_ONLY},
        "xAxis": {
            "type": "value", "name": f"cost ({cost_name})", "nameLocation": "middle", "nameGap": 32,
            "min": 0, "max": end, **axis,
            "axisLabel": {**axis["axisLabel"], "showMaxLabel": False,
            ":formatter": "v => Number(v.toPrecision(3)).toString()"},
        },
        "yAxis": {
            "type": "value", "name": "confidence", "nameGap": 18, "min": low, "max": high, **axis,
            "axisLabel": {**axis["axisLabel"], ":formatter": "v => Math.round(v * 100) + '%'"},
        },
        "series": [
            {
                "type": "line", "step": "end", "data": drawn, "symbol": "circle", "symbolSize": 9,
                "showAllSymbol": True, "lineStyle": {"color": muted, "width": 2},
                "itemStyle": {"color": "var(--card)", "borderColor": muted, "borderWidth": 2},
                "emphasis": {"disabled": True}, "cursor": "pointer",
                "markLine": {
                    "silent": True, "symbol": "none", "animation": False, "data": levels,
                },
            },
            {
                "type": "scatter", "data": [list(each) for each in options], "symbolSize": OPTION,
                "itemStyle": {"color": "var(--accent)"}, "cursor": "pointer", "z": 5,
                "emphasis": {"disabled": True},
                "label": {"show": True, "color": "var(--card)", "fontSize": 11,
                          "fontWeight": 700, ":formatter": "p => String(p.dataIndex + 1)"},
            },
            {
                "type": "line", "data": [*drawn[-1:], *last], "symbol": "none", "silent": True,
                "lineStyle": {"color": muted, "width": 2},
            },
        ],
        "color": ["var(--ink)"],
    }  # fmt: skip


def span(confidences: list[float]) -> tuple[float, float]:
    """The tenths between which confidences lie, at least two tenths apart.

    >>> span([0.55, 0.7, 0.86])
    (0.5, 0.9)
    >>> span([0.98])
    (0.8, 1.0)
    """
    tenths = [10 * each for each in confidences] or [0, 10]
    low, high = math.floor(min(tenths)), math.ceil(max(tenths))
    high = min(max(high, low + 2), 10)
    return min(low, high - 2) / 10, high / 10
