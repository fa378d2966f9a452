"""Running events on demand."""

from typing import Any

import msgspec
import pytest

from tests.jobs.defined import GENERAL, SHELL, Defined, defined, event
from tests.jobs.timed import KEYS
from watchbell import actors
from watchbell.actors import Actor, Grant
from watchbell.errors import NotFound, Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.jobs import definitions, job_records, run_event, stock
from watchbell.jobs.model import Action, Job, JobFile, Limit, Parameter, Timing
from watchbell.store.client import Store

NOW = 1_700_000_000.0
ALICE = actors.signed_in("alice", "operator")
ADMIN = actors.signed_in("admin", "administrator")
_RUNS = {"trigger": "success", "type": "run_event", "event_id": "tidy"}


def limited(*groups: str, categories: tuple[str, ...] = ()) -> Actor:
    grant = Grant(
        privileges=frozenset({"run_jobs"}),
        groups=frozenset(groups),
        categories=frozenset(categories),
    )
    return actors.signed_in("bob", "viewer", grants=[grant])


async def run(store: Store, known: Defined, actor: Actor = ALICE, /, **request: Any) -> Job:
    request = {"id": "backup"} | request
    return await run_event.run(store, known, actor, request, NOW, timezone="UTC")


async def test_a_person_runs_an_event(store: Store) -> None:
    job = await run(store, defined(event(params={"a": 1, "b": 1})), params={"b": 2})
    assert (job.source, job.username, job.params) == ("user", "alice", {"a": 1, "b": 2})
    assert await job_records.read(store, job.id) == job
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [job.id.encode()]


async def test_a_key_runs_an_event(store: Store) -> None:
    key = actors.with_key(ALICE, "k1", ALICE.grants)
    job = await run(store, defined(event()), key)
    assert (job.source, job.username, job.key) == ("key", "alice", "k1")


async def test_properties_of_the_event_can_be_overridden(store: Store) -> None:
    job = await run(
        store,
        defined(event()),
        tags=["a", "b"],
        targets=["web"],
        algo="least_mem",
        data={"n": [1]},
        priority=3,
        delay=60,
    )
    assert (job.tags, job.targets, job.algo, job.priority) == (("a", "b"), ("web",), "least_mem", 3)
    assert (job.input, job.state, job.until) == ({"data": {"n": [1]}}, "start_delay", NOW + 60)


async def test_limits_and_actions_can_be_replaced_for_one_job(store: Store) -> None:
    known = defined(
        event(
            limits=(Limit(type="time", duration=60), Limit(type="retry", amount=3)),
            actions=(Action(trigger="error", type="email", email="alice@example.com"),),
            notes="old",
        ),
        categories={
            "general": msgspec.structs.replace(
                GENERAL, limits=(Limit(type="log", amount=9), Limit(type="time", duration=5))
            )
        },
    )
    job = await run(
        store,
        known,
        limits=[{"type": "time", "duration": 600}],
        actions=[{"condition": "success", "type": "web_hook", "web_hook": "http://example.com/"}],
        notes="new",
        icon="star",
    )
    assert [(one.type, one.duration, one.source) for one in job.limits] == [
        ("time", 600, ""),
        ("log", None, "category"),
    ]
    assert job.actions == (Action(trigger="success", type="web_hook", url="http://example.com/"),)
    assert (job.notes, job.icon) == ("new", "star")
    assert (await run(store, known, limits=[], actions=[])).actions == ()


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"limits": [{"type": "time", "duration": -1}]}, "limits[0].duration"),
        ({"limits": {}}, "limits"),
        ({"limits": [{"type": "queue", "amount": 1}]}, "limits"),
        ({"actions": [{"trigger": "success", "type": "email"}]}, "actions[0].email"),
        ({"actions": [{"trigger": "success", "type": "tag", "tag": "a"}]}, "actions[0].tag"),
        ({"actions": [_RUNS]}, "actions[0].event_id"),
        (
            {"actions": [{"trigger": "error", "type": "channel", "channel_id": "ops"}]},
            "actions[0].channel_id",
        ),
        ({"notes": 5}, "notes"),
        ({"plugin": "httpplug"}, "plugin"),
    ],
)
async def test_a_property_that_an_event_could_not_have_is_refused(
    store: Store, request_: dict[str, Any], field: str
) -> None:
    with pytest.raises(Refused) as raised:
        await run(store, defined(event()), **request_)
    assert raised.value.field == field
    assert await store.call("DBSIZE") == 0


async def test_an_event_can_be_sent_back_as_it_was_read(store: Store) -> None:
    tidy = {"trigger": "success", "type": "run_event", "event_id": "deleted"}
    one = event("backup", Timing(type="startup"), actions=(msgspec.convert(tidy, Action),))
    job = await run(store, defined(one), **msgspec.to_builtins(one), plugin="shellplug")
    assert job.actions == one.actions


