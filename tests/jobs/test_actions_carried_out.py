"""What each type of action does, with real servers of mail and web hooks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from tests.gateways import http_sink, smtp
from tests.gateways.http_media import opened
from tests.gateways.post import hush
from tests.gateways.rendering import renderer
from tests.jobs import acting
from tests.jobs.acting import MEDIA, NOW, begin, carry_out, finish, job, record, result, settings
from tests.servers import HOST
from tests.waiting import eventually
from watchbell.alerting import contacts
from watchbell.alerting.model import Contact, Medium
from watchbell.clock import SYSTEM, SetClock
from watchbell.errors import FilesUnavailable
from watchbell.fleet import snapshots
from watchbell.gateways import sent_messages
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.keys import Gateways
from watchbell.jobs import action_outcomes, definitions, job_records
from watchbell.jobs.action_runner import ActionRunner
from watchbell.jobs.action_work import NO_SERVER, ActionWork
from watchbell.jobs.decide import actions
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import PUSHED, Action, JobReference, Limit
from watchbell.jobs.outcomes import ActionOutcome
from watchbell.settings import Delivery as DeliverySettings
from watchbell.store.client import Store

MAIL = Action(trigger="error", type="email", email="alice@example.com")


@asynccontextmanager
async def gateway(store: Store, kind: str, **fields: Any) -> AsyncIterator[None]:
    medium = opened(kind, **fields)
    delivery = Delivery(
        store, kind, medium, renderer(medium).message, DeliverySettings(), SYSTEM, hush
    )
    task = asyncio.create_task(delivery.run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await medium.close()


@asynccontextmanager
async def mail_server(store: Store) -> AsyncIterator[smtp.Sink]:
    """With a gateway that sends to it."""
    async with smtp.serving() as sink:
        address = {"host": HOST, "port": sink.port, "from_address": "w@example.com"}
        async with gateway(store, "email", **address):
            yield sink


async def outcome(store: Store, n: int = 0, job_id: str = "j1") -> ActionOutcome:
    return (await action_outcomes.read(store, await record(store, job_id), SYSTEM.now()))[n]


async def reached(store: Store, state: str, n: int = 0) -> ActionOutcome:
    async def found() -> ActionOutcome | None:
        one = await outcome(store, n)
        return one if one.state == state else None

    one = await eventually(found)
    assert one is not None
    return one


async def test_a_mail_arrives_with_notes_log_and_link_and_the_record_says_so(
    store: Store,
) -> None:
    await finish(store, job(MAIL, notes="Call Alice first."))
    assert (await outcome(store)).state == "idle"
    await carry_out(store)
    known = await result(store)
    assert (known.code, known.message) == (0, "j1-0")
    assert known.description == "queued: email to alice@example.com"
    assert known.date is not None
    assert known.elapsed_ms is not None
    async with mail_server(store) as sink:
        words = (await reached(store, "done")).words
    assert words.startswith("email to alice@example.com sent: 250 ")
    (got,) = sink.mails
    assert got.message["Subject"] == "Backup failed on db-1"
    assert got.message["Message-ID"] == "<j1-0@example.com>"
    text = got.part("plain")
    assert "Call Alice first." in text
    assert "last words of j1" in text
    assert "https://watchbell.example.com/jobs/job?id=j1" in text
    assert "disk full" in got.part("html")


async def test_a_mail_that_is_refused_is_shown_as_failed(store: Store) -> None:
    await finish(store, job(msgspec.structs.replace(MAIL, email="nobody@example.com")))
    await carry_out(store)
    async with mail_server(store):
        words = (await reached(store, "failed")).words
    assert "550" in words


async def test_without_a_gateway_the_result_says_so_and_nothing_waits(store: Store) -> None:
    hook = Action(trigger="error", type="web_hook", url="https://example.com/hook")
    await finish(store, job(MAIL, hook))
    await carry_out(store, settings({}))
    mail, posted = (await record(store)).actions
    assert mail.code == 1
    assert mail.description == (
        "no gateway for mail is configured; add [gateways.email] to the settings"
    )
    assert "add [gateways.webhook]" in posted.description
    boxes = Gateways(store.prefix)
    assert await store.call("EXISTS", boxes.outbox("email"), boxes.outbox("webhook")) == 0


async def test_a_gateway_of_another_process_serves_although_these_settings_have_none(
    store: Store,
) -> None:
    await finish(store, job(MAIL))
    status = Gateways(store.prefix).status("email")
    await store.call("HSET", status, "seen", int(SYSTEM.now()), "state", "0 delivered")
    await carry_out(store, settings({}))
    assert (await result(store)).code == 0


async def test_a_medium_of_another_name_serves_if_it_is_of_the_kind(store: Store) -> None:
    await finish(store, job(MAIL))
    await carry_out(store, settings({"postfix": {"kind": "email"}}))
    assert (await result(store)).description == "queued: postfix to alice@example.com"


async def test_a_message_that_no_gateway_sends_does_not_wait_silently(store: Store) -> None:
    await finish(store, job(MAIL))
    await carry_out(store)
    assert await outcome(store) == ActionOutcome(
        0, "waiting", "email to alice@example.com waiting; no gateway for email is running"
    )


async def test_people_are_reached_by_the_address_of_their_contact(store: Store) -> None:
    alice = Contact(id="1", first_name="Alice", last_name="Adams", email="old@example.com")
    media = {"email": Medium(address="alice@example.com")}
    await contacts.save(store, msgspec.structs.replace(alice, media=media))
    await contacts.save(store, Contact(id="bob", first_name="Bob", email="bob@example.com"))
    action = Action(
        trigger="error",
        type="email",
        email="BOB@example.com",
        users=("alice adams", "bob", "charlie"),
    )
    await finish(store, job(action))
    await carry_out(store)
    assert (await result(store)).description == (
        "queued: email to BOB@example.com, alice@example.com; no address is known for charlie"
    )


async def test_a_mail_to_nobody_fails(store: Store) -> None:
    await finish(store, job(Action(trigger="error", type="email", users=("charlie",))))
    await carry_out(store)
    known = await result(store)
    assert (known.code, known.description) == (1, "no address is known for charlie")


async def test_a_web_hook_gets_the_job(store: Store) -> None:
    async with http_sink.running() as sink:
        await finish(store, job(Action(trigger="error", type="web_hook", url=f"{sink.url}/json")))
        await carry_out(store, settings(MEDIA, private_hooks=True))
        async with gateway(store, "webhook"):
            await reached(store, "done")
    (got,) = sink.received
    assert got.id == "j1-0"
    assert (got.json["id"], got.json["code"], got.json["event_title"]) == ("j1", 3, "Backup")
    assert got.json["links"]["job_details"] == "https://watchbell.example.com/jobs/job?id=j1"


async def test_a_web_hook_never_reaches_private_addresses_unless_the_setting_allows_it(
    store: Store,
) -> None:
    async with http_sink.running() as sink:
        await finish(store, job(Action(trigger="error", type="web_hook", url=f"{sink.url}/json")))
        await carry_out(store)
        async with gateway(store, "webhook", allow_networks=["127.0.0.0/8"]):
            failed = await reached(store, "failed")
    assert "is not on the public Internet" in failed.words
    assert not sink.received


async def test_another_event_is_run_with_the_data_of_the_job(store: Store) -> None:
    await acting.known(store)
    await definitions.create(store, "event", {"id": "tidy", "title": "Tidy up"}, acting.WHO, NOW)
    action = Action(trigger="error", type="run_event", event_id="tidy", params={"script": "rm"})
    await finish(store, job(action, data={"left": 3}))
    await carry_out(store)
    parent = await record(store)
    (reference,) = parent.jobs
    assert reference.reason == "action"
    child = await job_records.read(store, reference.id)
    assert child is not None
    assert (child.event, child.source, child.state) == ("tidy", "action", "ready")
    assert child.parent is not None
    assert (child.parent.id, child.parent.data) == ("j1", {"left": 3})
    assert child.params["script"] == "rm"
    assert parent.actions[0].description == f"launched job {child.id} of tidy"
    await store.call("RPUSH", Jobs(store.prefix).actions(), actions.item("j1", 0))
    await carry_out(store)
    assert (await record(store)).jobs == (JobReference(child.id, "action"),)


@pytest.mark.parametrize(
    ("event", "params", "words"),
    [
        ("tidy", {"script": "evil"}, "a job can't push parameters for the event Tidy up"),
        ("pay", {}, "a job can't run Pay, which is in another category"),
    ],
)
async def test_a_job_does_not_decide_what_other_events_run(
    store: Store, event: str, params: dict[str, Any], words: str
) -> None:
    await acting.known(store)
    await definitions.create(store, "event", {"id": "tidy", "title": "Tidy up"}, acting.WHO, NOW)
    foreign = {"id": "pay", "title": "Pay", "category": "payroll"}
    await definitions.create(store, "event", foreign, acting.WHO, NOW)
    pushed = Action(trigger="error", type="run_event", event_id=event, params=params, source=PUSHED)
    await finish(store, job(pushed))
    await carry_out(store)
    assert (await result(store)).description == words
    assert await store.call("EXISTS", Jobs(store.prefix).live()) == 0


async def test_an_event_whose_manual_timing_is_disabled_is_not_run(store: Store) -> None:
    await acting.known(store)
    event = {"id": "tidy", "title": "Tidy up", "timings": [{"type": "manual", "enabled": False}]}
    await definitions.create(store, "event", event, acting.WHO, NOW)
    await finish(store, job(Action(trigger="error", type="run_event", event_id="tidy")))
    await carry_out(store)
    assert "its manual timing is disabled" in (await result(store)).description
    assert await store.call("EXISTS", Jobs(store.prefix).live()) == 0


async def test_a_mail_goes_out_although_the_log_can_not_be_read(store: Store) -> None:
    async def away(_: str) -> str:
        raise FilesUnavailable("the bucket is away")

    await finish(store, job(MAIL))
    catalogue = await acting.known(store)
    work = ActionWork(store, catalogue, settings(), SYSTEM, base_url="", log_end=away)
    await acting.drain(store, ActionRunner(store, work, work, SYSTEM))
    raw = await store.call("HGET", Gateways(store.prefix).outbox("email"), "j1-0")
    text = msgspec.json.decode(raw)["message"]["text"]
    assert "(the log can't be read: the bucket is away)" in text


async def test_an_event_that_does_not_exist_can_not_be_run(store: Store) -> None:
    await finish(store, job(Action(trigger="error", type="run_event", event_id="nothing")))
    await carry_out(store)
    known = await result(store)
    assert (known.code, known.description) == (1, "there is no event 'nothing'")


async def test_the_event_is_disabled(store: Store) -> None:
    await finish(store, job(Action(trigger="error", type="disable")))
    await carry_out(store)
    event = await definitions.get(store, "event", "backup")
    assert not event.enabled  # type: ignore[union-attr]
    assert (await result(store)).description == "disabled Backup"


async def test_the_event_is_deleted(store: Store) -> None:
    await finish(store, job(Action(trigger="error", type="delete")))
    await carry_out(store)
    assert not await store.call("HEXISTS", Jobs(store.prefix).events(), "backup")
    assert (await result(store)).description == "deleted the event backup"


async def test_a_snapshot_of_the_jobs_server_is_taken_once(store: Store) -> None:
    await store.call("SADD", Jobs(store.prefix).server_jobs("s1"), "j2")
    for _ in range(2):  # the second attempt finds what the first one did
        await finish(store, job(Action(trigger="error", type="snapshot")))
        await carry_out(store)
    (head,) = await snapshots.heads(store, 10)
    assert (head.source, head.cause, head.hostname, head.jobs) == ("job", "j1", "db-1", ("j2",))
    known = await result(store)
    assert (known.code, known.description) == (0, f"took the snapshot {head.id} of db-1")


async def test_a_job_that_never_had_a_server_has_no_snapshot(store: Store) -> None:
    await finish(store, job(Action(trigger="error", type="snapshot"), server=""))
    await carry_out(store)
    known = await result(store)
    assert (known.code, known.description) == (1, NO_SERVER)


async def test_actions_at_the_start_are_recorded_in_the_job_in_progress(store: Store) -> None:
    start = Action(trigger="start", type="email", email="alice@example.com")
    await begin(
        store, job(start, Action(trigger="start", type="tag", tags=("big",)), state="active")
    )
    await carry_out(store)
    known = await record(store)
    assert [one.code for one in known.actions] == [0, 0]
    assert known.tags == ("big",)


async def test_a_result_waits_while_the_record_of_the_job_is_finished(store: Store) -> None:
    keys, clock = Jobs(store.prefix), SetClock(NOW)
    start = Action(trigger="start", type="tag", tags=("big",))
    ending = job(start, state="active")
    await begin(store, ending)
    await store.call("HSET", keys.job("j1"), "state", '"finishing"')
    runner = await acting.worker(store, clock=clock)
    await acting.drain(store, runner)
    assert (await result(store)).code is None
    assert await store.call("ZCARD", keys.actions_later()) == 1
    await store.call("DEL", keys.job("j1"))
    await finish(store, ending)
    assert await runner.return_due() == 0
    clock.advance(5)
    assert await runner.return_due() == 1
    await acting.drain(store, runner)
    known = await record(store)
    assert known.tags == ("big",)
    assert known.actions[0].code == 0
    tagged = await store.call("ZRANGE", keys.done_by("tag", "big"), 0, -1)
    assert tagged == [b"j1"]


async def test_a_limit_that_is_reached_notifies_in_its_ways(store: Store) -> None:
    limit = Limit(type="mem", abort=False, tags=("big",), email="alice@example.com")
    await begin(store, job(MAIL, state="active", limits=(Limit(type="job", amount=1), limit)))
    item = actions.limit_item("j1", 1, "it uses more than 1 GiB")
    for _ in range(2):
        await store.call("RPUSH", Jobs(store.prefix).actions(), item)
        await carry_out(store, clock=SetClock(NOW))
    known = await record(store)
    assert known.tags == ("big",)
    assert [(one.trigger, one.type, one.code) for one in known.actions] == [
        ("error", "email", None),
        ("limit:mem", "tag", 0),
        ("limit:mem", "email", 0),
    ]
    found = await sent_messages.outcome(store, Jobs(store.prefix).message("j1-limit1-email"))
    assert found is not None
    assert found.address == "alice@example.com"


async def test_a_suspension_is_announced_and_stays_open(store: Store) -> None:
    suspend = Action(trigger="start", type="suspend", email="alice@example.com")
    await begin(store, job(suspend, state="start_delay", code=0, completed=0))
    await store.call("RPUSH", Jobs(store.prefix).actions(), actions.item("j1", 0))
    await carry_out(store)
    known = await record(store)
    assert actions.suspension(known) == 0
    assert known.actions[0].message == "j1-0-email"
    assert (await outcome(store)).state == "waiting"


@pytest.mark.parametrize(
    "raw", ["{", '"text"', '{"job":"j1","n":9}', '{"job":"gone","n":0}', "\xff"]
)
async def test_what_is_no_action_is_dropped(store: Store, raw: str) -> None:
    await finish(store, job(MAIL))
    await store.call("LPUSH", Jobs(store.prefix).actions(), raw.encode("latin-1"))
    await carry_out(store)
    assert (await result(store)).code == 0


async def test_a_record_that_others_spoiled_fails_one_action_and_is_given_up(store: Store) -> None:
    keys, clock = Jobs(store.prefix), SetClock(NOW)
    await begin(store, job(Action(trigger="start", type="snapshot"), id="j2", state="active"))
    await store.call("HSET", keys.job("j2"), "jobs", "{")
    await finish(store, job(MAIL))
    runner = await acting.worker(store, clock=clock)
    await acting.drain(store, runner)
    assert (await result(store)).code == 0
    for _ in range(10):
        clock.advance(1_000)
        await runner.return_due()
        await acting.drain(store, runner)
    assert await store.call("EXISTS", keys.actions_later()) == 0
    await store.call("DEL", keys.job("j2"))
