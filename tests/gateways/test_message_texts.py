"""The built-in words, and what is done to the words of strangers."""

import subprocess
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import bare_environment
from watchbell.alerting.model import Alert, RollupEntry
from watchbell.clock import SetClock
from watchbell.gateways.message_texts import (
    HEADLINES,
    KINDS,
    PARTS,
    Rollup,
    Texts,
    cut,
    filters,
    in_title_case,
    kind_of,
    names,
    one_line,
    open_texts,
)
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.gateways.templates import STYLES


def no_link(alert: Alert) -> str:  # noqa: ARG001
    return ""


def words(style: str, link: Any = no_link) -> Texts:
    return open_texts("medium", style, "", link, pytest.fail, SetClock(1_772_716_329))


ALL = {style: words(style) for style in STYLES}
CHECK = "on web-1.example.com"
BOTH = "Critical: 2, Warning: 2, Unknown: 1"
LIST = (
    "Critical: web-2.example.com:HTTP, web-1.example.com:HTTP; Warning: "
    "db-1.example.com:Replication, web-1.example.com:Disk / Util; "
    "Unknown: backup.example.com:Nightly backup"
)

SAID = [
    ("mail", "subject", "problem", f"Problem: 'HTTP' {CHECK} is Critical"),
    ("mail", "subject", "recovery", f"Recovery: 'HTTP' {CHECK} is OK"),
    ("mail", "subject", "acknowledgement", f"Acknowledgement: 'HTTP' {CHECK}"),
    ("mail", "subject", "test", f"Test: 'HTTP' {CHECK}"),
    ("mail", "subject", "rollup_problem", f"Problem summary: {BOTH}"),
    (
        *("mail", "subject", "rollup_recovery"),
        "Problem summaries finishing: Warning: 2, Unknown: 1",
    ),
    (
        *("short", "text", "problem"),
        f"Problem: 'HTTP' {CHECK} is Critical at 5 Mar 13:07 UTC, connection refused",
    ),
    (
        *("short", "text", "acknowledgement"),
        (
            f"Acknowledgement: 'HTTP' {CHECK} at 5 Mar 13:07 UTC, "
            "Bob: the load balancer is being replaced"
        ),
    ),
    (
        *("short", "text", "rollup_problem"),
        (
            f"Problem summary: {BOTH} (Critical: web-2.example.com:HTTP, "
            "web-1.example.com:HTTP; Warning: db-1.example.com:Replication..."
        ),
    ),
    (
        *("chat", "text", "problem"),
        f'Problem: ACKID 0b5d1d55, "HTTP" {CHECK} is Critical, connection refused',
    ),
    ("chat", "text", "recovery", f'Recovery: "HTTP" {CHECK} is OK, 200 OK in 91 ms'),
    (
        *("chat", "text", "acknowledgement"),
        (
            f'Acknowledgement: "HTTP" {CHECK} has been acknowledged, unscheduled maintenance '
            "created for 4 hours: Bob: the load balancer is being replaced"
        ),
    ),
    ("chat", "text", "rollup_problem", f"Problem summary: {BOTH} ({LIST})"),
    (
        *("plain", "text", "problem"),
        f'Problem: "HTTP" {CHECK} is Critical, connection refused',
    ),
    (
        *("note", "text", "problem"),
        (
            f"■ Problem: 'HTTP' {CHECK} is Critical\nconnection refused\n"
            "2026-03-05 13:07:09 UTC, for 3 minutes, 20 seconds"
        ),
    ),
]


@pytest.mark.parametrize(("style", "part", "kind", "expected"), SAID)
def test_what_is_said(style: str, part: str, kind: str, expected: str) -> None:
    assert ALL[style](part, SAMPLES[kind]) == expected


def test_the_text_of_a_mail() -> None:
    assert (
        ALL["mail"]("text", sample("problem", details="line one\n  line two"))
        == """\
Problem: 'HTTP' on web-1.example.com is Critical

Entity:            web-1.example.com
Check:             HTTP
State:             Critical
Summary:           connection refused
Time:              2026-03-05 13:07:09 UTC
Duration:          3 minutes, 20 seconds
Previous State:    OK
Previous Summary:  200 OK in 84 ms

Acknowledge:       watchbell ack 0b5d1d55

Details:

line one
  line two

--\x20
Watchbell, to alice@example.com"""
    )


