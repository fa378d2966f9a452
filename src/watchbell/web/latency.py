"""The time until the answer to a request begins, by method, route and status."""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from prometheus_client import CollectorRegistry, Histogram

from watchbell.clock import Clock

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Latency:
    """Of this server. A stream counts until it begins, not until it ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "watchbell_http_request_duration_seconds",
            "Seconds until the answer to a request began.",
            ["method", "route", "status"],
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def timing(self, scope: HTTPScope, send: Send) -> Send:
        """`send`, which also observes the request when its answer begins."""
        begun = self._clock.monotonic()

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                labels = scope["method"], scope["path_template"], str(message["status"])
                self._seconds.labels(*labels).observe(self._clock.monotonic() - begun)
            await send(message)

        return timed


def measured(app: ASGIApp) -> ASGIApp:
    """A middleware: times every request."""

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            latency: Latency = scope["litestar_app"].state["services"].latency
            send = latency.timing(scope, send)
        await app(scope, receive, send)

    return middleware
