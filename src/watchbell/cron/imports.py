"""Imports jobs from the text of a file, with a preview, and exports them as a crontab."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from watchbell.cron import crontab_file, definitions, jobs
from watchbell.cron.crontab_file import Entry
from watchbell.cron.model import Invalid, Job
from watchbell.cron.reading import Reading
from watchbell.cron.validation import from_fields
from watchbell.errors import Refused
from watchbell.schedule.crontab_lines import Skipped
from watchbell.store.client import Store

Form = Literal["crontab", "json"]
_SLICE = 500


class Planned(Struct, frozen=True):
    """A job that the import would create."""

    entry: Entry
    judgement: Job | Invalid
    is_known: bool
    """Whether a job of this name exists already."""


def entries(form: Form, text: str | bytes, *, has_users: bool = False) -> Iterator[Entry | Skipped]:
    """The jobs that a text describes, and lines of a crontab that are not jobs."""
    if form == "crontab":
        shown = text if isinstance(text, str) else text.decode(errors="replace")
        yield from crontab_file.entries(shown, has_users=has_users)
        return
    try:
        table = msgspec.json.decode(text, type=dict[str, dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Refused(f"expected an object of names and definitions: {error}") from None
    for name, definition in table.items():
        yield Entry(line=0, name=name, definition=definition)


async def planned(store: Store, found: Sequence[Entry], reading: Reading) -> list[Planned]:
    known: set[str] = set()
    for first in range(0, len(found), _SLICE):
        names = [one.name for one in found[first : first + _SLICE]]
        known.update(name.decode() for name, _ in await definitions.some(store, names))
    return [
        Planned(one, from_fields(one.name, one.definition, reading), one.name in known)
        for one in found
    ]


def obstacles(plan: Iterable[Planned], *, replace: bool) -> Iterator[str]:
    """Why the import as a whole is refused."""
    for one in plan:
        if isinstance(one.judgement, Invalid):
            yield f"{one.entry.name}: {one.judgement.text}"
        elif one.is_known and not replace:
            yield f"there is a job {one.entry.name!r} already"


async def make(store: Store, plan: Sequence[Planned], reading: Reading, *, replace: bool) -> None:
    """Imports all jobs or, if one of them can't be created, none: that raises Refused."""
    if not plan:
        raise Refused("there is nothing to import")
    if reason := next(obstacles(plan, replace=replace), ""):
        raise Refused(f"{reason}; nothing was imported")
    for one in plan:
        await jobs.save(store, one.entry.name, one.entry.definition, reading)


class Crontab:
    """Writes jobs as a crontab, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self._zone = reading.zone.key
        self._writer = crontab_file.Writer()

    def lines(
        self, name: str, definition: Mapping[str, Any] | None, job: Job | None, *, paused: bool
    ) -> str:
        """The job's lines, or a comment that says why it is left out."""
        try:
            if job is None or definition is None:
                raise Refused("it is not valid")  # noqa: TRY301
            if paused:
                raise Refused("it is paused")  # noqa: TRY301
            return self._writer.lines(name, definition, self._zone)
        except Refused as error:
            shown = "".join(
                each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name
            )
            return f"# {shown} is left out: {error}"