def test_the_text_of_a_summary_by_mail() -> None:
    text = ALL["mail"]("text", SAMPLES["rollup_problem"])
    assert "5 checks fail. From 5 on they are sent in summaries, not one by one.\n" in text
    lines = [line for line in text.split("\n") if ", for " in line]
    assert lines[0] == "Critical  HTTP on web-2.example.com, for 3 minutes, 5 seconds"
    assert lines[4].startswith("Unknown   Nightly backup on backup.example.com, for 1 day, 2 hours")
    ending = ALL["mail"]("text", SAMPLES["rollup_recovery"])
    assert "3 checks still fail. That is less than 5, so problems are sent one by one" in ending
    nothing = ALL["mail"]("text", sample("rollup_recovery", rollup_alerts={}))
    assert "Nothing fails any more; problems are sent one by one again." in nothing


def test_a_long_summary_is_cut_and_counted() -> None:
    entry = RollupEntry(state="warning", duration=60)
    many = sample("rollup_problem", rollup_alerts={f"web-{n}:HTTP": entry for n in range(5_000)})
    assert "and 4900 more" in ALL["mail"]("text", many)
    assert "and 4900 more" in ALL["mail"]("html", many)
    assert "and 4990 more" in ALL["note"]("text", many)
    assert ALL["chat"]("text", many).count("web-") == 10
    assert len(ALL["mail"]("html", many)) < 100_000


@pytest.mark.parametrize(("seconds", "told"), [(None, False), (0, False), (40, False), (41, True)])
def test_a_duration_is_told_from_41_seconds_on(seconds: int | None, told: bool) -> None:
    alert = sample("problem", state_duration=seconds)
    assert ("Duration" in ALL["mail"]("text", alert)) == told
    assert ("Duration" in ALL["mail"]("html", alert)) == told


def test_a_link_makes_a_button_and_its_absence_none() -> None:
    linked = words("mail", lambda _: "https://watchbell.example.com/ack/a&b")
    assert 'href="https://watchbell.example.com/ack/a&amp;b"' in linked("html", SAMPLES["problem"])
    assert "https://watchbell.example.com/ack/a&b" in linked("text", SAMPLES["problem"])
    assert "Acknowledge<" not in ALL["mail"]("html", SAMPLES["problem"])


def test_an_alert_whose_state_and_type_disagree_can_be_told() -> None:
    for kind in KINDS:
        for other in SAMPLES.values():
            assert ALL["mail"]("html", sample(kind, state=other.state))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_alert_that_says_next_to_nothing_can_be_told(style: str, kind: str) -> None:
    bare = Alert(
        id="",
        media="",
        address="",
        contact_id="",
        contact_first_name="",
        contact_last_name="",
        event_id="",
        state=SAMPLES[kind].state,
        notification_type=SAMPLES[kind].notification_type,
        rollup=SAMPLES[kind].rollup,
    )
    assert ALL[style]("subject", bare).startswith(HEADLINES[kind])
    assert HEADLINES[kind] in ALL[style]("text", bare)
    assert "None" not in "".join(ALL[style](part, bare) for part in PARTS)


TEXT = st.text(max_size=60) | st.sampled_from(
    [
        "<b>&amp;",
        "a\r\nBcc: bob@example.com",
        "\0\x1b[31m",
        "\u202egnp.exe",
        "{{ 7 * 7 }}",
        "\ud800",
    ]
)
NUMBER = st.none() | st.integers(-(10**20), 10**20)


@settings(deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    fields=st.fixed_dictionaries(
        dict.fromkeys(("id", "address", "contact_first_name", "event_id", "event_hash"), TEXT)
        | {name: st.none() | TEXT for name in ("summary", "details", "last_state", "last_summary")}
        | dict.fromkeys(("time", "duration", "state_duration"), NUMBER)
        | {"tags": st.lists(TEXT, max_size=3)}
        | {
            "rollup_alerts": st.dictionaries(
                TEXT, st.builds(RollupEntry, state=TEXT, duration=NUMBER, summary=TEXT), max_size=3
            )
        }
    ),
)
def test_whatever_an_alert_holds_its_words_are_clean(kind: str, fields: dict[str, Any]) -> None:
    alert = sample(kind, **fields)
    for style, texts in ALL.items():
        said = {part: texts(part, alert) for part in PARTS}
        assert "\n" not in said["subject"]
        assert len(said["subject"]) <= 250
        assert len(said["text"]) <= 159 or style != "short"
        for text in said.values():
            unseen = [
                c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"
            ]
            assert not unseen
            assert "\u202e" not in text
            text.encode()


def test_what_an_alert_says_is_no_template() -> None:
    said = sample(
        "problem", summary="{{ 7 * 7 }}", event_id="{% if x %}:{{ y }}", last_summary="{#"
    )
    assert "{{ 7 * 7 }}" in ALL["mail"]("text", said)
    assert "{{ 7 * 7 }}" in ALL["mail"]("html", said)
    assert ALL["mail"]("subject", said) == "Problem: '{{ y }}' on {% if x %} is Critical"


