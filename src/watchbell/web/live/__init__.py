"""Live: what pages are told while they are open, as server-sent events.

A stream is an endpoint that returns `sse.streamed(request, source())`. Its source is an async
generator of `Event(id, name, data)`:

    @get("/runs/live", opt=needs("read"), media_type=EVENT_STREAM)
    async def live(request: Asked, last: LastEvent = "", resume: Resume = "") -> EventStream:
        since = last or resume                       # the id of the last event that the reader has
        return streamed(request, _changes(desk_of(request), since))

    async def _changes(desk: Desk, since: str) -> AsyncGenerator[Event]:
        async with desk.something.watched() as watch:    # let go of when the stream ends
            while True:
                news = await watch.next()                # all that came since the last time, as one
                yield Event(news.id, "changed", msgspec.json.encode(news))

- Its path ends in `/live`, and travels no names: those are query parameters.
- It is asked for its next event when the last one was written. A reader who is slow makes it wait,
  so a source must not queue what comes meanwhile, but remember what has changed and tell it as one
  event (a set of ids, the latest state, an offset into an output).
- `id` is what the reader sends back as `Last-Event-ID` after a cut, or as `?resume=` where it opens
  a stream itself. A source that can't go on from there says `reset`, with no data, and begins anew.
- `data` is JSON without line breaks, as msgspec writes it.
- Headers, the sign of life every 15 s, limits, the end of a session, a reader who is gone and a
  server that stops are the business of `sse`: it closes the source, which cleans up in `finally`.
- A source that raises ends its stream; the reader comes back by itself. StoreUnavailable is told as
  everywhere, anything else is a fault of ours in the log.
"""
