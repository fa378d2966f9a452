import msgspec
import pytest
from msgspec.structs import replace

from tests.jobs.logs import NOW, job
from watchbell.jobs.decide import actions, completion, file_limits
from watchbell.jobs.decide.completion import Completion, Result
from watchbell.jobs.model import (
    Action,
    Code,
    Job,
    JobFile,
    JobReference,
    Limit,
    Total,
    Usage,
)

END = NOW + 60
RETRY = Limit(type="retry", amount=2, duration=30)


def done(one: Job, ended: Result | None = None) -> Completion:
    return completion.complete(
        one,
        ended or Result(at=END),
        known_tags={"nightly", "slow"},
        retry_id="j2",
        now=END + 1,
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, 0),
        (0.0, 0),
        (None, 0),
        (False, 0),
        ("", 0),
        ("0", 0),
        ("3", 3),
        (3, 3),
        (-9, -9),
        (0.5, 0.5),
        (2.0, 2),
        ("warning", "warning"),
        ("Critical", "critical"),
        ("Critical Foo!", "critical_foo_"),
        ("ü", "_"),
        (True, "unknown"),
        ({}, "unknown"),
        ([1], "unknown"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_code_becomes_a_number_or_a_word(code: object, expected: Code) -> None:
    found = completion.normalised(code)
    assert found == expected
    assert type(found) is type(expected)


def test_a_successful_job_is_complete() -> None:
    ended = Result(at=END, elapsed=59.5, size=100, cut=20, cpu={"max": 5, "count": 1})
    found = done(job(server="s1", remote=True, until=5.0, reason="waits"), ended).job
    assert (found.state, found.code, found.description) == ("complete", 0, "")
    assert (found.completed, found.elapsed, found.log_file_size) == (END, 59.5, 80)
    assert (found.remote, found.until, found.reason) == (False, None, "")
    assert found.cpu == Usage(max=5, count=1)
    assert found.tags == ("_success", "_last")
    assert [line.msg for line in found.activity] == ["The log leaves out 20 bytes of output."]


@pytest.mark.parametrize(
    ("at", "expected"), [(END, END), (NOW - 1, END + 1), (END + 99, END + 1), (0, END + 1)]
)
def test_the_clock_of_an_agent_is_not_trusted_beyond_reason(at: float, expected: float) -> None:
    found = done(job(), Result(at=at)).job
    assert found.completed == expected
    assert found.elapsed == expected - NOW


@pytest.mark.parametrize(
    ("code", "retry_ok", "is_retried"),
    [
        (0, False, False),
        (1, False, True),
        ("warning", False, True),
        ("abort", False, False),
        ("abort", True, True),
    ],
)
def test_failures_are_retried_unless_somebody_aborted_the_job(
    code: Code, retry_ok: bool, is_retried: bool
) -> None:
    failing = job(limits=(RETRY,), actions=(Action(trigger="error", type="disable"),), data=1)
    found = done(failing, Result(at=END, code=code, retry_ok=retry_ok))
    assert found.job.retried is is_retried
    assert (found.retry is not None) is is_retried
    if found.retry is not None:
        assert (found.retry.id, found.retry.state, found.retry.until) == (
            "j2",
            "retry_delay",
            END + 31,
        )
        assert (found.retry.retry_count, found.retry.retry_prev) == (1, "j1")
        assert found.retry.data is None
        assert found.job.jobs == (JobReference("j2", "retry"),)
        assert found.items == ()
        assert found.fired == ()
        assert found.job.tags == ("_error", "_retried")
        assert not found.counts


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        (RETRY, 2),
        (replace(RETRY, enabled=False), 0),
        (replace(RETRY, amount=0), 0),
        (replace(RETRY, amount=None), 0),
    ],
)
def test_there_are_no_more_retries_than_the_limit_says(limit: Limit, count: int) -> None:
    found = done(job(limits=(limit,), retry_count=count), Result(at=END, code=1))
    assert found.retry is None
    assert found.job.tags == ("_error", "_last")


def test_a_retry_without_delay_is_ready_at_once() -> None:
    found = done(job(limits=(Limit(type="retry", amount=1),)), Result(at=END, code=1))
    assert found.retry is not None
    assert (found.retry.state, found.retry.until) == ("ready", None)


def test_a_failure_without_description_says_its_code() -> None:
    assert done(job(), Result(at=END, code=3)).job.description == "The job ended with 3."
    assert done(job(), Result(at=END, code="abort")).job.description == "The job was aborted."


def test_unknown_tags_and_those_above_the_limit_are_left_out() -> None:
    limit = Limit(type="tag", amount=1)
    found = done(job(tags=("nightly", "nosuch", "nightly", "slow", "_last"), limits=(limit,))).job
    assert found.tags == ("nightly", "_success", "_last")
    assert [line.msg for line in found.activity] == [
        "The tag 'nosuch' does not exist.",
        "Of 2 tags, 1 are kept, which is the limit.",
    ]


