"""Contradictions among the keys are found, whichever key was tampered with."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.alerting.consistency import contradictions
from tests.alerting.scenes import START, Stage
from tests.conftest import emptied
from watchbell.store.client import Store


@pytest.fixture
async def stage(store: Store) -> Stage:
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=1)
    await stage.fails()
    await stage.later(10).send("acknowledgement", duration=600)
    await stage.later(700).fails("web:disk", "warning")
    await stage.send("ok", "db:load")
    assert await contradictions(store, stage.now) == []
    return stage


TAMPERED: list[tuple[Callable[[Stage], list[Any]], str]] = [
    (lambda s: ["HSET", s.keys.current("web", "http"), "state", "warning"], "newest record"),
    (lambda s: ["HSET", s.keys.current("web", "http"), "last_change", 5], "newest record"),
    (lambda s: ["SET", s.keys.state("web", "http", START), "unknown"], "newest record"),
    (lambda s: ["DEL", s.keys.state("web", "http", START)], "newest record"),
    (lambda s: ["DEL", s.keys.count("web", "http", START)], "has no count"),
    (lambda s: ["RPUSH", s.keys.states("web", "http"), START], "not in order"),
    (lambda s: ["ZADD", s.keys.state_times("web", "http"), 7, 7], "sorted_state_timestamps"),
    (lambda s: ["ZREM", s.keys.failed_checks(), "web:http"], "failed_checks"),
    (lambda s: ["ZADD", s.keys.failed_checks(), 5, "db:load"], "failed_checks"),
    (lambda s: ["ZREM", s.keys.all_checks(), "db:load"], "not in both"),
    (lambda s: ["ZADD", s.keys.entity_checks("db"), 5, "other"], "differs from all_checks"),
    (lambda s: ["ZREM", s.keys.current_entities(), "db"], "current_entities"),
    (lambda s: ["DEL", s.keys.current_checks("db")], "without a check"),
    (lambda s: ["HSET", s.keys.current("db", "load"), "last_update", 5], "last_update 5"),
    (lambda s: ["ZADD", s.keys.unscheduled_times("web", "http"), 5, 5], "differ from their times"),
    (lambda s: ["ZADD", s.keys.scheduled_windows("db", "load"), 60, 5], "differ from their times"),
    (lambda s: ["SET", s.keys.scheduled("db", "load"), 5, "EX", 60], "there is no record"),
    (lambda s: ["SET", s.keys.last_problem("web", "http"), 5], "last problem notification is 5"),
    (lambda s: ["RPUSH", s.keys.warnings("web", "http"), 5], "not those of the states"),
    (lambda s: ["SREM", s.own.open_problems(), "web:http"], "open_problems"),
    (lambda s: ["SADD", s.own.open_problems(), "db:load"], "open_problems"),
    (lambda s: ["ZADD", s.keys.alerting_checks("alice", "sms"), 5, "web:disk"], "one side only"),
    (lambda s: ["DEL", s.own.alerting_media("web", "disk")], "one side only"),
    (lambda s: ["ZADD", s.keys.alerting_checks("alice", "email"), 5, "db:load"], "but it is ok"),
    (lambda s: ["ZREM", s.keys.current_checks("web"), "disk"], "but it is disabled"),
    (lambda s: ["ZADD", s.keys.alerts(), 5, "nothing"], "its record is {}"),
    (lambda s: ["DEL", s.keys.alerts_by_contact("alice")], "is not in alerts_by_contact:alice"),
    (lambda s: ["ZADD", s.keys.alerts_by_check("db", "load"), 5, "x"], "there is no record of it"),
    (lambda s: ["HSET", s.keys.checks_by_hash(), "00000000", "db:load"], "each other's inverse"),
    (lambda s: ["HDEL", s.keys.hashes_by_check(), "web:http"], "has no short id"),
    (lambda s: ["HSET", s.keys.entity_names(), "5", "web"], "all_entity_names_by_id"),
    (lambda s: ["SET", s.keys.entity_id("other"), "5"], "entity_id:ENTITY"),
    (lambda s: ["HDEL", s.keys.entity_ids(), "db"], "its entity has no id"),
    (lambda s: ["HINCRBY", s.keys.counters(), "ok", 1], "do not add up"),
    (lambda s: ["HINCRBY", s.keys.instance_counters("x", 1), "ok", 9], "more than there were"),
]


@pytest.mark.parametrize(("tampered", "words"), TAMPERED)
async def test_keys_that_contradict_each_other_are_found(
    stage: Stage, tampered: Callable[[Stage], list[Any]], words: str
) -> None:
    await stage.store.call(*tampered(stage))
    found = await contradictions(stage.store, stage.now)
    assert any(words in one for one in found), found
    await emptied(stage.store)


async def test_a_check_that_is_alerted_in_maintenance_is_found(stage: Stage) -> None:
    keys, start = stage.keys, stage.now
    await stage.store.call("ZADD", keys.scheduled_windows("web", "disk"), 60, start)
    await stage.store.call("ZADD", keys.scheduled_times("web", "disk"), start, start)
    await stage.store.call("SET", keys.scheduled("web", "disk"), start, "EX", 60)
    found = await contradictions(stage.store, start + 59)
    assert found == ["web:disk: alerted by alice:media:email, but it is in maintenance"]
    assert await contradictions(stage.store) == found
    assert await contradictions(stage.store, start + 60) == []
