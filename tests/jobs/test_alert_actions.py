"""What alerts of servers set off: mails, web hooks, jobs, aborts; and which jobs they hold back."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.jobs import acting
from tests.jobs.acting import NOW
from tests.jobs.test_actions_under_fire import killed, working
from tests.waiting import eventually
from watchbell.clock import SetClock
from watchbell.errors import Refused
from watchbell.fleet import groups, snapshots
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AlertRecord, Server
from watchbell.fleet.monitoring import alerts, compiled, evaluator, snoozes
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.gateways.keys import Gateways
from watchbell.jobs import definition_removal, definitions, group_actions, sample_evaluator
from watchbell.jobs.alert_closer import AlertCloser
from watchbell.jobs.decide import alert_actions
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, AlertDef
from watchbell.settings import Tables
from watchbell.store.client import Store

MAIL = {"type": "email", "email": "alice@example.com"}
HOOK = {"type": "web_hook", "url": "https://example.com/hook"}
ACTIONS = [
    {"trigger": "alert_new", **MAIL},
    {"trigger": "alert_new", **MAIL},
    {"trigger": "alert_new", "type": "channel", "channel_id": "ops"},
    {"trigger": "alert_new", "type": "run_event", "event_id": "tidy"},
    {"trigger": "alert_cleared", **MAIL},
    {"trigger": "alert_cleared", "type": "disable"},
    {"trigger": "alert_new", "enabled": False, **HOOK},
]
STEPS = ("queue.taken:1", "message.queued:1", "actions.carried_out:1", "actions.recorded:1")


async def prepared(store: Store, **more: object) -> None:
    await acting.known(store)
    await definitions.create(store, "event", {"id": "tidy", "title": "Tidy up"}, acting.WHO, NOW)
    channel = {"id": "ops", "title": "Operations", "url": "https://example.com/ops"}
    await definitions.create(store, "channel", channel, acting.WHO, NOW)
    alert = {
        "id": "busy",
        "title": "Busy",
        "expression": "load[0] > 4",
        "message": "load {{load[0]}}",
        "actions": ACTIONS,
        "notes": "Look at the jobs.",
        **more,
    }
    await definitions.create(store, "alert", alert, acting.WHO, NOW)


async def see(store: Store, load: float, minute: int = 0) -> None:
    known = await definitions.get(store, "alert", "busy")
    assert isinstance(known, AlertDef)
    outlets = sample_evaluator.outlets(store, 1_000)
    reading = Reading("s1", NOW + minute * 60, {"load": [load]})
    await evaluator.evaluate(store, [reading], compiled.definitions([], [known]), outlets)


async def alert(store: Store) -> AlertRecord:
    (found,) = (await alerts.search(store, alerts.Query(alerts=("busy",)))).alerts
    return found


async def results(store: Store) -> list[tuple[str, str, object]]:
    return [(one.trigger, one.type, one.code) for one in alert_actions.done(await alert(store))]


NEW = [("alert_new", "email", 0), ("alert_new", "channel", 0), ("alert_new", "run_event", 0)]


async def test_actions_are_carried_out_when_an_alert_begins_and_ends(store: Store) -> None:
    await prepared(store)
    await see(store, 9)
    await acting.carry_out(store)
    assert await results(store) == NEW
    await see(store, 1, minute=1)
    await acting.carry_out(store)
    over = [("alert_cleared", "email", 0), ("alert_cleared", "disable", 0)]
    assert await results(store) == NEW + over
    known = await definitions.get(store, "alert", "busy")
    assert isinstance(known, AlertDef)
    assert not known.enabled
    box = await store.call("HVALS", Gateways(store.prefix).outbox("email"))
    texts = " ".join(raw.decode() for raw in box)
    assert "Busy on db-1: load 9" in texts
    assert "Cleared: Busy on db-1" in texts
    assert "Look at the jobs." in texts


async def test_groups_and_settings_add_actions(store: Store) -> None:
    await prepared(store, actions=[{"trigger": "alert_new", **MAIL}])
    hook = {"condition": "alert_new", **HOOK}
    fields = await group_actions.checked(store, acting.WHO, {"alert_actions": [hook]})
    await groups.update(store, "main", fields, int(NOW))
    wrong = {"alert_actions": [{"trigger": "error", **MAIL}]}
    with pytest.raises(Refused, match=r"alert_actions\[0\].trigger"):
        await group_actions.checked(store, acting.WHO, wrong)
    server = Server(id="s1", hostname="db-1", groups=("main",))
    chosen = acting.settings()
    tables = {"run": {"trigger": "alert_new", "type": "run_event", "event_id": "tidy"}}
    chosen = replace(chosen, job_defaults=Tables(tables))
    runner = await acting.worker(store, chosen)
    await store.call("HSET", Fleet("").servers(), "s1", msgspec.json.encode(server))
    await see(store, 9)
    await acting.drain(store, runner)
    assert await results(store) == [
        ("alert_new", "email", 0),
        ("alert_new", "web_hook", 0),
        ("alert_new", "run_event", 0),
    ]


async def test_a_snapshot_of_an_alert_names_it(store: Store) -> None:
    await prepared(store, actions=[{"trigger": "alert_new", "type": "snapshot"}])
    await see(store, 9)
    await acting.carry_out(store)
    assert await results(store) == [("alert_new", "snapshot", 0)]
    (head,) = await snapshots.heads(store, 5)
    known = await alert(store)
    assert (head.source, head.cause, head.server) == ("alert", known.id, "s1")
    assert head.alerts == (known.id,)


async def test_jobs_on_the_server_are_listed_and_aborted(store: Store) -> None:
    await prepared(store, abort_jobs=True, actions=[])
    keys = Jobs(store.prefix)
    running = acting.job(id="live", state="active", completed=0.0)
    await acting.begin(store, running)
    await store.call("SADD", keys.server_jobs("s1"), "live")
    await see(store, 9)
    await acting.carry_out(store)
    await store.call("SADD", keys.server_jobs("s1"), "later")
    assert (await alert(store)).jobs == ("live",)
    result = await store.call("HGET", keys.job("live"), "_result")
    assert b"Alert: Busy" in result


async def test_a_snooze_delays_no_abort_of_jobs(store: Store) -> None:
    await prepared(store, abort_jobs=True, actions=[{"trigger": "alert_new", **MAIL}])
    keys = Jobs(store.prefix)
    for job in ("live", "later"):
        await acting.begin(store, acting.job(id=job, state="active", completed=0.0))
    await store.call("SADD", keys.server_jobs("s1"), "live")
    await snoozes.begin(store, "busy", 90, "alice", NOW)
    await see(store, 9)
    await acting.carry_out(store)
    assert await results(store) == []
    assert b"Alert: Busy" in await store.call("HGET", keys.job("live"), "_result")
    await store.call("SADD", keys.server_jobs("s1"), "later")
    await see(store, 9, minute=1)
    await see(store, 9, minute=2)
    await acting.carry_out(store)
    assert await results(store) == [("alert_new", "email", 0)]
    assert await store.call("HGET", keys.job("later"), "_result") is None
    assert (await alert(store)).jobs == ("live",)


@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_at_any_step_loses_and_repeats_nothing(store: Store, step: str) -> None:
    await prepared(store)
    await see(store, 9)
    killed(store, step)

    async def is_done() -> bool:
        return len(await results(store)) == len(NEW)

    with working(store):
        await eventually(is_done)
    assert await results(store) == NEW
    boxes = Gateways(store.prefix)
    assert await store.call("HLEN", boxes.outbox("email")) == 1
    assert await store.call("HLEN", boxes.outbox("webhook")) == 1
    assert await store.call("LLEN", Jobs(store.prefix).ready()) == 1


async def test_a_server_with_a_limiting_alert_gets_no_jobs(store: Store) -> None:
    await prepared(store, limit_jobs=True, actions=[])
    view = FleetView(store, down_after=15)
    await view.load()
    found = []
    for minute, load in enumerate((1, 9, 1)):
        await see(store, load, minute)
        await view.look()
        found.append(view.state.servers["s1"].alerts)
    assert found == [(), ("Busy",), ()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"enabled": False}, "the definition was disabled"),
        ({"groups": ["other"]}, "the server left the groups of the definition"),
        (None, "the definition was deleted"),
        ("server", "the server was removed"),
    ],
)
async def test_an_alert_that_no_sample_can_clear_is_ended(
    store: Store, change: object, reason: str
) -> None:
    await prepared(store, actions=[])
    await see(store, 9)
    if change is None:
        await definition_removal.remove(store, "alert", "busy", acting.WHO, NOW)
    elif isinstance(change, dict):
        await definitions.update(store, "alert", "busy", change, acting.WHO, NOW)
    catalogue = await acting.known(store)
    if change == "server":
        await store.call("HDEL", Fleet(store.prefix).servers(), "s1")
    closer = AlertCloser(store, catalogue, SetClock(NOW + 60), 1_000)
    assert await closer.close() == 1
    assert await closer.close() == 0
    assert (await alert(store)).clear_reason == reason
    assert await alerts.active(store) == []


async def test_what_other_programs_spoiled_ends_no_alert(store: Store) -> None:
    await prepared(store, actions=[])
    await see(store, 9)
    await store.call("HSET", Jobs(store.prefix).alert_defs(), "busy", "garbage")
    catalogue = await acting.known(store)
    closer = AlertCloser(store, catalogue, SetClock(NOW + 60), 1_000)
    assert await closer.close() == 0
    await store.call("HSET", Fleet(store.prefix).servers(), "s1", "garbage")
    assert await closer.close() == 0


def test_results_are_recorded_once() -> None:
    mail = Action(trigger="alert_new", type="email", email="a@example.com", code=0, date=1.0)
    again = replace(mail, date=2.0)
    assert alert_actions.recorded([mail], [again]) == (mail,)


def test_groups_add_actions_unless_those_of_the_definition_are_exclusive() -> None:
    mail = Action(trigger="alert_new", type="email", email="a@example.com")
    hook = Action(trigger="alert_new", type="web_hook", url="https://example.com")
    record = AlertRecord(id="a1", alert="busy", server="s1")
    for is_exclusive, expected in ((False, [mail, hook]), (True, [mail])):
        one = AlertDef(id="busy", title="", actions=(mail,), exclusive_actions=is_exclusive)
        found = alert_actions.due(record, one, [mail, hook], "alert_new")
        assert [each.action for each in found] == expected
