"""One stream for all topics that a page follows."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.web.access import needs
from watchbell.web.live.sse import EVENT_STREAM, EventStream, streamed
from watchbell.web.live.topics import TOPICS, Topic
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, services_of

Wanted = Annotated[
    list[str] | None,
    QueryParameter(
        name="topics",
        max_items=20,
        description=f"One or more of {', '.join(TOPICS)}, repeated or separated by commas.",
    ),
]


def topics_of(given: list[str] | None) -> list[Topic]:
    names = {name.strip() for text in given or () for name in text.split(",")} - {""}
    if not names or names - set(TOPICS):
        expected = ", ".join(TOPICS)
        raise HttpProblem(422, f"expected some of {expected}", field="topics")
    return [topic for topic in TOPICS if topic in names]


@get("/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(request: Asked, topics: Wanted = None) -> EventStream:
    """Follow topics as server-sent events.

    An event is sent when the data of a topic has changed, at most once a second. The first
    events have the current data. `checks` has counts by state; `queues` has the lengths of
    queues and the events per second; `maintenance` has the number of open windows; `alerts`,
    `cron` and `gateways` have values that change when their lists do.
    """
    return streamed(request, services_of(request).topics.changes(topics_of(topics)))


ROUTES = Router("/", tags=["Live"], route_handlers=[live])
