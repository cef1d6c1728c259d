"""What the server counts, in the text format that Prometheus reads."""

from __future__ import annotations

import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trust_recourse.web.state import AppState

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Counts:
    """Requests answered, and how long that took, by route."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self.seconds: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self.total: dict[str, float] = defaultdict(float)
        self.in_flight = 0

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[route, method, status] += 1
        at = next((i for i, most in enumerate(BUCKETS) if seconds <= most), len(BUCKETS))
        self.seconds[route][at] += 1
        self.total[route] += seconds

    def text(self, state: AppState, ready: bool) -> str:
        """All counts, with what is on the desk now."""
        lines = ["# TYPE trust_requests_total counter"]
        for (route, method, status), many in sorted(self.requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            lines.append(f"trust_requests_total{{{labels}}} {many}")
        lines.append("# TYPE trust_request_seconds histogram")
        for route, buckets in sorted(self.seconds.items()):
            below = 0
            for most, many in zip((*BUCKETS, "+Inf"), buckets, strict=True):
                below += many
                lines.append(f'trust_request_seconds_bucket{{route="{route}",le="{most}"}} {below}')
            lines.append(f'trust_request_seconds_sum{{route="{route}"}} {self.total[route]:.6f}')
            lines.append(f'trust_request_seconds_count{{route="{route}"}} {below}')
        for name, kind, value in (
            ("trust_requests_in_flight", "gauge", self.in_flight),
            ("trust_searches_inside", "gauge", state.traffic.searches),
            ("trust_briefs_inside", "gauge", state.traffic.briefs),
            ("trust_records_inside", "gauge", state.traffic.records),
            ("trust_searches_called_off_total", "counter", state.traffic.called_off),
            ("trust_ready", "gauge", int(ready)),
        ):
            lines += [f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"


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

        self.counts.in_flight += 1
        try:
            await self.app(scope, receive, noted)
        finally:
            self.counts.in_flight -= 1
            # The route's pattern, never what was asked for: there are only so many patterns.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "any"
            self.counts.add(route, method, status, time.perf_counter() - start)
