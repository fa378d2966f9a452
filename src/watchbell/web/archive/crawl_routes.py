"""Endpoints for crawls: listed, followed, added, changed and ended."""

import shlex
from typing import Annotated

from litestar import Router, get, patch, post
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell import ids
from watchbell.archive import (
    crawls,
    finishing,
    history,
    idents,
    ignore_sets,
    ignores,
    pipelines,
    status,
)
from watchbell.archive.admission import Denial
from watchbell.archive.commands import Archive
from watchbell.archive.crawls import Change
from watchbell.archive.fetching.user_agents import ALIASES
from watchbell.archive.finishing import Abort
from watchbell.archive.model import Crawl, CrawlState
from watchbell.archive.submission import Starter, submit
from watchbell.archive.urls import shown
from watchbell.errors import NotFound, Refused
from watchbell.web.access import needs
from watchbell.web.archive import crawl_view
from watchbell.web.archive.crawl_shapes import (
    CrawlAdded,
    CrawlAsked,
    CrawlChange,
    CrawlChanged,
    CrawlChoices,
    CrawlShown,
    CrawlsPage,
    IgnoreSetChoice,
    UserAgentShown,
)
from watchbell.web.archive.crawl_table import CrawlFilter, Sort, changes
from watchbell.web.listing import Limit
from watchbell.web.live.cursors import cursor_of, key_of
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of

Ident = Annotated[
    str,
    PathParameter(
        min_length=1, max_length=25, pattern="^[0-9a-z]+$", description="A crawl's ident."
    ),
]
Order = Annotated[Sort, QueryParameter(description="Sort by this.")]
Reversed = Annotated[bool, QueryParameter(description="Whether to reverse the order.")]

_FIELDS = {
    "url": "url",
    "scheme": "url",
    "exists": "url",
    "large": "is_large",
    "user-agent": "user_agent",
}
"""By the code of a denial, the field of the request that it is about."""


async def wanted_of(
    text: Annotated[
        str,
        QueryParameter(
            max_length=500,
            description="Words that occur in the URL, ident, note, starter or pipeline, all.",
        ),
    ] = "",
    states: Annotated[
        list[CrawlState] | None,
        QueryParameter(name="state", max_items=10, description="Crawls in any of these states."),
    ] = None,
) -> CrawlFilter:
    return CrawlFilter(text=text, state=tuple(states or ()))


Wanted = NamedDependency[CrawlFilter]


async def found_of(request: Asked, ident: str) -> Crawl:
    """The record of a crawl, however its ident is spelled."""
    for crawl in await crawls.find(services_of(request).store, idents.spellings(ident)):
        if crawl is not None:
            return crawl
    raise NotFound(f"there is no crawl {ident}")


@get("/archive/crawls", opt=needs("read"))
async def list_crawls(
    request: Asked,
    wanted: Wanted,
    sort: Order = "state",
    reverse: Reversed = False,
    cursor: Annotated[
        str, QueryParameter(max_length=20_000, description="`next` of the previous page.")
    ] = "",
    limit: Limit = 100,
) -> CrawlsPage:
    """List crawls that wait, run or ended in the last two days, with counts by state."""
    table, after = services_of(request).crawl_table, key_of(cursor) if cursor else None
    store, view = await table.view(wanted, sort)
    rows, last = view.page(after, limit, is_reversed=reverse)
    return CrawlsPage(
        items=list(rows),
        next=cursor_of(last) if last else None,
        count=len(view.order),
        counts=view.counts,
        moment=store.moment,
    )


@get("/archive/crawls/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked, wanted: Wanted, last: LastEvent = "", resume: Resume = ""
) -> EventStream:
    """Follow a list of crawls as server-sent events.

    At most four times a second, `changed` has the rows that changed, the idents that no longer
    match, the rows in which only figures changed, and counts. After `reset`, read the list again.
    """
    return streamed(request, changes(services_of(request).crawl_table, wanted, last or resume))


@get("/archive/options", opt=needs("read"))
async def choices(request: Asked) -> CrawlChoices:
    """Get what a new crawl can ask for: ignore sets, user agents and pipelines."""
    services = services_of(request)
    sets = await ignore_sets.every(services.store)
    alive = [
        one
        for one in await pipelines.every(services.store)
        if one.silent < services.settings.archive.lease
    ]
    return CrawlChoices(
        ignore_sets=[IgnoreSetChoice(name, len(found)) for name, found in sorted(sets.items())],
        user_agents=[UserAgentShown(alias, text) for alias, text in ALIASES.items()],
        pipelines=sorted({one.record.nickname for one in alive} - {""}),
        has_large=any(one.capacity is None or one.capacity.large for one in alive),
    )


