"""What a new job takes from its event, its category, its plugin and its caller."""

import msgspec
import pytest

from tests.jobs.defined import GENERAL, SHELL, defined, event
from watchbell.errors import NotFound, Refused
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Defaults, Wish
from watchbell.jobs.model import Action, JobFile, Limit, Parameter, Parent, Usage

NOW = 1_800_000_000.0


def test_a_job_takes_what_its_event_says() -> None:
    one = event(params={"script": "true"}, tags=("a",), targets=("db",), algo="least_cpu")
    job = launch.prepare(defined(one), Wish(event="backup", username="alice"), "j1", NOW)
    assert (job.id, job.event, job.state, job.now, job.launched) == (
        "j1",
        "backup",
        "ready",
        NOW,
        NOW,
    )
    assert (job.params, job.tags, job.targets, job.algo) == (
        {"script": "true"},
        ("a",),
        ("db",),
        "least_cpu",
    )
    assert (job.source, job.username) == ("user", "alice")


def test_the_caller_overrides_what_the_event_says() -> None:
    one = event(params={"a": 1, "b": 2}, tags=("x",))
    wish = Wish(event="backup", params={"b": 3}, tags=(), targets=("web",), algo="prefer_first")
    job = launch.prepare(defined(one), wish, "j1", NOW)
    assert (job.params, job.tags, job.targets, job.algo) == (
        {"a": 1, "b": 3},
        (),
        ("web",),
        "prefer_first",
    )


def test_what_is_run_comes_from_the_plugin_alone() -> None:
    defaults = Defaults(env={"A": "settings", "B": "settings"})
    job = launch.prepare(defined(event()), Wish(event="backup"), "j1", NOW, defaults)
    assert (job.command, job.uid) == ("/bin/sh", "daemon")
    assert job.env == {"A": "plugin", "B": "settings"}


def test_parameters_that_nobody_set_have_the_plugins_default() -> None:
    plugin = msgspec.structs.replace(
        SHELL,
        params=(
            Parameter(id="depth", type="text", value="3"),
            Parameter(id="how", type="text", value="slow"),
        ),
    )
    known = defined(event(params={"how": "fast"}), plugins={"shellplug": plugin})
    job = launch.prepare(known, Wish(event="backup"), "j1", NOW)
    assert job.params == {"depth": "3", "how": "fast"}


def test_limits_of_the_event_replace_those_of_its_category_by_type() -> None:
    category = msgspec.structs.replace(
        GENERAL,
        limits=(
            Limit(type="time", duration=60),
            Limit(type="mem", amount=1),
            Limit(type="cpu", amount=1, enabled=False),
        ),
    )
    one = event(limits=(Limit(type="time", duration=5), Limit(type="mem", amount=9, enabled=False)))
    defaults = Defaults(limits=(Limit(type="time", duration=1), Limit(type="log", amount=7)))
    known = defined(one, categories={"general": category})
    job = launch.prepare(known, Wish(event="backup"), "j1", NOW, defaults)
    assert [(one.type, one.source, one.duration or one.amount) for one in job.limits] == [
        ("time", "", 5),
        ("mem", "category", 1),
        ("log", "settings", 7),
    ]


def test_actions_of_category_and_settings_are_appended() -> None:
    def mail(address: str, *, enabled: bool = True) -> Action:
        return Action(trigger="error", type="email", email=address, enabled=enabled)

    category = msgspec.structs.replace(
        GENERAL, actions=(mail("bob@example.com"), mail("off@example.com", enabled=False))
    )
    known = defined(event(actions=(mail("alice@example.com"),)), categories={"general": category})
    defaults = Defaults(actions=(mail("charlie@example.com"),))
    job = launch.prepare(known, Wish(event="backup"), "j1", NOW, defaults)
    assert [(one.email, one.source) for one in job.actions] == [
        ("alice@example.com", ""),
        ("bob@example.com", "category"),
        ("charlie@example.com", "settings"),
    ]


