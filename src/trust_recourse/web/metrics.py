"""What the server counts, for Prometheus; each process for itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trust_recourse.web.state import AppState

MEDIA = CONTENT_TYPE_PLAIN_0_0_4
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Counts(CollectorRegistry):
    """Requests answered, how long that took, and what the server is at now."""

    def __init__(self, state: AppState, ready: Callable[[], bool]) -> None:
        super().__init__()
        labels = ("route", "method", "status")
        self.requests = Counter("trust_requests", "Answered.", labels, registry=self)
        self.seconds = Histogram(
            "trust_request_seconds", "To an answer.", ("route",), registry=self, buckets=BUCKETS
        )
        self.in_flight = Gauge("trust_requests_in_flight", "Not answered yet.", registry=self)
        self.state, self.ready = state, ready

    def text(self) -> bytes:
        """All of it, in the format that Prometheus reads."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """All of it, and what the state counts, as it is when it is asked for."""
        yield from super().collect()
        traffic = self.state.traffic
        for name in ("searches", "briefs", "records"):
            yield GaugeMetricFamily(f"trust_{name}_inside", "Run or wait.", getattr(traffic, name))
        yield CounterMetricFamily("trust_searches_called_off", "Begun.", traffic.called_off)
        yield GaugeMetricFamily("trust_ready", "Whether the first search is done.", self.ready())


class Counting:
    """Counts each request of an app."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self.app, self.counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it when it is answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self.counts.in_flight.track_inprogress():
            try:
                await self.app(scope, receive, noted)
            finally:
                # The route's pattern, never what was asked for: there are only so many patterns.
                route = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if route != "other" else "any"
                self.counts.requests.labels(route, method, status).inc()
                self.counts.seconds.labels(route).observe(time.perf_counter() - start)
