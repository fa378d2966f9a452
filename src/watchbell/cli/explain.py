"""`watchbell explain`."""

import asyncio
from collections.abc import Iterator

import click

from watchbell.alerting import explanations
from watchbell.alerting.explanations import Explained, MediumExplained, explained
from watchbell.alerting.model import Decision, split_id
from watchbell.cli.arguments import limited
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.jobs import explain
from watchbell.jobs.decide.explanation import Explained as Explanation
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened


@click.command
@click.argument("subject", metavar="ENTITY:CHECK|JOB|EVENT")
@limited(10)
@with_settings()
@as_json
def command(*, loaded: Loaded, subject: str, limit: int, as_json: bool) -> None:
    """Explain a check, a job or an event.

    Of a check, written as ENTITY:CHECK, the latest decisions, newest first: why an event was held
    back and until when, which contacts were considered, which of their rules matched, and what was
    sent by each medium.

    Of a job, by its id: why it waits, how it ended, whether it was tried again, and what became of
    its actions. Of an event, by its id or title: whether it runs, and why not.

    Examples: watchbell explain web-1.example.com:HTTP; watchbell explain Backup
    """
    if ":" not in subject:
        _explain_job_or_event(loaded.settings, subject, as_json=as_json)
        return
    decisions, sentences = asyncio.run(_decisions(loaded.settings, subject, limit))
    if as_json:
        print_json(decisions)
        return
    for decision in decisions:
        for line in _lines(explained(decision, sentences)):
            click.echo(line)


def _explain_job_or_event(settings: Settings, name: str, *, as_json: bool) -> None:
    async def found(store: Store) -> Explanation:
        return await explain.subject(store, settings.jobs, name, SYSTEM.now())

    explanation = with_store(settings, found)
    if as_json:
        print_json(explanation)
        return
    click.echo(plain(explanation.headline))
    for line in explanation.lines:
        at = f": {when(int(line.at))}" if line.at is not None else ""
        click.echo(f"    {plain(line.text)}{at}")


async def _decisions(
    settings: Settings, check: str, limit: int
) -> tuple[list[Decision], dict[str, str]]:
    """The decisions, and what the rules in them do."""
    entity, name = split_id(check)
    async with opened(settings) as store:
        found = await explanations.decisions(store, f"{entity.lower()}:{name}", limit)
        sentences = await explanations.rule_sentences(store, found)
    if not found:
        raise NotFound(
            f"no decisions about {check!r} are kept; write ENTITY:CHECK, as `watchbell status` does"
        )
    return found, sentences


def _lines(decision: Explained) -> Iterator[str]:
    head = f"{when(decision.time)}  {decision.state}: {decision.outcome}"
    if decision.by == "processor":
        head += f", {decision.reason}{_until(decision.until)}"
    yield head + (f"  ({plain(decision.summary)})" if decision.summary else "")
    if decision.tags:
        yield f"    tags: {plain(', '.join(decision.tags))}"
    for contact in decision.contacts:
        yield f"    {plain(contact.contact)}: {plain(contact.reason)}"
        yield from (f"        {plain(rule)}" for rule in contact.rules)
        yield from (f"        {_medium(medium)}" for medium in contact.media)
    if decision.by == "notifier" and decision.reason:
        yield f"    {decision.reason}"


def _medium(medium: MediumExplained) -> str:
    return f"{plain(medium.medium)}: {medium.words}{_until(medium.until)}"


def _until(time: int | None) -> str:
    return f", until {when(time)}" if time else ""
