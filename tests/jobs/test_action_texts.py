"""What mails and web hooks of actions say."""

import json

import pytest

from watchbell.jobs import action_texts
from watchbell.jobs.action_texts import JobFacts
from watchbell.jobs.model import Action, Code, Job, Parent, Usage

LINK = "https://watchbell.example.com/jobs/job?id=j1"
MAIL = Action(trigger="error", type="email", email="alice@example.com")
LIMITED = Action(trigger="limit:mem", type="email")
FACTS = JobFacts(
    title="Backup",
    category="General",
    plugin="Shell script",
    host="db-1",
    link=LINK,
    log_end="one\ntwo <b>\n",
    params={"script": "true"},
)


def job(code: Code = 3, **more: object) -> Job:
    fields = {
        "id": "j1",
        "event": "event100",
        "state": "complete",
        "code": code,
        "description": "disk full",
        "notes": "Call Alice first.",
        "started": 1_772_716_020.0,
        "completed": 1_772_716_029.0,
        "elapsed": 9.0,
        "source": "scheduler",
        "env": {"TOKEN": "secret"},
        "params": {"script": "secret"},
        "tags": ("important", "_error"),
        "mem": Usage(max=3 << 20),
    }
    return Job(**{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ended", "action", "subject"),
    [
        (job(), MAIL, "Backup failed on db-1"),
        (job(0), MAIL, "Backup succeeded on db-1"),
        (job("warning"), MAIL, "Backup ended with a warning on db-1"),
        (job("critical"), MAIL, "Backup failed critically on db-1"),
        (job("abort"), MAIL, "Backup was aborted on db-1"),
        (job(0), Action(trigger="start", type="email"), "Backup has started on db-1"),
        (
            job(0),
            Action(trigger="limit:mem", type="email"),
            "Backup reached its memory limit on db-1",
        ),
        (
            job(0),
            Action(trigger="start", type="suspend"),
            "Backup is suspended and waits for somebody to resume it",
        ),
    ],
)
def test_the_subject_says_what_happened(ended: Job, action: Action, subject: str) -> None:
    assert action_texts.subject(ended, action, FACTS) == subject


def test_a_mail_has_the_fields_the_notes_the_end_of_the_log_and_a_link() -> None:
    assert action_texts.text(job(), MAIL, FACTS) == (
        "Backup failed on db-1: disk full\n\n"
        "Event:       Backup (event100)\n"
        "Job:         j1\n"
        "Result:      code 3\n"
        "Started:     2026-03-05 13:07:00 UTC\n"
        "Completed:   2026-03-05 13:07:09 UTC\n"
        "Elapsed:     9.0 s\n"
        "Category:    General\n"
        "Plugin:      Shell script\n"
        "Server:      db-1\n"
        "Launched by: schedule\n"
        "Tags:        important\n"
        "Memory:      3.0 MiB at most\n"
        f"Details:     {LINK}\n\n"
        "Notes\n-----\nCall Alice first.\n\n"
        "End of the log\n--------------\none\ntwo <b>\n"
    )


def test_the_html_escapes_what_others_wrote() -> None:
    page = action_texts.html(job(notes="<script>"), MAIL, FACTS)
    assert "<script>" not in page
    assert "two &lt;b&gt;" in page
    assert f'<a href="{LINK}">' in page


def test_the_text_of_the_action_and_the_reason_of_a_limit_come_first() -> None:
    action = Action(trigger="limit:time", type="email", text="Look at it.")
    lines = action_texts.text(job(0), action, FACTS, "it ran for more than 60 s").splitlines()
    assert lines[0] == "Look at it."
    assert lines[2] == "Backup on db-1: it ran for more than 60 s"


def test_a_web_hook_gets_the_job_without_secrets_and_how_it_is_run() -> None:
    got = json.loads(action_texts.payload(job(), MAIL, FACTS))
    assert (got["id"], got["event"], got["code"], got["action"]) == ("j1", "event100", 3, "error")
    assert got["params"] == {"script": "true"}
    assert got["links"] == {"job_details": LINK}
    assert got["text"] == f"Backup failed on db-1: disk full\n{LINK}"
    assert got["tags"] == ["important", "_error"]
    assert "secret" not in json.dumps(got)


def test_a_web_hook_has_a_code_also_when_it_is_0() -> None:
    assert json.loads(action_texts.payload(job(0), MAIL, FACTS))["code"] == 0


def test_a_payload_that_would_be_too_long_leaves_out_what_the_job_supplied() -> None:
    got = json.loads(action_texts.payload(job(data="x" * 1_000_000), MAIL, FACTS))
    assert got["cut"] is True
    assert "data" not in got
    assert got["text"].startswith("Backup failed")


@pytest.mark.parametrize(
    ("launched", "by"),
    [
        (job(source="user", username="alice"), "alice"),
        (job(source="key", key="k1"), "API key k1"),
        (job(source="action", parent=Parent(id="j0")), "an action of job j0"),
        (job(source="startup"), "startup"),
    ],
)
def test_it_says_who_launched_the_job(launched: Job, by: str) -> None:
    assert action_texts.launched_by(launched) == by