@post("/archive/crawls", opt=needs("operate"))
async def add(request: Asked, data: JSONBody[CrawlAsked]) -> CrawlAdded:
    """Queue a crawl of a site, a page or a list of URLs. A URL that has a crawl already, one that
    ended in the last two days included, is refused with the code `exists`."""
    services = services_of(request)
    command = Archive(data.url.strip(), words_of(data), data.fetch_depth, data.is_list)
    starter = Starter(actor_of(request).display_name, "web")
    sets = await ignore_sets.every(services.store)
    made = await submit(
        services.store, command, starter, sets, now=services.clock.now(), token=ids.token()
    )
    if isinstance(made, Denial):
        raise _denied(made)
    if not made.added.is_new:
        raise Refused("somebody else has just added this URL", field="url", code="exists")
    await audited(request, "crawl.add", made.added.ident, shown(data.url))
    return CrawlAdded(ident=made.added.ident, ahead=made.added.ahead, notices=made.notices)


def _denied(denial: Denial) -> HttpProblem:
    return HttpProblem(422, denial.reason, field=_FIELDS.get(denial.code, ""), code=denial.code)


def words_of(asked: CrawlAsked) -> str:
    """The options as chat has them, so that there is one set of rules."""
    given: dict[str, object] = {
        "--explain": asked.note.strip(),
        "--ignore-sets": ",".join(asked.ignore_sets),
        "--user-agent": asked.user_agent,
        "--pipeline": asked.pipeline,
        "--delay": "" if asked.delay is None else asked.delay,
        "--concurrency": "" if asked.concurrency is None else asked.concurrency,
        "--browser-wait": "" if asked.browser_wait is None else asked.browser_wait,
        "--browser-scroll": "" if asked.browser_scroll is None else asked.browser_scroll,
        "--max-size": asked.most_bytes or "",
        "--max-urls": asked.most_urls or "",
        "--offsite-depth": asked.offsite_depth,
    }
    switches = {
        "--no-offsite-links": asked.no_offsite_links,
        "--large": asked.is_large,
        "--browser": asked.with_browser,
        "--robots": asked.obeys_robots,
        "--no-cookies": not asked.has_cookies,
        "--dedup": asked.dedups_before,
        "--wacz": asked.makes_wacz,
    }
    words = [f"{name}={value}" for name, value in given.items() if value != ""]
    return shlex.join(words + [name for name, is_on in switches.items() if is_on])


@get("/archive/crawls/{ident:str}", opt=needs("read"))
async def one_crawl(request: Asked, ident: Ident) -> CrawlShown:
    """Get a crawl with everything that is known of it; one of the past, as the history has it."""
    services = services_of(request)
    store, now = services.store, services.clock.now()
    try:
        crawl, is_past, nickname = await found_of(request, ident), False, ""
    except NotFound:
        past = await history.of_ident(store, ident)
        if not past:
            raise
        crawl, is_past, nickname = past[0].crawl, True, past[0].nickname
    known = {one.record.id: one.record.nickname for one in await pipelines.every(store)}
    return CrawlShown(
        row=crawl_view.row(crawl, nickname=known.get(crawl.pipeline_id, nickname)),
        explanation=await status.explanation(store, services.settings.archive, crawl.ident, now),
        expires_in=None if is_past else await status.expires_in(store, crawl.ident),
        is_past=is_past,
        url_file=crawl.url_file,
        started_in=crawl.started_in,
        slug=crawl.slug,
        user_agent=crawl.user_agent,
        no_offsite_links=crawl.no_offsite_links,
        grabber=crawl.grabber,
        phantomjs_wait=crawl.phantomjs_wait,
        phantomjs_scroll=crawl.phantomjs_scroll,
        options=crawl.options,
        r1xx=crawl.r1xx,
        r2xx=crawl.r2xx,
        r3xx=crawl.r3xx,
        r4xx=crawl.r4xx,
        r5xx=crawl.r5xx,
        runk=crawl.runk,
        settings_age=crawl.settings.age,
        reports_ignores=not crawl.settings.suppress_ignore_reports,
        ignores=len(crawl.settings.ignores),
    )


