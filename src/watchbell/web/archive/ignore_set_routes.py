"""Endpoints for ignore sets, and for trying patterns."""

from typing import Annotated

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter

from watchbell.archive import ignore_sets, ignores
from watchbell.archive.urls import netloc_of, normalised
from watchbell.errors import NotFound, Refused
from watchbell.web.access import needs
from watchbell.web.archive.queue_shapes import (
    IgnoreSetAsked,
    IgnoreSetRow,
    IgnoreSets,
    IgnoreSetShown,
    Trial,
    TrialAsked,
    TriedUrl,
)
from watchbell.web.services import Asked, audited, services_of

SetName = Annotated[
    str,
    PathParameter(
        min_length=1,
        max_length=ignore_sets.LONGEST_NAME,
        pattern="^[A-Za-z0-9_.-]+$",
        description="The name of an ignore set.",
    ),
]


@get("/archive/ignore-sets", opt=needs("read"))
async def list_sets(request: Asked) -> IgnoreSets:
    """List the ignore sets."""
    changed, ours = await ignore_sets.changed(services_of(request).store), ignore_sets.built_in()
    found = {**ours, **changed}
    return IgnoreSets(
        [
            IgnoreSetRow(
                name=name,
                patterns=len(patterns),
                is_ours=name in ours,
                is_changed=name in changed,
            )
            for name, patterns in sorted(found.items())
        ]
    )


@get("/archive/ignore-sets/{name:str}", opt=needs("read"))
async def one_set(request: Asked, name: SetName) -> IgnoreSetShown:
    """Get an ignore set with its patterns."""
    return await _shown(request, name)


async def _shown(request: Asked, name: str) -> IgnoreSetShown:
    changed, ours = await ignore_sets.changed(services_of(request).store), ignore_sets.built_in()
    patterns = changed.get(name, ours.get(name))
    if patterns is None:
        raise NotFound(f"there is no ignore set {name!r}")
    return IgnoreSetShown(
        name=name, patterns=patterns, is_ours=name in ours, is_changed=name in changed
    )


@put("/archive/ignore-sets/{name:str}", opt=needs("write"))
async def save_set(request: Asked, name: SetName, data: JSONBody[IgnoreSetAsked]) -> IgnoreSetShown:
    """Create or replace an ignore set. Crawls that have it already keep their patterns."""
    await ignore_sets.save(services_of(request).store, name, data.patterns)
    await audited(request, "ignore_set.save", name, f"{len(data.patterns)} patterns")
    return await _shown(request, name)


@delete("/archive/ignore-sets/{name:str}", opt=needs("write"))
async def remove_set(request: Asked, name: SetName) -> None:
    """Delete an ignore set. One that comes with Watchbell gets its own patterns back."""
    was_ours = await ignore_sets.remove(services_of(request).store, name)
    await audited(request, "ignore_set.remove", name, "restored" if was_ours else "")


@post("/archive/ignore-sets/try", status_code=200, opt=needs("read"))
async def try_patterns(request: Asked, data: JSONBody[TrialAsked]) -> Trial:
    """Find out which pattern matches each URL, if any."""
    known = await ignore_sets.every(services_of(request).store) if data.ignore_sets else {}
    patterns = list(data.patterns)
    for number, pattern in enumerate(data.patterns, 1):
        try:
            ignores.check(pattern)
        except Refused as error:
            raise Refused(f"pattern {number}: {error}", field="patterns") from None
    for name in data.ignore_sets:
        if name not in known:
            raise Refused(f"there is no ignore set {name!r}", field="ignore_sets")
        patterns += known[name]
    primary = normalised(data.primary_url) or ""
    compiled = ignores.compile(patterns, primary, netloc_of(primary) if primary else "")
    return Trial([TriedUrl(url, compiled.match(normalised(url) or url)) for url in data.urls])


ROUTES = Router(
    "/",
    tags=["Archive"],
    route_handlers=[list_sets, one_set, save_set, remove_set, try_patterns],
)
