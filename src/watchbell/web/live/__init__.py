"""Live: what open pages are sent, as server-sent events.

A stream is an endpoint that returns `sse.streamed(request, source())`. Its source is an async
generator of `Event(id, name, data)`:

    @get("/runs/live", opt=needs("read"), media_type=EVENT_STREAM)
    async def live(request: Asked, last: LastEvent = "", resume: Resume = "") -> EventStream:
        since = last or resume                       # the id of the last event that the reader has
        return streamed(request, _changes(services_of(request), since))

    async def _changes(services: Services, since: str) -> AsyncGenerator[Event]:
        async with services.something.watched() as watch:    # released when the stream ends
            while True:
                change = await watch.next()              # all since the last time, as one
                yield Event(change.id, "changed", msgspec.json.encode(change))

- Its path ends in `/live` and contains no names: those are query parameters.
- Its next event is requested when the last one was written. A slow reader makes it wait, so a
  source must not queue changes, but remember what has changed and send it as one event
  (a set of ids, the latest state, an offset into an output).
- `id` is what the reader sends back as `Last-Event-ID` after an interruption, or as `?resume=`
  where it opens a stream itself. A source that can't continue from there sends `reset`, with no
  data, and starts again.
- `data` is JSON without line breaks, as msgspec writes it.
- `sse` handles headers, the sign of life every 15 s, limits, the end of a session, a reader who is
  gone and a server that stops: it closes the source, which cleans up in `finally`.
- A source that raises ends its stream; the reader reconnects by itself. StoreUnavailable is
  reported as everywhere, anything else is logged as an error.
"""
