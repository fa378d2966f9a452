"""One instance at work: real processes, their output and results, and obedience to commands."""

import json
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cron.crew import (
    EVERY_SECOND,
    NEVER,
    READING,
    definition,
    ended,
    now,
    omitted,
    put,
    running,
    say,
    serving,
    until,
)
from tests.faults.invariants import check, marked, none_alive, run_once
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.cron import history, jobs
from watchbell.cron.history import RunRecord
from watchbell.cron.instances import instances
from watchbell.cron.keys import Cron, CronOwn, CronUpstream
from watchbell.cron.model import lock_of
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()


async def events(store: Store) -> list[dict[str, Any]]:
    """What was told to alerting, the oldest first."""
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [json.loads(one) for one in found[::-1]]


async def output(store: Store, run: str) -> bytes:
    return b"".join([line.text async for page in history.follow(store, run) for line in page])


async def test_a_job_is_run_at_its_second_on_every_kind_of_store(
    anywhere: Store, folder: Path
) -> None:
    await put(anywhere, "tick", definition("echo $WB_JOB $WB_FIRE $WB_RUN", EVERY_SECOND))
    async with serving(anywhere, folder):
        runs = await ended(anywhere, "tick", 2)
    for seen in runs[:2]:
        fire = seen.detail.fire
        assert seen.record.status == "success"
        assert seen.record.retcode == 0
        assert seen.record.output == f"tick {fire} {seen.id}\n"
        assert seen.record.start_time >= fire
        assert (seen.record.duration or -1) >= 0
    first, second = [seen.detail.fire for seen in runs[:2]]
    between = [fire for fire in await omitted(anywhere, "tick") if first < fire < second]
    check(run_once(range(first, second + 1), [first, *between, second]))
    keys = Cron(anywhere.prefix)
    assert await anywhere.call("EXISTS", keys.active(), keys.lock(lock_of("tick"))) == 0


async def test_nothing_runs_before_its_second_though_it_is_claimed_ahead(
    store: Store, folder: Path
) -> None:
    await put(store, "locked", definition("echo $EPOCHREALTIME", EVERY_SECOND))
    await put(store, "free", definition("echo $EPOCHREALTIME", EVERY_SECOND, lock=False))

    async def some_in_time() -> list[RunRecord]:
        """Several of each, and one that the machine had the time to begin at its very instant."""
        found = [await history.ended(store, job, most=1_000) for job in ("locked", "free")]
        runs = [seen for some in found for seen in some]
        in_time = [seen for seen in runs if seen.record.start_time == seen.detail.fire]
        return runs if in_time and min(map(len, found)) >= 4 else []

    async with serving(store, folder):
        runs = await eventually(some_in_time, why="a run that was begun in time")
    for seen in runs:
        assert float(seen.record.output or 0) >= seen.detail.fire


async def test_how_a_command_ends_is_how_its_run_ends(store: Store, folder: Path) -> None:
    commands = {
        "fine": "true",
        "three": "echo out; echo err >&2; exit 3",
        "killed": "kill -9 $$",
        "missing": "/no/such/program",
        "silent": "exit 1",
    }
    for name, cmd in commands.items():
        await put(store, name, definition(cmd))
    await put(store, "nobody", definition("true", user="no-such-user"))
    await put(store, "quiet", definition("false", alert=False))
    async with serving(store, folder):
        found = {}
        for name in (*commands, "nobody", "quiet"):
            await jobs.trigger(store, name)
            [found[name]] = await ended(store, name)
    codes = {name: (seen.record.status, seen.record.retcode) for name, seen in found.items()}
    assert codes == {
        "fine": ("success", 0),
        "three": ("fail", 3),
        "killed": ("fail", -9),
        "missing": ("fail", 127),
        "silent": ("fail", 1),
        "nobody": ("fail", None),
        "quiet": ("fail", 1),
    }
    assert found["three"].record.output == "out\nerr\n"
    assert "no-such-user" in found["nobody"].detail.reason
    told = {event["check"]: event for event in await events(store)}
    assert "quiet" not in told
    assert {event["entity"] for event in told.values()} == {"cron"}
    assert told["fine"]["state"] == "ok"
    assert told["three"]["state"] == "critical"
    assert told["three"]["summary"].startswith("exit code 3, after ")
    assert told["three"]["details"] == "out\nerr"
    assert "no-such-user" in told["nobody"]["summary"]


