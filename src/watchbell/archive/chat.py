"""Commands from a chat: carried out and answered, whichever chat it is."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from watchbell import ids
from watchbell.archive import (
    commands,
    crawls,
    finishing,
    history,
    idents,
    ignore_sets,
    phrases,
    pipelines,
    queues,
    status,
)
from watchbell.archive.admission import Denial
from watchbell.archive.command_forms import parse
from watchbell.archive.commands import Command, Rank, who_may
from watchbell.archive.crawl_records import state_of
from watchbell.archive.crawls import Change, ChangedCrawl
from watchbell.archive.model import Crawl
from watchbell.archive.pipelines import KnownPipeline
from watchbell.archive.queues import PENDING
from watchbell.archive.submission import Starter, submit
from watchbell.errors import NotFound, Refused
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store
from watchbell.units import in_words

_HURRY = Change(delay=(0, 0), concurrency=4)


class Person(Struct, frozen=True):
    name: str
    place: str = ""
    """The channel or room where they speak."""
    is_op: bool = False
    is_voiced: bool = False

    @property
    def rank(self) -> Rank:
        if self.is_op:
            return Rank.OP
        return Rank.VOICE if self.is_voiced else Rank.ALL


async def answer(
    store: Store, settings: Settings, text: str, person: Person, now: float
) -> list[str]:
    """The lines of the answer; none for a text that is no command."""
    command = parse(text)
    if command is None:
        return []
    return await carried_out(store, settings, command, person, now)


def is_private(text: str) -> bool:
    """Whether the answer is for the person alone, because it would flood a channel."""
    return isinstance(parse(text), commands.ShowPending | commands.Help)


async def carried_out(
    store: Store, settings: Settings, command: Command, person: Person, now: float
) -> list[str]:
    # A new crawl is judged as a whole, permission included.
    if not isinstance(command, commands.Archive) and person.rank < who_may(command):
        return [phrases.not_allowed(who_may(command))]
    try:
        return await _HANDLERS[type(command)](Chat(store, settings, person, now), command)
    except (NotFound, Refused) as error:
        return [str(error)]


class Chat:
    """What one command needs: who gave it, where and when."""

    def __init__(self, store: Store, settings: Settings, person: Person, now: float) -> None:
        self._store, self._settings, self._person, self._now = store, settings, person, now

    async def archive(self, command: commands.Archive) -> list[str]:
        by = Starter(self._person.name, self._person.place, self._person.rank)
        known = await ignore_sets.every(self._store)
        found = await submit(self._store, command, by, known, now=self._now, token=ids.token())
        if isinstance(found, Denial):
            return [found.reason, *await self._existing(command, found)]
        added = found.added
        crawl = await self._crawl(added.ident)
        if not added.is_new:  # somebody else was quicker
            return [phrases.exists(crawl.url, added.ident), *await self._summary(crawl)]
        line = phrases.queued(crawl.url, added.ident, crawl.queue, added.ahead)
        return [line, *found.notices]

    async def _existing(self, command: commands.Archive, denial: Denial) -> list[str]:
        if denial.code != "exists":
            return []
        return await self._summary(await self._crawl(idents.ident_of(command.url)))

    async def counts(self, _: commands.ShowCounts) -> list[str]:
        found = await status.counts(self._store)
        return [
            phrases.counts(
                completed=found.completed,
                aborted=found.aborted,
                failed=found.failed,
                working=found.working,
                pending=found.pending,
                pending_ao=found.pending_ao,
                pending_other=found.pending_other + found.pending_large,
            )
        ]

    async def crawl(self, command: commands.ShowCrawl) -> list[str]:
        return await self._summary(await self._crawl(command.ident))

    async def of_url(self, command: commands.FindUrl) -> list[str]:
        ident = idents.ident_of(command.url)
        try:
            return await self._summary(await self._crawl(ident))
        except NotFound:
            past = await history.of_ident(self._store, ident)
        if not past:
            return [phrases.no_crawl_of(command.url)]
        return phrases.summary(past[0].crawl, past[0].state)

    async def pending(self, _: commands.ShowPending) -> list[str]:
        waiting = (await queues.pending(self._store))[PENDING]
        some = waiting[: phrases.MOST_LISTED]
        found = await crawls.find(self._store, some, with_ignores=False)
        return phrases.pending([one for one in found if one is not None], len(waiting))

    async def locate(self, command: commands.Locate) -> list[str]:
        crawl = await self._crawl(command.ident)
        if crawl.pipeline_id and crawl.finished_at is None:
            known = await pipelines.every(self._store)
            names = [one.record.nickname for one in known if one.record.id == crawl.pipeline_id]
            name = names[0] if names else ""
            return [phrases.on_pipeline(crawl.ident, name, crawl.pipeline_id)]
        place = await status.place_of(self._store, crawl.ident)
        if place is None:
            return [phrases.nowhere(crawl.ident)]
        return [phrases.in_queue(crawl.ident, place.queue, place.ahead)]

    async def ignore(self, command: commands.Ignore) -> list[str]:
        crawl, _ = await self._changed(command.ident, Change(ignore=[command.pattern]))
        return [phrases.ignored(crawl.ident, command.pattern)]

    async def unignore(self, command: commands.Unignore) -> list[str]:
        crawl, changed = await self._changed(command.ident, Change(unignore=[command.pattern]))
        was_there = changed.unignored > 0
        return [phrases.unignored(crawl.ident, command.pattern, was_there=was_there)]

    async def add_sets(self, command: commands.AddIgnoreSets) -> list[str]:
        known = await ignore_sets.every(self._store)
        names = [name for name in command.names if name in known]
        unknown = [name for name in command.names if name not in known]
        lines = [phrases.unknown_ignore_sets(unknown)] if unknown else []
        if not names:
            return lines
        patterns = sorted({pattern for name in names for pattern in known[name]})
        crawl, changed = await self._changed(command.ident, Change(ignore=patterns))
        return [phrases.added_sets(crawl.ident, names, changed.ignored), *lines]

    async def report_ignores(self, command: commands.ReportIgnores) -> list[str]:
        change = Change(suppress_ignore_reports=not command.is_on)
        crawl, _ = await self._changed(command.ident, change)
        return [phrases.reports(crawl.ident, is_on=command.is_on)]

    async def set_delay(self, command: commands.SetDelay) -> list[str]:
        low, high = command.delay_min, command.delay_max
        crawl, _ = await self._changed(command.ident, Change(delay=(low, high)))
        return [phrases.delay(crawl.ident, low, high)]

    async def set_concurrency(self, command: commands.SetConcurrency) -> list[str]:
        crawl, _ = await self._changed(command.ident, Change(concurrency=command.concurrency))
        return [phrases.concurrency(crawl.ident, command.concurrency)]

    async def hurry(self, command: commands.Hurry) -> list[str]:
        crawl, _ = await self._changed(command.ident, _HURRY)
        return [phrases.delay(crawl.ident, 0, 0), phrases.concurrency(crawl.ident, 4)]

    async def note(self, command: commands.SetNote) -> list[str]:
        crawl, _ = await self._changed(command.ident, Change(note=command.note))
        return [phrases.noted(crawl.ident)]

    async def explain(self, command: commands.Explain) -> list[str]:
        """Also of a crawl that is known to the history alone."""
        found = await self._found(command.ident)
        ident = found.ident if found else idents.spellings(command.ident)[0]
        words = await status.explanation(self._store, self._settings, ident, self._now)
        return [f"{ident}: {words}"]

    async def abort(self, command: commands.Abort) -> list[str]:
        crawl = await self._crawl(command.ident)
        self._check_open(crawl)
        done = await finishing.abort(self._store, crawl.ident, self._person.name, self._now)
        return [phrases.aborting(crawl.ident, was_queued=done is finishing.Abort.ENDED)]

    async def pause(self, command: commands.Pause) -> list[str]:
        crawl, _ = await self._changed(command.ident, Change(is_paused=True))
        return [phrases.paused(crawl.ident)]

    async def resume(self, command: commands.Resume) -> list[str]:
        crawl, _ = await self._changed(command.ident, Change(is_paused=False))
        return [phrases.resumed(crawl.ident)]

    async def expire(self, command: commands.Expire) -> list[str]:
        crawl = await self._crawl(command.ident)
        try:
            await finishing.expire(self._store, crawl.ident)
        except Refused:
            return [phrases.not_expiring(crawl.ident)]
        return [phrases.expired(crawl.ident)]

    async def pipelines(self, _: commands.ListPipelines) -> list[str]:
        known = await pipelines.every(self._store)
        return phrases.pipelines([_pipeline(one, self._settings.lease) for one in known])

    async def _found(self, ident: str) -> Crawl | None:
        found = await crawls.find(self._store, idents.spellings(ident), with_ignores=False)
        return next((one for one in found if one is not None), None)

    async def _crawl(self, ident: str) -> Crawl:
        found = await self._found(ident)
        if found is None:
            raise NotFound(phrases.no_crawl(ident))
        return found

    async def _changed(self, ident: str, change: Change) -> tuple[Crawl, ChangedCrawl]:
        crawl = await self._crawl(ident)
        self._check_open(crawl)
        return crawl, await crawls.change(self._store, crawl.ident, change)

    def _check_open(self, crawl: Crawl) -> None:
        if crawl.finished_at is not None:
            raise Refused(phrases.has_ended(crawl.ident, state_of(crawl)))

    async def _summary(self, crawl: Crawl) -> list[str]:
        left = await status.expires_in(self._store, crawl.ident)
        return phrases.summary(crawl, state_of(crawl), left)


def _pipeline(pipeline: KnownPipeline, lease: float) -> str:
    room = pipeline.capacity
    load = f"{room.running} of {room.concurrent} crawls" if room else "crawls unknown"
    words = f"{pipeline.name}: {pipeline.record.status.lower()}, {load}"
    if pipeline.silent >= lease:
        words = f"{pipeline.name}: no sign of life for {in_words(int(pipeline.silent))}"
    return f"{words}, {pipeline.record.disk_usage:.0f} % of its disk in use"


async def _cheer(_: Chat, command: commands.Cheer) -> list[str]:
    return [phrases.cheer(command.nick)]


async def _help(_: Chat, __: commands.Help) -> list[str]:
    return phrases.help_lines()


async def _hint(_: Chat, command: commands.Hint) -> list[str]:
    return [command.text]


_HANDLERS: dict[type[Command], Callable[[Chat, Any], Awaitable[list[str]]]] = {
    commands.Archive: Chat.archive,
    commands.ShowCounts: Chat.counts,
    commands.ShowCrawl: Chat.crawl,
    commands.FindUrl: Chat.of_url,
    commands.ShowPending: Chat.pending,
    commands.Locate: Chat.locate,
    commands.Ignore: Chat.ignore,
    commands.Unignore: Chat.unignore,
    commands.AddIgnoreSets: Chat.add_sets,
    commands.ReportIgnores: Chat.report_ignores,
    commands.SetDelay: Chat.set_delay,
    commands.SetConcurrency: Chat.set_concurrency,
    commands.Hurry: Chat.hurry,
    commands.SetNote: Chat.note,
    commands.Explain: Chat.explain,
    commands.Abort: Chat.abort,
    commands.Pause: Chat.pause,
    commands.Resume: Chat.resume,
    commands.Expire: Chat.expire,
    commands.ListPipelines: Chat.pipelines,
    commands.Cheer: _cheer,
    commands.Help: _help,
    commands.Hint: _hint,
}