async def test_an_action_is_added_only_by_who_may_run_its_event(store: Store) -> None:
    values = {"id": "tidy", "title": "Tidy", "category": "secret", "plugin": "shellplug"}
    await stock.ensure(store, 1_000)
    await definitions.create(store, "event", values, ADMIN, NOW)
    bob = limited(categories=("general",))
    with pytest.raises(Refused, match="category secret") as raised:
        await run(store, defined(event()), bob, actions=[_RUNS])
    assert raised.value.code == "forbidden"
    assert (await run(store, defined(event()), actions=[_RUNS])).actions[0].event_id == "tidy"
    own = {**_RUNS, "event_id": "backup"}
    assert (await run(store, defined(event()), bob, actions=[own])).actions[0].event_id == "backup"
    kept = defined(event(actions=(msgspec.convert(_RUNS, Action),)))
    assert (await run(store, kept, bob, actions=[_RUNS])).actions == kept.events["backup"].actions


@pytest.mark.parametrize(
    ("type_", "privilege"), [("disable", "edit_events"), ("delete", "delete_events")]
)
async def test_an_action_that_changes_the_event_is_added_only_by_who_may_do_that(
    store: Store, type_: str, privilege: str
) -> None:
    given = [{"trigger": "success", "type": type_}]
    with pytest.raises(Refused, match=f"needs the privilege {privilege}") as raised:
        await run(store, defined(event()), actions=given)
    assert raised.value.code == "forbidden"
    assert (await run(store, defined(event()), ADMIN, actions=given)).actions[0].type == type_


async def test_a_test_meets_the_conditions_of_other_jobs_if_asked(store: Store) -> None:
    limits = (Limit(type="time", duration=60),)
    off = defined(event("backup", Timing(type="manual", enabled=False), limits=limits))
    assert (await run(store, off, test=True)).limits == ()
    assert len((await run(store, off, test=True, test_limits=True)).limits) == 1
    with pytest.raises(Refused, match="manual timing"):
        await run(store, off, test=True, test_conditions=True)
    with pytest.raises(Refused, match="the event is disabled"):
        await run(store, defined(event(enabled=False)), test=True, test_conditions=True)


async def test_files_of_the_caller_are_the_input(store: Store) -> None:
    file = JobFile(id="f1", filename="a", path="jobs/f1/a", size=1, job="", server="")
    job = await run_event.run(
        store, defined(event()), ALICE, {"id": "backup"}, NOW, timezone="UTC", files=[file]
    )
    assert job.input == {"files": (file,)}


async def test_what_is_run_can_not_be_overridden(store: Store) -> None:
    job = await run(store, defined(event()), command="/bin/evil", uid="root", env={"A": "evil"})
    assert (job.command, job.uid, job.env) == (SHELL.command, SHELL.uid, SHELL.env)


async def test_an_event_is_found_by_its_title(store: Store) -> None:
    known = defined(event("one"), event("two"))
    job = await run_event.run(store, known, ALICE, {"title": "Two"}, NOW, timezone="UTC")
    assert job.event == "two"
    known.events["other"] = msgspec.structs.replace(event("other"), title="Two")
    with pytest.raises(Refused, match="2 events have the title"):
        await run_event.run(store, known, ALICE, {"title": "Two"}, NOW, timezone="UTC")


