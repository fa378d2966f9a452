"""`watchbell explain`."""

import asyncio

import click
import msgspec

from watchbell.alerting.checks import Checks
from watchbell.alerting.decide.check import Verdict
from watchbell.alerting.decide.routing import Fate
from watchbell.alerting.model import Decision, split_id
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.telling import plain, when
from watchbell.errors import NotFound
from watchbell.settings import Loaded, Settings

_NOTIFIER = {"TOLD": "somebody is told", "NOBODY": "nobody is told"}


@click.command
@click.argument("check", metavar="ENTITY:CHECK")
@click.option("--limit", default=10, show_default=True, help="How many decisions, newest first.")
@with_settings()
@as_json
def command(*, loaded: Loaded, check: str, limit: int, as_json: bool) -> None:
    """Say in words what was lately decided about a check, and why: what held an event back and
    until when, which contacts were considered, which rules matched or did not, what became of
    each medium.

    Example: watchbell explain web-1.example.com:HTTP
    """
    decisions = asyncio.run(_decisions(loaded.settings, check, limit))
    if as_json:
        print_json(decisions)
        return
    for decision in decisions:
        for line in _told(decision):
            click.echo(line)


async def _decisions(settings: Settings, check: str, limit: int) -> list[Decision]:
    entity, name = split_id(check)
    async with opened(settings) as store:
        key = Checks(store.prefix).own.decisions(entity.lower(), name)
        found = await store.call("LRANGE", key, 0, max(limit, 1) - 1)
    if not found:
        raise NotFound(f"nothing was decided about {check!r} lately; is it ENTITY:CHECK?")
    return [msgspec.json.decode(one, type=Decision) for one in found]


def _told(decision: Decision) -> list[str]:
    until = f", until {when(decision.until)}" if decision.until else ""
    if decision.by == "processor":
        verdict = Verdict[decision.verdict]
        outcome = "to be told" if verdict is Verdict.TELL else "held back"
        head = f"{when(decision.time)}  {decision.state}: {outcome}, {verdict.value}{until}"
    else:
        head = f"{when(decision.time)}  {decision.state}: {_NOTIFIER[decision.verdict]}"
    lines = [head + (f"  ({plain(decision.summary)})" if decision.summary else "")]
    for contact in decision.contacts:
        lines.append(f"    {plain(contact.contact)}: {plain(contact.reason)}")
        lines += [f"        rule {plain(rule)}" for rule in contact.rules]
        lines += [f"        {plain(m)}: {_fate(fate)}" for m, fate in contact.media.items()]
    if decision.by == "notifier" and not decision.contacts:
        lines.append("    no contact is interested in this check")
    return lines


def _fate(stored: str) -> str:
    name, _, until = stored.partition(":")
    return Fate[name].value + (f", until {when(int(until))}" if until else "")