@pytest.mark.parametrize("upstream", [False, True])
async def test_output_is_complete_whatever_its_bytes(
    store: Store, folder: Path, upstream: bool
) -> None:
    await put(store, "many", definition("seq 1 20000"))
    await put(store, "bytes", definition(r"printf 'a\0b\377\n10%%\r20%%\r\nend'"))
    async with serving(store, folder, upstream_data=upstream):
        await jobs.trigger(store, "many")
        await jobs.trigger(store, "bytes")
        [many], [raw] = await ended(store, "many"), await ended(store, "bytes")
    assert await output(store, many.id) == b"".join(b"%d\n" % n for n in range(1, 20_001))
    assert many.record.output == "".join(f"{n}\n" for n in range(19_991, 20_001))
    assert await output(store, raw.id) == b"a\0b\xff\n10%\r20%\r\nend"
    kind = await store.call("TYPE", KEYS.output(many.id))
    assert kind == (b"list" if upstream else b"zset")


@pytest.mark.parametrize("upstream", [False, True])
async def test_beyond_its_limit_the_newest_output_is_kept(
    store: Store, folder: Path, upstream: bool
) -> None:
    await put(store, "flood", definition("seq 1000000000 1000200000; echo end"))
    async with serving(store, folder, output_limit=1, upstream_data=upstream):
        await jobs.trigger(store, "flood")
        [seen] = await ended(store, "flood")
    text = await output(store, seen.id)
    assert text.startswith(b"1000000000\n1000000001\n")
    assert text.endswith(b"\n1000200000\nend\n")
    assert text.count(b"[the output is complete up to here") == 1
    assert 1 << 20 < len(text) < 2 << 20
    assert seen.detail.output_bytes == 200_001 * 11 + 4


async def test_a_million_short_lines_do_not_fill_the_store(store: Store, folder: Path) -> None:
    await put(store, "yes", definition("yes | head -n 1000000; echo end"))
    async with serving(store, folder, output_limit=1):
        await jobs.trigger(store, "yes")
        [seen] = await ended(store, "yes")
    assert 104_857 <= await store.call("ZCARD", KEYS.output(seen.id)) < 300_000
    lines = await history.output(store, seen.id).lines(most=100)
    assert [line.text for line in lines] == [b"y\n"] * 100
    assert seen.record.output == "y\n" * 9 + "end\n"
    assert seen.detail.output_bytes == 2_000_004


