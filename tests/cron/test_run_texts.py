"""How runs ended, in words."""

import pytest

from watchbell.cron.model import Detail, Record, Status
from watchbell.cron.run_texts import ending, exit_code

KILLED = "ended by SIGKILL (killed, perhaps because memory ran out)"


def run(status: Status, retcode: int | None = None) -> Record:
    return Record(job_name="a", start_time=1, host="h", status=status, retcode=retcode)


@pytest.mark.parametrize(
    ("record", "reason", "words"),
    [
        (run("running"), "", ""),
        (run("success", 0), "", "done"),
        (run("fail", 3), "", "exit code 3"),
        (
            run("fail", -15),
            "it was terminated on request",
            "it was terminated on request; ended by SIGTERM",
        ),
        (
            run("fail", -9),
            "it was killed on request",
            "it was killed on request; ended by SIGKILL",
        ),
        (run("fail", -9), "", KILLED),
        (run("fail", None), "no such folder", "no such folder"),
        (run("fail", None), "", "it was not started"),
        (run("frozen"), "frozen: no heartbeat from web-1", "frozen: no heartbeat from web-1"),
    ],
)
def test_a_run_says_how_it_ended(record: Record, reason: str, words: str) -> None:
    assert ending(record, Detail(reason=reason)) == words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (127, "exit code 127: the command was not found"),
        (
            137,
            f"exit code 137: its command was {KILLED}",
        ),
        (200, "exit code 200"),
        (-9, KILLED),
        (-12, "ended by SIGUSR2"),
        (-300, "ended by signal 300"),
    ],
)
def test_codes_and_signals_have_names(code: int, words: str) -> None:
    assert exit_code(code) == words
