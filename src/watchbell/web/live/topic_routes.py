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
        description=f"Any of {', '.join(TOPICS)}; several of them, or with commas between.",
    ),
]


def topics_of(given: list[str] | None) -> list[Topic]:
    words = {word.strip() for text in given or () for word in text.split(",")} - {""}
    if not words or words - set(TOPICS):
        expected = ", ".join(TOPICS)
        raise HttpProblem(422, f"expected some of {expected}", field="topics")
    return [topic for topic in TOPICS if topic in words]


@get("/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(request: Asked, topics: Wanted = None) -> EventStream:
    """What goes on, looked at once a second: an event for each topic whose data has changed.

    `checks` has counts by state; `alerts`, `cron` and `gateways` what tells that a list of these
    has changed; `queues` their lengths and the events a second; `maintenance` how many windows are
    open. The first events tell how things are.
    """
    return streamed(request, services_of(request).topics.changes(topics_of(topics)))


ROUTES = Router("/", tags=["Live"], route_handlers=[live])