@settings(deadline=None)
@given(TEXT)
def test_no_markup_of_a_stranger_becomes_ours(text: str) -> None:
    tagged = f"<i>{text}</i>"
    fields = dict.fromkeys(("summary", "details", "last_summary", "address"), tagged)
    for kind in KINDS:
        alert = sample(kind, event_id=f"{tagged}:{tagged}", last_state=tagged, **fields)
        alert.rollup_alerts = {tagged: RollupEntry(state=tagged, summary=tagged)}
        assert "<i>" not in ALL["mail"]("html", alert)


def test_long_details_are_cut_with_a_word_about_the_rest() -> None:
    alert = sample("problem", details="x" * 1_000_000)
    text = ALL["mail"]("text", alert)
    assert "x\n[… 990,000 more characters]" in text
    assert len(text) < 11_000
    assert "more characters" not in ALL["mail"]("text", sample("problem", details="x" * 10_000))


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two..."),
        ("one two, three", 13, "one two..."),
        ("one two three", 11, "one two..."),
        ("one two three", 10, "one two..."),
        ("one twothreefourfive", 15, "one twothree..."),
        ("x" * 200, 159, "x" * 156 + "..."),
    ],
)
def test_a_text_is_cut_at_a_word(text: str, longest: int, expected: str) -> None:
    assert cut(text, longest) == expected


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(10, 300))
def test_a_cut_text_is_never_too_long(text: str, longest: int) -> None:
    assert len(cut(text, longest)) <= longest
    assert cut(text, longest) == text or cut(text, longest).endswith("...")


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("ok", "OK"),
        ("critical", "Critical"),
        ("test_notifications", "Test Notifications"),
        (None, ""),
        ("d\x00own\n", "Down"),
    ],
)
def test_states_are_in_title_case_except_ok(state: str | None, shown: str) -> None:
    assert in_title_case(state) == shown


def test_names_are_one_line_of_bearable_length() -> None:
    assert one_line("  a\r\n\tb\u2028c\x00d  ") == "a b cd"
    assert len(one_line("x" * 1_000_000)) == 300
    assert len(one_line("x\n" * 1_000_000)) <= 300


def test_the_worst_state_gives_a_summary_its_shape() -> None:
    assert names(SAMPLES["rollup_problem"], "")["shape"] == "■"
    assert names(SAMPLES["rollup_recovery"], "")["tone"] == "warning"
    assert names(sample("rollup_recovery", rollup_alerts={}), "")["tone"] == "ok"
    assert names(SAMPLES["acknowledgement"], "")["tone"] == "acknowledgement"


def test_a_summary_lists_each_state_up_to_a_number() -> None:
    rollup = Rollup(
        {f"web-{n}:HTTP": RollupEntry(state="critical", duration=n) for n in range(5)}
        | {"db-1:Load": RollupEntry(state="unknown", duration=3)}
    )
    assert rollup.summary == "Critical: 5, Unknown: 1"
    detail = filters(SetClock(0))["detail"]
    assert detail(rollup, 2) == "Critical: web-0:HTTP, web-1:HTTP, ...; Unknown: db-1:Load"
    assert [row.entity for row in rollup[:2]] == ["web-0", "web-1"]
    assert rollup[-1].check == "HTTP"
    assert len(rollup) == 6


@pytest.mark.parametrize(
    ("time", "more", "expected"),
    [
        (0, (), "1970-01-01 00:00:00 UTC"),
        (None, (), ""),
        (1_774_745_999, ("Europe/Rome",), "2026-03-29 01:59:59 CET"),
        (1_774_746_000, ("Europe/Rome",), "2026-03-29 03:00:00 CEST"),
        (10**20, (), f"@{10**20}"),
        (-(10**15), (), f"@-{10**15}"),
    ],
)
def test_times_name_their_zone(time: int | None, more: tuple[str, ...], expected: str) -> None:
    assert filters(SetClock(0))["time"](time, *more) == expected


def test_how_long_ago_something_was_is_as_of_now() -> None:
    ago = filters(SetClock(1_000))["ago"]
    assert [ago(940), ago(2_000), ago(None)] == ["1 minute ago", "0 seconds ago", ""]


def test_there_is_a_sample_of_every_kind() -> None:
    assert [kind_of(alert) for alert in SAMPLES.values()] == list(KINDS)
    assert len({alert.id for alert in SAMPLES.values()}) == len(KINDS)


def test_help_does_not_wait_for_the_library_of_templates() -> None:
    code = (
        "import sys; sys.argv = ['watchbell', 'gateways', '--help'];"
        "from watchbell.cli.main import watchbell; watchbell.main(standalone_mode=False);"
        "sys.exit('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], env=bare_environment(), check=False)
    assert done.returncode == 0
