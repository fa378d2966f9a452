"""Metrics for Prometheus."""

from litestar import Response, Router, get
from prometheus_client.exposition import choose_encoder

from watchbell.web.access import needs
from watchbell.web.services import Asked, services_of
from watchbell.web.system import metrics


@get("/metrics", opt=needs("metrics"), include_in_schema=False)
async def scraped(request: Asked) -> Response[bytes]:
    """In Prometheus' text format, or as OpenMetrics where the scraper asks for it."""
    services = services_of(request)
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    collected = metrics.Collected(await metrics.gathered(services), services.latency.registry)
    return Response(encode(collected), media_type=kind)


ROUTES = Router("/", route_handlers=[scraped])