async def test_output_can_be_followed_while_the_run_goes_on(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(store, "slow", definition(f"echo first; {until(gate)}; echo last"))
    async with serving(store, folder):
        await jobs.trigger(store, "slow")
        [seen] = await running(store, "slow")
        texts = []
        async for page in history.follow(store, seen.id):
            texts += [line.text for line in page]
            gate.touch()
    assert texts == [b"first\n", b"last\n"]


async def started(run: str) -> None:
    await eventually(lambda: run in marked("WB_RUN").values(), why=f"a process of {run}")


async def test_runs_are_ended_with_all_their_processes_on_request(
    store: Store, folder: Path
) -> None:
    there = f"touch {folder}/$WB_JOB"
    stubborn = f"trap '' TERM; {there}; sleep 60 & sleep 60 & wait; sleep 60"
    await put(store, "polite", definition(f"echo a; {there}; sleep 60; echo b", kill_after=60))
    await put(store, "stubborn", definition(stubborn, kill_after=0.2))
    await put(store, "killed", definition(f"setsid sleep 60 & {there}; sleep 60"))
    async with serving(store, folder):
        for name, action in (
            ("polite", "terminate"),
            ("stubborn", "terminate"),
            ("killed", "kill"),
        ):
            await jobs.trigger(store, name)
            [seen] = await running(store, name)
            await eventually((folder / name).exists)
            await say(store, f"{action}_run", seen.id)
        runs = [*await ended(store, "polite"), *await ended(store, "stubborn")]
        runs += await ended(store, "killed")
        check(none_alive([seen.id for seen in runs], marked("WB_RUN")))
    codes = [(seen.record.status, seen.record.retcode) for seen in runs]
    assert codes == [("fail", -15), ("fail", -9), ("fail", -9)]
    assert runs[0].record.output == "a\n"
    assert runs[0].detail.reason == "it was terminated on request"


async def test_a_time_limit_ends_a_run_and_says_so(store: Store, folder: Path) -> None:
    await put(store, "long", definition("sleep 60", time_limit=0.2))
    async with serving(store, folder):
        await jobs.trigger(store, "long")
        [seen] = await ended(store, "long")
    assert seen.record.status == "fail"
    assert "time limit" in seen.detail.reason
    assert (seen.record.duration or 0) >= 0.2
    assert (await events(store))[0]["summary"].startswith("it ran into its time limit, after ")


async def test_conduct_reaches_the_process(store: Store, folder: Path) -> None:
    options: dict[str, Any] = {"environment": {"GREETING": "hi"}, "folder": "/usr", "nice": 7}
    await put(store, "odd", definition("echo $GREETING; pwd; nice", **options))
    async with serving(store, folder, job_shell="/bin/sh"):
        await jobs.trigger(store, "odd")
        [seen] = await ended(store, "odd")
    assert seen.record.output == "hi\n/usr\n7\n"


async def test_bad_jobs_get_their_errors_and_all_others_run(store: Store, folder: Path) -> None:
    await put(store, "schedule", definition("true", {"cronstring": "* * * * * *"}))
    await put(store, "reboot", definition("true", {"cronstring": "@reboot"}))
    await put(store, "types", {"cron_args": 5, "job_args": [], "job_state": None})
    await put(store, "empty", definition("", EVERY_SECOND))
    await put(store, "healed", definition("true") | {"job_state": {"validation_errors": "x"}})
    await store.call("HSET", KEYS.jobs(), "json", "{", b"\xff\xfe", "{}", "number", "5")
    await put(store, "good", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        await ended(store, "good", 2)
        found = await store.call("HGETALL", KEYS.jobs())
        wrong = {
            name: json.loads(found[name.encode()])["job_state"]["validation_errors"]
            for name in ("schedule", "reboot", "types", "empty")
        }
        assert "expected five fields" in wrong["schedule"]
        assert "@reboot" in wrong["reboot"]
        assert "cron_args: expected an object" in wrong["types"]
        assert "job_args.cmd" in wrong["empty"]
        assert "job_state" not in json.loads(found[b"healed"])
        assert found[b"json"] == b"{"
        await put(store, "empty", definition("echo now", NEVER))
        await say(store, "reload", {})
        await eventually(lambda: heard(store, "empty"))
        seen, *_ = await ended(store, "empty")
    assert seen.record.output == "now\n"


async def heard(store: Store, job: str) -> bool:
    """Triggers the job; whether that had an effect."""
    await say(store, "trigger", job)
    return bool(await history.active(store)) or bool(await history.ended(store, job))


async def test_nonsense_on_the_channel_is_ignored_and_the_next_command_works(
    store: Store, folder: Path
) -> None:
    await put(store, "job", definition("true"))
    nonsense = [
        *(b"", b"\xff\xfe", b"5", b"null", b"[]", b"{}", b"[" * 100_000, b'{"action":"reload"'),
        *(b'{"action":"explode","args":1}', b'{"action":"trigger","args":["job"]}'),
        *(b'{"action":"trigger","args":"nobody"}', b'{"action":"pause","args":null}'),
        *(b'{"action":"kill_run","args":"nobody"}', b'{"action":"add","args":{"job_name":"x"}}'),
        b'{"action":"add","args":{"job_name":"x","job_def":{"cron_args":5}}}',
        b'{"action":"trigger","args":"\\ud800"}',
    ]
    async with serving(store, folder) as task:
        for raw in nonsense:
            await store.call("PUBLISH", KEYS.commands(), raw)
        await say(store, "trigger", "job")
        [seen] = await ended(store, "job")
        assert not task.done()
    assert seen.record.status == "success"


async def test_a_job_can_be_added_and_removed_by_announcement_alone(
    store: Store, folder: Path
) -> None:
    async with serving(store, folder):
        job = definition("echo said", EVERY_SECOND)
        await say(store, "add", {"job_name": "said", "job_def": job})
        await ended(store, "said", 1)
        await say(store, "remove", "said")
        await put(store, "other", definition("true"))
        await say(store, "reload", {})
        await jobs.trigger(store, "other")
        await ended(store, "other")
        before = len(await history.ended(store, "said"))
        await second_passes(store)
        assert len(await history.ended(store, "said")) <= before + 1
        assert await store.call("HEXISTS", KEYS.jobs(), "said") == 0


async def second_passes(store: Store, count: int = 2) -> None:
    begun = await now(store)

    async def passed() -> bool:
        return await now(store) >= begun + count

    await eventually(passed)


async def test_a_paused_job_is_not_run_and_misses_nothing_by_it(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        await ended(store, "tick", 1)
        await say(store, "pause", "tick")

        async def is_kept() -> bool:
            raw = json.loads(await store.call("HGET", KEYS.jobs(), "tick"))
            return bool(raw.get("job_state", {}).get("paused"))

        await eventually(is_kept)
        assert await store.call("SISMEMBER", KEYS.paused(), "tick") == 1
        await eventually(lambda: idle(store))
        before, begun = len(await history.ended(store, "tick")), await now(store)
        await second_passes(store, 3)
        assert len(await history.ended(store, "tick")) == before
        resumed = await now(store)
        await say(store, "resume", "all")
        await ended(store, "tick", before + 2)
    assert not {*range(begun + 1, resumed)} & {*await omitted(store, "tick")}
    assert await store.call("EXISTS", KEYS.paused()) == 0


async def idle(store: Store) -> bool:
    return not await history.active(store)


async def test_a_pause_outlives_the_instance(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND))
    await put(store, "tock", definition("true", EVERY_SECOND))
    await jobs.pause(store, "tick", READING)
    async with serving(store, folder):
        await ended(store, "tock", 2)
    assert await history.ended(store, "tick") == []


async def test_a_locked_job_does_not_overlap_itself_and_each_skip_is_recorded(
    store: Store, folder: Path
) -> None:
    await put(store, "long", definition("sleep 1.5", EVERY_SECOND))
    async with serving(store, folder):
        runs = await ended(store, "long", 2)
        skipped = await history.omissions(store, "long")
    fires = sorted([seen.detail.fire for seen in runs] + [one.first for one in skipped])
    assert fires[:3] == list(range(fires[0], fires[0] + 3))
    assert {one.reason for one in skipped} == {"skipped: the lock is held, a run goes on"}
    ends = [seen.record.start_time + (seen.record.duration or 0) for seen in runs]
    assert runs[1].record.start_time >= ends[0]


async def test_a_queued_fire_runs_when_the_one_before_has_ended(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(store, "queue", definition(until(gate), overlap="queue"))
    await put(store, "allow", definition(until(gate), overlap="allow"))
    async with serving(store, folder):
        for name in ("queue", "allow"):
            for _ in range(3):
                await jobs.trigger(store, name)
        await running(store, "allow", 3)
        [left] = await eventually(lambda: history.omissions(store))
        assert len(await running(store, "queue")) == 1
        gate.touch()
        await ended(store, "allow", 3)
        first, second = await ended(store, "queue", 2)
        await eventually(lambda: idle(store))
    assert left.job == "queue"
    assert second.record.start_time >= first.record.start_time + (first.record.duration or 0)
    assert len(await history.ended(store, "queue")) == 2


async def test_what_all_instances_hear_is_done_once(store: Store, folder: Path) -> None:
    await put(store, "once", definition("true", overlap="allow"))
    await put(store, "everywhere", definition("true", lock=False))
    async with serving(store, folder), serving(store, folder), serving(store, folder):
        for n in range(10):
            await jobs.trigger(store, "once")
            if n % 2:
                await ended(store, "once", n + 1)
        await ended(store, "once", 10)
        await jobs.trigger(store, "everywhere")
        runs = await ended(store, "everywhere", 3)
        assert len({seen.detail.instance for seen in runs}) == 3
        await eventually(lambda: idle(store))
    assert len(await history.ended(store, "once")) == 10
    assert await history.omissions(store) == []


def with_process(jobs: Collection[str]) -> set[str]:
    return set(jobs) & set(marked("WB_JOB").values())


async def test_no_more_runs_at_once_than_there_are_places(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    names = [f"{folder.name}-{n}" for n in range(9)]  # which no other test on this machine has
    for name in names:
        await put(store, name, definition(until(gate)))
    async with serving(store, folder, capacity=3):
        for name in names:
            await jobs.trigger(store, name)
        await eventually(lambda: len(with_process(names)) == 3, why="all places to be taken")
        gate.touch()
        while len(await history.ended(store)) < 9:
            assert len(with_process(names)) <= 3
    assert await history.omissions(store) == []


async def test_an_instance_tells_what_it_is_and_leaves(store: Store, folder: Path) -> None:
    async with serving(store, folder, capacity=7):
        [beat] = await instances(store)
        assert (beat.pid, beat.capacity, beat.is_drained) == (os.getpid(), 7, False)
        assert beat.since <= beat.seen
        [member] = await store.call("ZRANGE", CronUpstream().instances(), 0, -1)
        assert json.loads(member) == {"host": beat.host, "ip": beat.ip}
        await jobs.drain(store, [beat.host])
        await eventually(lambda: is_drained(store))
        await put(store, "tick", definition("true", EVERY_SECOND))
        await jobs.reload(store)
        await ended(store, "tick", 1)
    assert await instances(store) == []


async def is_drained(store: Store, *, wanted: bool = True) -> bool:
    return (await instances(store))[0].is_drained is wanted


async def test_a_list_of_paused_jobs_that_is_none_stops_nobody(store: Store, folder: Path) -> None:
    await store.call("SET", Cron().paused(), "what is this")
    await put(store, "tick", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        await ended(store, "tick", 1)
        await jobs.reload(store)
        await ended(store, "tick", 2)
    await store.call("DEL", Cron().paused())


async def test_who_is_drained_is_seen_at_once_and_runs_no_trigger(
    store: Store, folder: Path
) -> None:
    await put(store, "job", definition("true"))
    async with serving(store, folder, heartbeat=3600):
        [beat] = await instances(store)
        with pytest.raises(NotFound, match="no instance of cron runs on 'nowhere'"):
            await jobs.drain(store, [beat.host, "nowhere"])
        await jobs.drain(store, [beat.host])
        await eventually(lambda: is_drained(store))
        with pytest.raises(Refused, match="every instance of cron is drained"):
            await jobs.trigger(store, "job")
        with pytest.raises(Refused, match="every instance of cron is drained"):
            await jobs.trigger_some(store, ["job"])
        await jobs.reload(store)
        await eventually(lambda: is_drained(store, wanted=False))
        await jobs.trigger(store, "job")
        await ended(store, "job", 1)


async def test_a_drained_instance_begins_nothing(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        host = (await instances(store))[0].host
        await say(store, "drain_nodes", [f"x{host}x"])  # another
        await ended(store, "tick", 1)
        await say(store, "drain_nodes", [host])
        await eventually(lambda: is_drained(store))
        await eventually(lambda: idle(store))
        before = len(await history.ended(store))
        await say(store, "trigger", "tick")
        await second_passes(store, 2)
        assert len(await history.ended(store)) == before


async def test_a_stopped_instance_waits_for_its_runs(store: Store, folder: Path) -> None:
    await put(store, "short", definition("sleep 0.5; echo done"))
    async with serving(store, folder, stop_wait=600):
        await jobs.trigger(store, "short")
        await running(store, "short")
    [seen] = await history.ended(store, "short")
    assert (seen.record.status, seen.record.output) == ("success", "done\n")
    assert await idle(store)


async def test_a_stopped_instance_ends_its_runs_where_that_is_set(
    store: Store, folder: Path
) -> None:
    deaf = folder / "deaf"
    await put(store, "long", definition(f"trap '' TERM; touch {deaf}; sleep 60; sleep 60"))
    async with serving(store, folder, stop_wait=0, kill_after=0):
        await jobs.trigger(store, "long")
        [seen] = await running(store, "long")
        await eventually(deaf.exists)
    check(none_alive([seen.id], marked("WB_RUN")))
    [done] = await history.ended(store, "long")
    assert (done.record.status, done.record.retcode) == ("fail", -9)
    assert done.detail.reason == "the instance was stopped"
    assert await store.call("EXISTS", KEYS.active(), KEYS.lock(lock_of("long"))) == 0


async def are_late(store: Store, job: str, count: int) -> list[int]:
    """The fires of a job that were made up for, in order, once there are so many."""
    runs = await history.ended(store, job, most=1000)
    late = [seen.detail.fire for seen in runs[::-1] if seen.detail.why == "late"]
    return late if len(late) >= count else []


async def test_missed_fires_are_seen_after_a_restart(store: Store, folder: Path) -> None:
    kept = {
        "skip": definition("true", {"minute": "*"}),
        "once": definition("true", {"minute": "*"}, missed="once"),
        "each": definition("true", {"minute": "*"}, missed="all"),
        "silent": definition("true", {"hour": "*"}, alert=False, grace=0),
    }
    old = int((await store.call("TIME"))[0]) // 3600 * 3600 - 3 * 3600
    for name, said in kept.items():
        await jobs.save(store, name, said, READING)
        mark = (await store.call("HGET", OWN.fired(), name)).decode()
        await store.call("HSET", OWN.fired(), name, f"{old}:{mark.partition(':')[2]}")
    async with serving(store, folder, capacity=200):
        await ended(store, "once", 1)
        await eventually(lambda: are_late(store, "each", 100), 60)
        await eventually(lambda: history.omissions(store, "silent"))
        [silent] = await history.omissions(store, "silent")
        skipped = (await history.omissions(store, "skip"))[-1]
    late = await are_late(store, "each", 100)
    assert late == list(range(late[0], late[0] + 6000, 60))
    assert (silent.count, silent.first) == (3 if silent.last > old + 7200 else 2, old + 3600)
    assert (skipped.first, skipped.count) == (old + 60, None)
    assert "no instance ran it" in skipped.reason
    told = [event["check"] for event in await events(store) if event["state"] == "critical"]
    assert sorted(set(told)) == ["each", "skip"]


def child_states() -> list[str]:
    found = list[str]()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found.append(child.status())
    return found


async def test_no_zombie_and_no_descriptor_stays(store: Store, folder: Path) -> None:
    await put(store, "quick", definition("echo x", overlap="queue"))
    async with serving(store, folder):
        await jobs.trigger(store, "quick")
        await ended(store, "quick", 1)
        before = psutil.Process().num_fds()
        for n in range(10):
            await jobs.trigger(store, "quick")
            await ended(store, "quick", n + 2)
        # A run that leaked one would have left ten; connections to the store come and go.
        await eventually(lambda: psutil.Process().num_fds() < before + 5)
        await eventually(lambda: psutil.STATUS_ZOMBIE not in child_states())


async def test_a_run_that_stops_itself_can_be_ended(store: Store, folder: Path) -> None:
    await put(store, "stopped", definition("kill -STOP $$; echo woken", kill_after=0.5))
    async with serving(store, folder):
        await jobs.trigger(store, "stopped")
        [seen] = await running(store, "stopped")
        await started(seen.id)
        await jobs.terminate(store, seen.id)
        [done] = await ended(store, "stopped")
    assert done.record.retcode in (-signal.SIGTERM, -signal.SIGKILL)
