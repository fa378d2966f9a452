"""What an event means for its check, rule by rule, with the numbers at their edges."""

import pytest

from watchbell.alerting.decide.check import delays, judge
from watchbell.alerting.decide.check_facts import (
    Delays,
    Facts,
    Outcome,
    Policy,
    Verdict,
    Window,
    follow,
)
from watchbell.alerting.model import CheckEvent

NOW = 1_700_000_000
LONG_AGO = NOW - 100_000


def event(state: str, **fields: object) -> CheckEvent:
    kind = "action" if state in ("acknowledgement", "test_notifications") else "service"
    return CheckEvent(type=kind, state=state, entity="web", check="HTTP", **fields)  # type: ignore[arg-type]


def check(state: str | None = "ok", **known: object) -> Facts:
    facts = {"last_change": 0 if state is None else LONG_AGO, "state": state, **known}
    return Facts(entity="web", check="HTTP", **facts)  # type: ignore[arg-type]


def judged(facts: Facts, state: str, policy: Policy | None = None, **fields: object) -> Outcome:
    return judge(facts, event(state, **fields), frozenset(), policy or Policy(), 1, NOW)


@pytest.mark.parametrize(
    ("facts", "state", "verdict", "until"),
    [
        # the first report
        (check(None), "ok", Verdict.FIRST_OK, None),
        (check(None), "critical", Verdict.FAILURE_DELAY, NOW + 30),
        # all is well
        (check("ok"), "ok", Verdict.NEVER_TOLD, None),
        (check("critical"), "ok", Verdict.NEVER_TOLD, None),
        (
            check("ok", notified={"problem": 5, "critical": 5, "recovery": 9}),
            "ok",
            Verdict.RECOVERY_TOLD,
            None,
        ),
        (check("critical", notified={"problem": 5, "critical": 5}), "ok", Verdict.TELL, None),
        # told once the window is over, although the recovery fell into it
        (check("ok", notified={"problem": 5, "critical": 5}), "ok", Verdict.TELL, None),
        (
            check("critical", notified={"problem": 5, "critical": 5, "acknowledgement": 7}),
            "ok",
            Verdict.TELL,
            None,
        ),
        # maintenance
        (
            check("critical", scheduled=Window(NOW - 1, NOW + 9)),
            "critical",
            Verdict.SCHEDULED,
            NOW + 9,
        ),
        (
            check("critical", scheduled=Window(NOW - 1, NOW + 9)),
            "acknowledgement",
            Verdict.SCHEDULED,
            NOW + 9,
        ),
        (
            check("critical", scheduled=Window(NOW - 1, NOW + 9)),
            "test_notifications",
            Verdict.SCHEDULED,
            NOW + 9,
        ),
        (
            check("critical", unscheduled=Window(NOW - 1, NOW + 9)),
            "critical",
            Verdict.UNSCHEDULED,
            NOW + 9,
        ),
        (
            check("critical", unscheduled=Window(NOW - 1, NOW + 9)),
            "test_notifications",
            Verdict.UNSCHEDULED,
            NOW + 9,
        ),
        (
            check("critical", unscheduled=Window(NOW - 1, NOW + 9)),
            "acknowledgement",
            Verdict.TELL,
            None,
        ),
        # a failure has to last: strictly less than 30 s holds back
        (check("critical", last_change=NOW - 29), "critical", Verdict.FAILURE_DELAY, NOW + 1),
        (check("critical", last_change=NOW - 30), "critical", Verdict.TELL, None),
        (check("warning"), "critical", Verdict.FAILURE_DELAY, NOW + 30),
        # the same failure is told again after 60 s
        (
            check("critical", notified={"problem": NOW - 59, "critical": NOW - 59}),
            "critical",
            Verdict.REPEAT_DELAY,
            NOW + 1,
        ),
        (
            check("critical", notified={"problem": NOW - 60, "critical": NOW - 60}),
            "critical",
            Verdict.TELL,
            None,
        ),
        (
            check("critical", notified={"problem": NOW - 5, "warning": NOW - 5}),
            "critical",
            Verdict.TELL,
            None,
        ),
        (
            check(
                "critical",
                notified={"problem": NOW - 5, "critical": NOW - 5, "acknowledgement": NOW - 4},
            ),
            "critical",
            Verdict.TELL,
            None,
        ),
        # acknowledgements and tests
        (check("ok"), "acknowledgement", Verdict.NOT_FAILING, None),
        (check(None), "acknowledgement", Verdict.NOT_FAILING, None),
        (check("warning"), "acknowledgement", Verdict.TELL, None),
        (check("ok"), "test_notifications", Verdict.TELL, None),
        (check(None), "test_notifications", Verdict.TELL, None),
    ],
)
def test_the_first_thing_that_holds_an_event_back_is_named(
    facts: Facts, state: str, verdict: Verdict, until: int | None
) -> None:
    outcome = judged(facts, state)
    assert (outcome.verdict, outcome.until) == (verdict, until)
    assert (outcome.notification is not None) == (verdict is Verdict.TELL)