def test_tags_say_whether_a_job_was_a_test_and_has_files() -> None:
    file = {"id": "f1", "filename": "a", "path": "p", "size": 1, "job": "j1", "server": "s1"}
    found = done(job(test=True), Result(at=END, files=(file, {"id": 7})))
    assert found.job.tags == ("_success", "_last", "_test", "_files")
    assert [one.filename for one in found.job.files] == ["a"]
    assert not found.counts


def test_files_that_others_have_added_stay() -> None:
    own: dict[str, object] = {"id": "f1", "filename": "a", "path": "jobs/j1/files/f1/a", "size": 1}
    own |= {"job": "j1", "server": "s1"}
    added = JobFile(id="f2", filename="b", path="jobs/j1/files/f2/b", size=1, job="j1", server="")
    found = done(job(files=(added,)), Result(at=END, files=(own,)))
    assert [one.filename for one in found.job.files] == ["a", "b"]


def test_actions_that_the_end_sets_off_are_queued() -> None:
    mail = Action(trigger="error", type="email", email="alice@example.com")
    found = done(
        job(actions=(mail, replace(mail, trigger="success"))), Result(at=END, code="critical")
    )
    assert [msgspec.json.decode(item) for item in found.items] == [{"job": "j1", "n": 0}]
    assert found.fired == ("complete", "error", "critical")


@pytest.mark.parametrize("raw", [None, b"", b"[]", b"nonsense", b'{"at":"x"}', b"\xff"])
def test_a_result_that_can_not_be_read_fails_the_job(raw: bytes | None) -> None:
    found = done(job(), completion.result(raw)).job
    assert (found.code, found.description) == ("unknown", "The result of the job can't be read.")


def test_a_result_is_read_as_agents_send_it() -> None:
    raw = b'{"t":"result","at":5,"code":"Warning","disk":{"total":7,"count":2},"more":1}'
    found = done(job(started=1), completion.result(raw)).job
    assert (found.code, found.disk) == ("warning", Total(7, 2))


def test_spoiled_usage_keeps_what_was_known() -> None:
    known = Usage(max=9)
    found = done(job(cpu=known), Result(at=END, cpu={"max": "much"}, net={"total": []})).job
    assert (found.cpu, found.net) == (known, None)


def test_the_activity_log_keeps_its_newest_lines() -> None:
    found = done(job(), Result(at=END, activity=tuple(str(n) for n in range(1_100)))).job
    assert [line.msg for line in found.activity] == [str(n) for n in range(100, 1_100)]


def file(name: str, size: int) -> JobFile:
    return JobFile(id=name, filename=name, path=name, size=size, job="j0", server="s1")


LIMITED = Limit(type="time", duration=5, tags=("slow", "nosuch"), email="alice@example.com")


@pytest.mark.parametrize("limits", [(LIMITED,), (LIMITED, RETRY)])
def test_a_limit_that_aborts_a_job_also_tags_and_notifies(limits: tuple[Limit, ...]) -> None:
    ended = Result(at=END, code="abort", description="Aborted: too long.", retry_ok=True, limit=0)
    tagged = Action(trigger="tag:slow", type="disable")
    found = done(job(limits=limits, actions=(tagged,)), ended)
    item, *others = [msgspec.json.decode(one) for one in found.items]
    assert item == {"job": found.job.id, "limit": 0, "text": "Aborted: too long."}
    assert others == ([] if found.retry else [{"job": found.job.id, "n": 0}])
    assert found.job.tags[0] == "slow"
    assert "nosuch" not in found.job.tags
    kinds = [(one.trigger, one.type, one.code) for one in found.job.actions]
    assert kinds == [("tag:slow", "disable", None), ("limit:time", "tag", 0)]
    left = actions.undone(found.job, 0)
    assert [one.type for one in left] == ["email"]


@pytest.mark.parametrize("place", [None, -1, 1, 99])
def test_a_result_that_names_no_limit_sets_none_off(place: int | None) -> None:
    found = done(job(limits=(LIMITED,)), Result(at=END, code="abort", limit=place))
    assert (found.items, found.job.actions) == ((), ())


def test_a_limit_that_only_tags_needs_nobody_else() -> None:
    limit = Limit(type="mem", tags=("slow",))
    found = done(job(limits=(limit,)), Result(at=END, code="abort", limit=0))
    assert (found.items, found.job.tags[0]) == ((), "slow")


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (Limit(type="file"), ["a.csv", "B.JSON", "c.exe"]),
        (Limit(type="file", amount=0), []),
        (Limit(type="file", amount=1), ["a.csv"]),
        (Limit(type="file", size=25), ["a.csv", "c.exe"]),
        (Limit(type="file", accept=".csv, .json"), ["a.csv", "B.JSON"]),
        (Limit(type="file", amount=0, enabled=False), ["a.csv", "B.JSON", "c.exe"]),
    ],
)
def test_a_limit_leaves_input_files_out(limit: Limit, kept: list[str]) -> None:
    files = [file("a.csv", 10), file("B.JSON", 20), file("c.exe", 15)]
    found, reasons = file_limits.accepted(job(limits=(limit,)), files)
    assert [one.filename for one in found] == kept
    assert len(reasons) == 3 - len(kept)