def test_a_queue_without_a_limit_of_concurrent_jobs_is_refused() -> None:
    known = defined(event(limits=(Limit(type="queue", amount=3),)))
    with pytest.raises(Refused, match="needs a limit 'job'") as raised:
        launch.prepare(known, Wish(event="backup"), "j1", NOW)
    assert raised.value.field == "limits"


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ({"categories": {}}, "no category 'general'"),
        ({"plugins": {}}, "no plugin 'shellplug'"),
        (
            {"categories": {"general": msgspec.structs.replace(GENERAL, enabled=False)}},
            "'General' is disabled",
        ),
        (
            {"plugins": {"shellplug": msgspec.structs.replace(SHELL, enabled=False)}},
            "'Shell' is disabled",
        ),
        (
            {"plugins": {"shellplug": msgspec.structs.replace(SHELL, type="monitor")}},
            "does not run jobs",
        ),
    ],
)
def test_an_event_that_can_not_run_is_refused_with_the_reason(
    kinds: dict[str, object], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        launch.prepare(defined(event(), **kinds), Wish(event="backup"), "j1", NOW)


def test_a_disabled_event_runs_as_a_test_only() -> None:
    one = event(
        enabled=False,
        limits=(Limit(type="time", duration=5),),
        actions=(Action(trigger="error", type="disable"),),
    )
    known = defined(one)
    with pytest.raises(Refused, match="disabled"):
        launch.prepare(known, Wish(event="backup"), "j1", NOW)
    job = launch.prepare(known, Wish(event="backup", test=True), "j1", NOW)
    assert (job.test, job.limits, job.actions) == (True, (), ())
    wish = Wish(event="backup", test=True, test_actions=True, test_limits=True)
    job = launch.prepare(known, wish, "j1", NOW)
    assert (len(job.limits), len(job.actions)) == (1, 1)


def test_an_event_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(NotFound, match="'backup'"):
        launch.prepare(defined(), Wish(event="backup"), "j1", NOW)


@pytest.mark.parametrize("priority", [10, -10])
def test_a_priority_out_of_range_is_refused(priority: int) -> None:
    with pytest.raises(Refused, match="from -9 to 9"):
        launch.prepare(defined(event()), Wish(event="backup", priority=priority), "j1", NOW)


@pytest.mark.parametrize(
    ("until", "state", "kept"),
    [(NOW + 5, "start_delay", NOW + 5), (NOW, "ready", None), (NOW - 5, "ready", None)],
)
def test_a_job_is_delayed_only_until_a_time_that_is_yet_to_come(
    until: float, state: str, kept: float | None
) -> None:
    job = launch.prepare(defined(event()), Wish(event="backup", until=until), "j1", NOW)
    assert (job.state, job.until) == (state, kept)


def test_data_and_files_of_the_caller_are_the_input() -> None:
    file = JobFile(id="f1", filename="a.txt", path="jobs/j0/a.txt", size=1, job="j0", server="s1")
    wish = Wish(event="backup", data={"n": 1}, files=(file,), parent=Parent(id="j0"))
    job = launch.prepare(defined(event()), wish, "j1", NOW)
    assert job.input == {"data": {"n": 1}, "files": (file,)}
    assert job.parent == Parent(id="j0")


def test_a_retry_starts_over_with_the_same_orders() -> None:
    job = launch.prepare(
        defined(event(params={"a": 1})), Wish(event="backup", now=NOW - 60), "j1", NOW
    )
    ended = msgspec.structs.replace(
        job,
        state="complete",
        code=3,
        description="it failed",
        server="s1",
        cpu=Usage(max=3),
        data={"a": 1},
        completed=NOW + 9,
    )
    again = launch.retry(ended, "j2", NOW + 10, 30)
    expected = msgspec.structs.replace(
        job,
        id="j2",
        state="retry_delay",
        until=NOW + 40,
        launched=NOW + 10,
        retry_count=1,
        retry_prev="j1",
    )
    assert again == expected
    assert launch.retry(again, "j3", NOW + 50, 0).state == "ready"


def input_file(name: str) -> JobFile:
    return JobFile(id=name, filename=name, path=f"jobs/{name}", size=10, job="", server="")


def test_a_limit_leaves_out_input_files_and_the_activity_says_so() -> None:
    one, two = input_file("a.csv"), input_file("b.exe")
    limit = Limit(type="file", accept=".csv", amount=1)
    parent = Parent(id="j0", files=(one, two))
    wish = Wish(event="backup", data=5, files=(one, two), parent=parent)
    job = launch.prepare(defined(event(limits=(limit,))), wish, "j1", NOW)
    assert job.input == {"data": 5, "files": (one,)}
    assert job.parent == Parent(id="j0", files=(one,))
    assert [line.msg for line in job.activity] == [
        "The file 'b.exe' was left out: only .csv is accepted."
    ]
    nothing = launch.prepare(
        defined(event(limits=(Limit(type="file", amount=0),))), wish, "j1", NOW
    )
    assert (nothing.input, nothing.parent) == ({"data": 5}, Parent(id="j0"))
    again = launch.retry(job, "j2", NOW, 0)
    assert (again.input, again.parent) == (job.input, job.parent)