@pytest.mark.parametrize(
    ("request_", "raised", "reason"),
    [
        ({"id": "unknown"}, NotFound, "no event 'unknown'"),
        ({"title": "Unknown"}, NotFound, "no event with the title"),
        ({}, Refused, "id: expected the id or the title"),
        ({"id": "backup", "parms": {"a": 1}}, Refused, "parms: there is no such property"),
        ({"id": "backup", "params": [1]}, Refused, "params"),
        ({"id": "backup", "algo": "fastest"}, Refused, "algo"),
        ({"id": "backup", "priority": 10}, Refused, "priority"),
        ({"id": "backup", "delay": -1}, Refused, "delay"),
        ({"id": "backup", "targets": []}, Refused, "targets: expected at least one"),
        ({"id": ["backup"]}, Refused, "id"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused_by_its_field(
    store: Store, request_: dict[str, Any], raised: type[Exception], reason: str
) -> None:
    with pytest.raises(raised, match=reason):
        await run_event.run(store, defined(event()), ALICE, request_, NOW, timezone="UTC")
    assert await store.call("DBSIZE") == 0


@pytest.mark.parametrize(
    ("actor", "request_", "reason"),
    [
        (actors.signed_in("bob", "viewer"), {}, "privilege run_jobs"),
        (limited(categories=("other",)), {}, "category general"),
        (limited("web"), {}, "no access to its server groups"),
        (limited("main"), {"targets": ["main", "db"]}, "no access to its server groups"),
    ],
)
async def test_whoever_may_not_run_an_event_is_refused(
    store: Store, actor: Actor, request_: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Refused, match=reason) as raised:
        await run(store, defined(event()), actor, **request_)
    assert raised.value.code == "forbidden"
    assert await store.call("DBSIZE") == 0


async def test_people_run_events_in_their_category_on_their_servers(store: Store) -> None:
    bob = limited("main", categories=("general",))
    assert (await run(store, defined(event(targets=("main", "db"))), bob)).targets == ("main", "db")


async def test_people_run_events_on_a_server_of_their_group_by_its_id(store: Store) -> None:
    one = Server(id="s1", hostname="db-1", groups=("db",))
    await store.call("HSET", Fleet(store.prefix).servers(), "s1", msgspec.json.encode(one))
    known = defined(event(targets=("s1",)))
    assert (await run(store, known, limited("db"))).targets == ("s1",)
    assert (await run(store, defined(event()), limited("db"), targets=["s1"])).targets == ("s1",)
    for request in ({}, {"targets": ["s1"]}):
        with pytest.raises(Refused, match="no access to its server groups"):
            await run(store, known, limited("web"), **request)
    ended = Job(id="j1", event="backup", state="complete", targets=("s1",))
    again = await run_event.rerun(store, known, limited("db"), ended, NOW, timezone="UTC")
    assert again.targets == ("s1",)
    with pytest.raises(Refused, match="no access"):
        await run_event.rerun(store, known, limited("web"), ended, NOW, timezone="UTC")


async def test_an_event_whose_manual_timing_is_disabled_is_run_as_a_test_only(store: Store) -> None:
    known = defined(event("backup", Timing(type="manual", enabled=False)))
    with pytest.raises(Refused, match="may not be run on demand"):
        await run(store, known)
    assert (await run(store, known, test=True)).test


async def test_a_disabled_event_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match="the event is disabled"):
        await run(store, defined(event(enabled=False)))
    off = msgspec.structs.replace(GENERAL, enabled=False)
    with pytest.raises(Refused, match="category"):
        await run(store, defined(event(), categories={"general": off}))


async def test_locked_parameters_belong_to_administrators(store: Store) -> None:
    locked = Parameter(id="host", type="text", value="a", locked=True)
    plugin = msgspec.structs.replace(SHELL, params=(locked,))
    known = defined(event(params={"host": "stored"}), plugins={"shellplug": plugin})
    assert (await run(store, known, params={"host": "mine"})).params == {"host": "stored"}
    assert (await run(store, known, ADMIN, params={"host": "mine"})).params == {"host": "mine"}


async def test_limits_by_day_do_not_bind_people(store: Store) -> None:
    known = defined(event(limits=(Limit(type="day", amount=1),)))
    assert len({(await run(store, known)).id for _ in range(3)}) == 3


async def test_running_a_continuous_event_makes_it_go_on_from_there(store: Store) -> None:
    job = await run(store, defined(event("backup", Timing(type="continuous"))))
    assert await store.call("HGET", KEYS.continuous(), "backup") == job.id.encode()


async def test_a_job_is_run_again_with_what_it_ran_with(store: Store) -> None:
    known = defined(event(params={"a": 1}, tags=("t",)))
    first = await run(store, known, params={"a": 2}, targets=["web"], data={"n": 1}, tags=["x"])
    ended = msgspec.structs.replace(first, tags=("x", "_error"), code=3, state="complete")
    known.events["backup"] = event(params={"a": 9}, notes="new", tags=("t",))
    again = await run_event.rerun(store, known, ADMIN, ended, NOW + 60, timezone="UTC")
    assert (again.params, again.targets, again.tags) == ({"a": 2}, ("web",), ("x",))
    assert (again.input, again.notes, again.username) == ({"data": {"n": 1}}, "new", "admin")
    assert (again.code, again.state, again.launched) == (0, "ready", NOW + 60)
    assert again.id != first.id


async def test_a_job_is_run_again_with_its_files_within_the_limit_of_now(store: Store) -> None:
    files = [
        JobFile(id=name, filename=name, path=f"jobs/{name}", size=1, job="", server="")
        for name in ("a", "b")
    ]
    known = defined(event())
    first = await run_event.run(
        store, known, ALICE, {"id": "backup"}, NOW, timezone="UTC", files=files
    )
    stored = await job_records.read(store, first.id)
    assert stored
    known.events["backup"] = event(limits=(Limit(type="file", amount=1),))
    again = await run_event.rerun(store, known, ALICE, stored, NOW, timezone="UTC")
    assert again.input == {"files": (files[0],)}
    assert [line.msg for line in again.activity] == [
        "The file 'b' was left out: the limit is 1 file."
    ]


async def test_a_job_whose_event_is_gone_or_not_ours_is_not_run_again(store: Store) -> None:
    job = Job(id="j1", event="backup", state="complete", targets=("main",))
    with pytest.raises(NotFound, match="was deleted"):
        await run_event.rerun(store, defined(), ADMIN, job, NOW, timezone="UTC")
    with pytest.raises(Refused, match="no access"):
        await run_event.rerun(store, defined(event()), limited("web"), job, NOW, timezone="UTC")