@pytest.mark.parametrize(
    ("given", "of_check", "expected"),
    [
        ({}, {}, Delays(30, 60, 0)),
        ({}, {"initial_failure_delay": 5}, Delays(5, 60, 0)),
        ({"initial_failure_delay": 0}, {"initial_failure_delay": 5}, Delays(0, 60, 0)),
        ({"repeat_failure_delay": 7, "initial_recovery_delay": 8}, {}, Delays(30, 7, 8)),
    ],
)
def test_an_events_delays_win_over_the_checks_and_those_over_everybodys(
    given: dict[str, int], of_check: dict[str, int], expected: Delays
) -> None:
    assert delays(event("critical", **given), check(delays=of_check), Delays()) == expected


def test_a_recovery_may_have_to_last_too() -> None:
    facts = check("critical", notified={"problem": 5, "critical": 5})
    early = judged(facts, "ok", initial_recovery_delay=10)
    assert (early.verdict, early.until) == (Verdict.RECOVERY_DELAY, NOW + 10)
    later = check("ok", last_change=NOW - 10, notified={"problem": 5, "critical": 5})
    assert judged(later, "ok", initial_recovery_delay=10).verdict is Verdict.TELL


def test_a_recovery_ends_unscheduled_maintenance_even_in_a_scheduled_one() -> None:
    facts = check(
        "critical",
        unscheduled=Window(NOW - 50, NOW + 50),
        scheduled=Window(NOW - 9, NOW + 9),
        notified={"problem": 5, "critical": 5},
    )
    outcome = judged(facts, "ok")
    assert (outcome.verdict, outcome.ended) == (Verdict.SCHEDULED, NOW)


def test_an_acknowledgement_opens_unscheduled_maintenance_for_four_hours_or_as_asked() -> None:
    assert judged(check("critical"), "acknowledgement").opened == Window(NOW, NOW + 14_400)
    asked = judged(check("critical"), "acknowledgement", duration=60)
    assert asked.opened == Window(NOW, NOW + 60)
    again = judged(check("critical", unscheduled=Window(NOW - 9, NOW + 9)), "acknowledgement")
    assert (again.ended, again.opened) == (NOW, Window(NOW, NOW + 14_400))


def test_two_changes_in_one_second_take_one_second_each() -> None:
    facts = check("ok")
    stamps = []
    for state in ("critical", "warning", "ok"):
        outcome = judged(facts, state)
        stamps.append(outcome.timestamp)
        follow(facts, event(state), outcome, NOW)
    assert stamps == [NOW, NOW + 1, NOW + 2]


def test_a_new_check_may_begin_in_maintenance() -> None:
    policy = Policy(new_check_maintenance=1000, new_check_ignore_tags=frozenset(["now"]))
    outcome = judged(check(None), "critical", policy)
    assert outcome.planned == Window(NOW, NOW + 1000)
    assert outcome.verdict is Verdict.SCHEDULED
    known = judge(check(None), event("critical"), frozenset(["now"]), policy, 1, NOW)
    assert known.planned is None
    assert judged(check("ok"), "critical", policy).planned is None


def test_a_planned_window_is_found_by_the_report_that_falls_into_it() -> None:
    windows = [
        Window(NOW - 10, NOW + 5),
        Window(NOW - 5, NOW + 20),
        Window(NOW + 1, NOW + 99),
    ]
    outcome = judged(check("critical", windows=windows), "critical")
    assert outcome.entered == Window(NOW - 5, NOW + 20)
    assert (outcome.verdict, outcome.until) == (Verdict.SCHEDULED, NOW + 20)


@pytest.mark.parametrize(
    ("state", "told", "kind", "severity"),
    [
        ("critical", {}, "problem", "critical"),
        ("warning", {"critical": 9, "problem": 9}, "problem", "critical"),
        ("warning", {"critical": 9, "recovery": 9, "problem": 9}, "problem", "warning"),
        ("ok", {"warning": 8, "problem": 8}, "recovery", "warning"),
        ("ok", {"unknown": 8, "warning": 9, "problem": 9}, "recovery", "warning"),
        ("acknowledgement", {"critical": 8, "problem": 8}, "acknowledgement", "critical"),
        ("acknowledgement", {}, "acknowledgement", "ok"),
        ("test_notifications", {}, "test", "critical"),
    ],
)
def test_the_severity_is_the_worst_that_was_told_since_the_last_recovery(
    state: str, told: dict[str, int], kind: str, severity: str
) -> None:
    notification = judged(
        check("critical" if state != "warning" else "warning", notified=told), state
    ).notification
    assert notification is not None
    assert (notification.type, notification.severity) == (kind, severity)


def test_a_notification_tells_what_was_before() -> None:
    facts = check("critical", summary="down", last_state="warning", last_summary="slow")
    told = judged(facts, "critical", summary="still down").notification
    assert told is not None
    assert (told.last_state, told.last_summary) == ("warning", "slow")
    assert told.state_duration == NOW - LONG_AGO
    recovered = judged(
        check("critical", summary="down", notified={"problem": 5, "critical": 5}), "ok"
    ).notification
    assert recovered is not None
    assert (recovered.last_state, recovered.last_summary, recovered.state_duration) == (
        "critical",
        "down",
        0,
    )


def test_a_check_that_alternates_faster_than_the_delay_never_alerts() -> None:
    facts = check("ok")
    for second in range(0, 600, 10):
        state = "critical" if second // 10 % 2 else "ok"
        now = NOW + second
        outcome = judge(facts, event(state), frozenset(), Policy(), 1, now)
        assert outcome.notification is None
        follow(facts, event(state), outcome, now)
