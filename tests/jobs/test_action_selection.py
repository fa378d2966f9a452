"""Which actions a job sets off: triggers, and several that do the same."""

import msgspec
import pytest
from msgspec.structs import replace

from watchbell.jobs.decide import actions, launch
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.model import Action, Code, Job, Limit

NOW = 1_772_716_029.5


def job(*wanted: Action, code: Code = 0, **more: object) -> Job:
    fields = {"id": "j1", "event": "backup", "state": "complete", "code": code}
    return Job(**{**fields, "actions": wanted, **more})  # type: ignore[arg-type]


def mail(trigger: str, email: str = "alice@example.com", **more: object) -> Action:
    return Action(trigger=trigger, type="email", email=email, **more)  # type: ignore[arg-type]


def places(one: Job, *fired: str) -> list[int]:
    return [found.n for found in actions.selected(one, fired or actions.triggers(one))]


def queued(one: Job) -> list[int | None]:
    items = actions.completed(one, NOW).items
    return [msgspec.json.decode(item, type=ActionItem).n for item in items]


@pytest.mark.parametrize(
    ("code", "fired"),
    [
        (0, ["complete", "success"]),
        (0.0, ["complete", "success"]),
        ("", ["complete", "success"]),
        (1, ["complete", "error"]),
        (0.5, ["complete", "error"]),
        ("critical_foo_", ["complete", "error"]),
        ("warning", ["complete", "error", "warning"]),
        ("critical", ["complete", "error", "critical"]),
        ("abort", ["complete", "error", "abort"]),
    ],
)
def test_the_code_decides_the_triggers(code: Code, fired: list[str]) -> None:
    assert actions.triggers(job(code=code)) == fired


def test_tags_are_triggers_too() -> None:
    tagged = job(mail("tag:slow"), mail("tag:other", "bob@example.com"), tags=("slow",))
    assert places(tagged) == [0]


def test_a_job_that_is_retried_sets_off_nothing() -> None:
    assert queued(job(mail("complete"), mail("error"), code=1, retried=True)) == []


def test_disabled_actions_never_fire() -> None:
    assert places(job(mail("complete", enabled=False))) == []


def test_a_disabled_action_does_not_hide_an_equal_one_of_the_category() -> None:
    both = job(mail("error", enabled=False), mail("error", source="category"), code=1)
    assert places(both) == [1]


def test_actions_that_are_done_are_not_repeated_nor_replaced_by_an_equal_one() -> None:
    done = actions.done(mail("error"), NOW, 3, "queued")
    assert places(job(done, mail("error", source="category"), code=1)) == []


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        (mail("complete"), mail("error"), [0]),
        (mail("error"), mail("complete"), [1]),
        (mail("complete", source="settings"), mail("error", source="category"), [1]),
        (mail("complete", source="category"), mail("error"), [1]),
        (mail("error"), mail("error", " ALICE@example.com ,"), [0]),
        (mail("error"), mail("error", "bob@example.com"), [0, 1]),
        (mail("error"), mail("error", users=("bob",)), [0, 1]),
        (
            Action(trigger="error", type="web_hook", url="https://a.example.com"),
            Action(trigger="complete", type="web_hook", url="https://b.example.com"),
            [1, 0],
        ),
        (
            Action(trigger="error", type="run_event", event_id="a"),
            Action(trigger="error", type="run_event", event_id="a", params={"x": 1}),
            [0],
        ),
        (
            Action(trigger="error", type="channel", channel_id="a"),
            Action(trigger="error", type="channel", channel_id="b"),
            [0, 1],
        ),
        (
            Action(trigger="error", type="disable"),
            Action(trigger="complete", type="disable", source="category"),
            [0],
        ),
    ],
)
def test_of_several_that_do_the_same_one_is_carried_out(
    first: Action, second: Action, winner: list[int]
) -> None:
    assert places(job(first, second, code=1)) == winner