@patch("/archive/crawls/{ident:str}", opt=needs("operate"))
async def change(request: Asked, ident: Ident, data: JSONBody[CrawlChange]) -> CrawlChanged:
    """Change the settings of a crawl that waits or runs. A running crawl follows within a second.
    Patterns are regular expressions; one that is not valid is refused."""
    services, crawl = services_of(request), await found_of(request, ident)
    for pattern in data.ignore:
        try:
            ignores.check(pattern)
        except Refused as error:
            raise Refused(str(error), field="ignore") from None
    patterns = [*data.ignore, *await _patterns(request, data.ignore_sets)]
    changed = await crawls.change(
        services.store,
        crawl.ident,
        Change(
            delay=_delay(crawl, data),
            concurrency=data.concurrency,
            ignore=patterns,
            unignore=data.unignore,
            suppress_ignore_reports=(
                None if data.reports_ignores is None else not data.reports_ignores
            ),
            note=data.note,
        ),
    )
    await audited(request, "crawl.change", crawl.ident, _change_in_words(data))
    return CrawlChanged(
        settings_age=changed.age, ignored=changed.ignored, unignored=changed.unignored
    )


async def _patterns(request: Asked, names: tuple[str, ...]) -> list[str]:
    known = await ignore_sets.every(services_of(request).store) if names else {}
    for name in names:
        if name not in known:
            raise Refused(f"there is no ignore set {name!r}", field="ignore_sets")
    return [pattern for name in names for pattern in known[name]]


def _delay(crawl: Crawl, data: CrawlChange) -> tuple[int, int] | None:
    if data.delay_min is None and data.delay_max is None:
        return None
    least = crawl.settings.delay_min if data.delay_min is None else data.delay_min
    most = crawl.settings.delay_max if data.delay_max is None else data.delay_max
    if least > most:
        raise Refused(f"must be at least {least} ms, the shortest delay", field="delay_max")
    return least, most


def _change_in_words(data: CrawlChange) -> str:
    names = ("delay_min", "delay_max", "concurrency", "note", "reports_ignores")
    words = [f"{name} {value}" for name in names if (value := getattr(data, name)) is not None]
    words += [f"ignore {pattern}" for pattern in data.ignore]
    words += [f"ignore set {name}" for name in data.ignore_sets]
    words += [f"unignore {pattern}" for pattern in data.unignore]
    return "; ".join(words)[:1_000]


@post("/archive/crawls/{ident:str}/pause", status_code=204, opt=needs("operate"))
async def pause(request: Asked, ident: Ident) -> None:
    """Pause a crawl. One that waits keeps its place in the queue, but is passed over."""
    await _set_paused(request, ident, is_paused=True)


@post("/archive/crawls/{ident:str}/resume", status_code=204, opt=needs("operate"))
async def resume(request: Asked, ident: Ident) -> None:
    """Resume a crawl that is paused."""
    await _set_paused(request, ident, is_paused=False)


async def _set_paused(request: Asked, ident: str, *, is_paused: bool) -> None:
    crawl = await found_of(request, ident)
    await crawls.change(services_of(request).store, crawl.ident, Change(is_paused=is_paused))
    await audited(request, "crawl.pause" if is_paused else "crawl.resume", crawl.ident, crawl.url)


@post("/archive/crawls/{ident:str}/abort", status_code=204, opt=needs("operate"))
async def abort(request: Asked, ident: Ident) -> None:
    """Abort a crawl. One that waits ends at once; one that runs is ended by its pipeline, which
    keeps what was fetched."""
    services, crawl = services_of(request), await found_of(request, ident)
    by = actor_of(request).display_name
    done = await finishing.abort(services.store, crawl.ident, by, services.clock.now())
    how = "at once" if done is Abort.ENDED else "by its pipeline"
    await audited(request, "crawl.abort", crawl.ident, f"{crawl.url}, {how}")


@post("/archive/crawls/{ident:str}/expire", status_code=204, opt=needs("operate"))
async def expire(request: Asked, ident: Ident) -> None:
    """Forget a crawl that has ended, so that its URL can be archived again. Its files and its entry
    in the history stay."""
    crawl = await found_of(request, ident)
    await finishing.expire(services_of(request).store, crawl.ident)
    await audited(request, "crawl.expire", crawl.ident, crawl.url)


ROUTES = Router(
    "/",
    tags=["Archive"],
    dependencies={"wanted": Provide(wanted_of)},
    route_handlers=[
        *(list_crawls, live, choices, add, one_crawl, change),
        *(pause, resume, abort, expire),
    ],
)
