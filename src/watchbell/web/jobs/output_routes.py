"""Endpoints for the output of jobs: read, searched, downloaded and followed."""

from litestar import MediaType, Router, get
from litestar.response import Stream

from watchbell.jobs.job_log import JobLog
from watchbell.web import output_view
from watchbell.web.access import needs
from watchbell.web.jobs import job_view
from watchbell.web.jobs.job_routes import Id, names_of, record_of
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.output_parameters import FARTHEST, Around, Backward, End, Lines, Start, Text
from watchbell.web.output_shapes import HitsShown, OutputShown
from watchbell.web.services import Asked, services_of


def log_of(request: Asked, id: str) -> JobLog:  # noqa: A002
    services = services_of(request)
    return JobLog(services.store, services.files(), id)


@get("/jobs/{id:str}/output", opt=needs("read"))
async def output(
    request: Asked,
    id: Id,  # noqa: A002
    start: Start = None,
    end: End = None,
    around: Around = None,
    limit: Lines = 500,
) -> OutputShown:
    """Get the output of a job: from `start`, up to `end`, or `around` a line; without any of these,
    its last lines. Returns fewer lines if they are long."""
    await record_of(request, id)
    log = log_of(request, id)
    if around is not None:
        start = max(around - limit // 2, 0)
    if start is not None:
        return output_view.output(await log.window(start, limit, end))
    return output_view.output(await log.end(limit, end))


@get("/jobs/{id:str}/search", opt=needs("read"))
async def search_output(
    request: Asked,
    id: Id,  # noqa: A002
    text: Text,
    start: Start = None,
    backward: Backward = False,
) -> HitsShown:
    """Search the output for a text. Each request searches some thousand lines; `next` is where to
    continue."""
    await record_of(request, id)
    begin = (FARTHEST if backward else 0) if start is None else start
    found = await log_of(request, id).search(text, begin, backward=backward)
    return HitsShown(found.places, found.following)


@get("/jobs/{id:str}/download", opt=needs("read"), media_type=MediaType.TEXT)
async def download(request: Asked, id: Id) -> Stream:  # noqa: A002
    """Download the output of a job."""
    job = (await record_of(request, id)).job
    title = (await names_of(request)).event(job.event)
    disposition = f'attachment; filename="{job_view.file_name(job, title)}"'
    return Stream(
        log_of(request, id).download(),
        headers={"Content-Disposition": disposition, "X-Content-Type-Options": "nosniff"},
        media_type=MediaType.TEXT,
    )


@get("/jobs/{id:str}/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked,
    id: Id,  # noqa: A002
    last: LastEvent = "",
    resume: Resume = "",
) -> EventStream:
    """Follow the output and the state of a job: events `lines`, `status`, and `end` when it ends,
    or `gone` if its record was deleted. If there are very many lines, only the newest are sent,
    with the number of lines that were left out."""
    services = services_of(request)
    await record_of(request, id)
    names, log = await names_of(request), log_of(request, id)
    source = job_view.live(services.store, log, id, names, last or resume, services.clock)
    return streamed(request, source)


ROUTES = Router("/", tags=["Jobs"], route_handlers=[output, search_output, download, live])