def test_tags_that_actions_add_belong_to_the_record_and_set_off_actions() -> None:
    one = job(
        Action(trigger="error", type="tag", tags=("bad",)),
        Action(trigger="tag:bad", type="tag", tags=("worse", "bad")),
        mail("tag:worse"),
        mail("success", "bob@example.com"),
        code=1,
    )
    ended = actions.completed(one, NOW)
    assert ended.job.tags == ("bad", "worse")
    assert [action.code for action in ended.job.actions] == [0, 0, None, None]
    assert ended.job.actions[0].description == "added the tag bad"
    assert queued(one) == [2]


def test_a_start_action_that_suspends_holds_the_job_until_it_has_a_result() -> None:
    suspend = Action(trigger="start", type="suspend", email="alice@example.com")
    one = job(mail("start"), suspend)
    assert actions.suspension(one) == 1
    assert [msgspec.json.decode(item)["n"] for item in actions.started(one)] == [0]
    resumed = replace(one, actions=(one.actions[0], actions.done(suspend, NOW, 0, "resumed")))
    assert actions.suspension(resumed) is None
    assert actions.suspension(job(replace(suspend, enabled=False))) is None
    assert actions.suspension(job(replace(suspend, trigger="error"))) is None


def test_a_limit_may_notify_in_several_ways() -> None:
    limit = Limit(
        type="mem",
        abort=False,
        tags=("big",),
        email="alice@example.com",
        url="https://example.com/hook",
        snapshot=True,
        text="Look at it.",
    )
    found = actions.of_limit(limit)
    assert [one.type for one in found] == ["tag", "email", "web_hook", "snapshot"]
    assert {(one.trigger, one.text) for one in found} == {("limit:mem", "Look at it.")}
    assert actions.of_limit(Limit(type="time", duration=3)) == []


def test_results_are_recorded_once() -> None:
    one = job(mail("error"), code=1)
    result = actions.done(one.actions[0], NOW, 5, "queued", "j1-0")
    item = ActionItem(job="j1", n=0, results=(result,), launched=("j2",))
    known = actions.recorded(one, item)
    assert known.actions == (result,)
    assert [(ref.id, ref.reason) for ref in known.jobs] == [("j2", "action")]
    assert actions.recorded(known, item) == known


def test_results_of_limits_are_added_once_with_their_tags() -> None:
    one = job(mail("error"), tags=("a",))
    (tag,) = actions.of_limit(Limit(type="time", tags=("slow",)))
    item = ActionItem(job="j1", limit=0, results=(actions.done(tag, NOW, 0, "added"),))
    known = actions.recorded(one, item)
    assert known.tags == ("a", "slow")
    assert len(known.actions) == 2
    assert actions.recorded(known, item) == known


def test_a_resumed_job_stays_resumed_when_its_announcement_is_recorded_late() -> None:
    suspend = Action(trigger="start", type="suspend")
    resumed = actions.done(suspend, NOW, 0, "resumed by alice")
    announced = replace(suspend, description="queued", message="j1-0")
    item = ActionItem(job="j1", n=0, results=(announced,))
    (known,) = actions.recorded(job(resumed), item).actions
    assert (known.code, known.description, known.message) == (0, "resumed by alice", "j1-0")


def test_another_attempt_starts_with_fresh_actions_but_is_not_suspended_again() -> None:
    suspend = actions.done(Action(trigger="start", type="suspend"), NOW, 0, "resumed by alice")
    limit = actions.done(Action(trigger="limit:time", type="tag", tags=("a",)), NOW, 0, "added")
    started = actions.done(mail("start"), NOW, 3, "queued", "j1-0")
    assert actions.fresh([suspend, limit, started]) == (suspend, mail("start"))


def test_a_retry_carries_out_its_actions_again() -> None:
    started = actions.done(mail("start"), NOW, 3, "queued", "j1-0")
    again = launch.retry(job(started, code=1), "j2", NOW, 0)
    assert again.actions == (mail("start"),)
