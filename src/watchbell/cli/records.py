"""`watchbell records`."""

import sys

import click

from watchbell.alerting import record_keeping, record_verify
from watchbell.alerting.record_adopt import Adopted, RecordAdoption
from watchbell.alerting.record_mirror import Difference
from watchbell.cli.audited import record_change
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted

_SHOWN = 100
_PRESENT = "present"
"""What a difference says of a member of a set, and of a whole key."""
_NONE = "There are no records; `watchbell records build` creates them."
_FOREIGN = (
    "Another program wrote these records; `watchbell records adopt` brings them into the working "
    "layout."
)
_WORDS = {
    "on": "kept: every change is written to them, too",
    "off": "no longer kept: what is there may be stale",
    "never": "not kept",
}

_NOUNS = {
    "contacts": ("contact", "contacts"),
    "rules": ("rule", "rules"),
    "entities": ("entity", "entities"),
    "checks": ("check", "checks"),
    "changes": ("change of state", "changes of state"),
    "windows": ("maintenance window", "maintenance windows"),
    "blocks": ("notification block", "notification blocks"),
}


@click.group
def command() -> None:
    """Keep Flapjack's records beside the working layout, for programs that read those. The setting
    `alerting.records` does so all the time.

    Example: watchbell records build
    """


@command.command
@with_settings()
@as_json
def status(*, loaded: Loaded, as_json: bool) -> None:
    """Show whether records are kept, and how many there are.

    Example: watchbell records status
    """

    async def read(store: Store) -> tuple[record_keeping.Keeping, bool, dict[str, int]]:
        is_partial = await record_keeping.kept(store) == "partly"
        return await record_keeping.keeping(store), is_partial, await record_keeping.counts(store)

    keeping, is_partial, counts = with_store(loaded.settings, read)
    if as_json:
        print_json({"keeping": keeping, "complete": not is_partial, "records": counts})
        return
    click.echo(f"Records are {_WORDS[keeping]}.")
    if is_partial:
        click.echo(
            "They are not complete: a build is under way, or was interrupted; `watchbell records "
            "build` completes them."
        )
    for name, count in counts.items():
        click.echo(f"{name:24}{count:>12,}")


@command.command
@with_settings()
def build(*, loaded: Loaded) -> None:
    """Create all records, and keep them from now on. Everything else goes on meanwhile. A build
    that was interrupted can be repeated.

    Example: watchbell records build
    """

    async def run(store: Store) -> record_keeping.Built:
        built = await record_keeping.build(store, lambda done: _progress(done, "parts built"))
        await record_change(store, "records.build", "", counted(built.units, "part"))
        return built

    built = with_store(loaded.settings, run)
    _clear()
    click.echo(f"{counted(built.units, 'part')} built. Records are kept from now on.")
    for refusal in built.refused[:_SHOWN]:
        click.echo(f"Not built: {refusal.unit}: {refusal.reason}", err=True)
    if built.refused:
        sys.exit(1)


@command.command
@with_settings()
@as_json
def adopt(*, loaded: Loaded, as_json: bool) -> None:
    """Take over records of another program. They are brought into the working layout and kept from
    now on, with their ids. What is invalid is listed and stays as it is; the exit code is 1 then.
    An adoption that was interrupted can be repeated.

    Example: watchbell records adopt
    """

    async def run(store: Store) -> Adopted:
        adoption = RecordAdoption(store, int(SYSTEM.now()))
        adopted = await adoption.run(lambda what, done, _: _progress(done, what))
        await record_change(store, "records.adopt", "", _counts(adopted))
        return adopted

    adopted = with_store(loaded.settings, run)
    _clear()
    if as_json:
        print_json(adopted)
    else:
        click.echo(f"Adopted {_counts(adopted)}. Records are kept from now on.")
        if not loaded.settings.alerting.records:
            click.echo("Set alerting.records = true, or the processor's next start ends that.")
        if adopted.known:
            known = counted(adopted.known, "check")
            verb = "exists" if adopted.known == 1 else "exist"
            click.echo(f"{known} {verb} in the working layout already and kept the history there.")
        for one in adopted.invalid:
            click.echo(f"Not adopted: {one.key}: {one.reason}", err=True)
        for refusal in adopted.refused:
            click.echo(f"Not kept: {refusal.unit}: {refusal.reason}", err=True)
    if adopted.invalid or adopted.refused:
        sys.exit(1)


def _counts(adopted: Adopted) -> str:
    counts = ((getattr(adopted, name), *nouns) for name, nouns in _NOUNS.items())
    found = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count]
    return ", ".join(found) or "nothing new"


@command.command
@click.option("--all", "show_all", is_flag=True, help=f"List all differences, not {_SHOWN}.")
@with_settings()
@as_json
def verify(*, loaded: Loaded, show_all: bool, as_json: bool) -> None:
    """Compare records with the working layout. This lists every difference in both directions; the
    exit code is 1 if there are any.

    Example: watchbell records verify
    """
    found = sorted(set(with_store(loaded.settings, _differences)), key=_place)
    _clear()
    if as_json:
        print_json(found)
    elif not found:
        click.echo("No difference.")
    else:
        for one in found if show_all else found[:_SHOWN]:
            click.echo(_words(one))
        if len(found) > _SHOWN and not show_all:
            click.echo(f"and {len(found) - _SHOWN:,} more; --all lists them")
    if found:
        sys.exit(1)


async def _differences(store: Store) -> list[Difference]:
    if await record_keeping.keeping(store) == "never":
        has_any = any((await record_keeping.counts(store)).values())
        click.echo(_FOREIGN if has_any else _NONE, err=True)
    found = []
    async for one in record_verify.differences(store):
        found.append(one)
        _progress(len(found), "differences found")
    return found


def _place(one: Difference) -> tuple[str, ...]:
    return one.key, one.field, one.expected or "", one.found or ""


def _words(one: Difference) -> str:
    place = f"{one.key} {one.field}".strip()
    if _PRESENT in (one.found, one.expected):
        return f"{place} {'is missing' if one.found is None else 'does not belong there'}"
    if one.found is None:
        return f"{place}: {one.expected!r} is missing"
    if one.expected is None:
        return f"{place}: {one.found!r} does not belong there"
    return f"{place}: is {one.found!r}, expected {one.expected!r}"


@command.command
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_settings()
def drop(*, loaded: Loaded, yes: bool) -> None:
    """Remove all records, and keep none from now on. The working layout stays.

    Example: watchbell records drop --yes
    """
    if loaded.settings.alerting.records:
        click.echo("alerting.records is set: the next start builds them again.", err=True)
    if not yes:
        click.confirm("Remove all records of this store?", abort=True)

    async def run(store: Store) -> int:
        gone = await record_keeping.drop(store, lambda done: _progress(done, "keys removed"))
        await record_change(store, "records.drop", "", counted(gone, "key"))
        return gone

    gone = with_store(loaded.settings, run)
    _clear()
    click.echo(f"{counted(gone, 'key')} removed.")


def _progress(done: int, words: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{done:,} {words}", err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
