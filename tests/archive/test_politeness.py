"""Which URLs are tried again, and which hosts are left alone."""

import pytest

from watchbell.archive.politeness import MOST_FAILURES, MOST_TRIES, MOST_WAITS, is_down, pace


@pytest.mark.parametrize(
    ("status", "error", "retry_after", "tries", "failures", "retry_in", "host_pause"),
    [
        (200, "", None, 0, 0, None, 0),
        (301, "", None, 0, 0, None, 0),
        (404, "", None, 0, 0, None, 0),
        (500, "", None, 0, 1, 5, 0),
        (500, "", None, 1, 2, 10, 0),
        (500, "", None, MOST_TRIES - 1, 3, None, 0),
        (0, "connection refused", None, 0, 1, 5, 0),
        (0, "connection refused", None, 0, 3, 5, 5),
        (0, "connection refused", None, 0, 5, 5, 20),
        (0, "connection refused", None, 0, 20, 5, 600),
        (0, "connection refused", None, 0, MOST_FAILURES, None, 0),
        (503, "", 60, 0, MOST_FAILURES, None, 0),
        (0, "timeout", None, MOST_TRIES - 1, 1, None, 0),
        (429, "", 17, 0, 1, 17, 17),
        (429, "", 10**9, 0, 1, 3_600, 3_600),
        (503, "", None, 0, 1, 5, 5),
        (503, "", None, 3, 4, 40, 40),
        (429, "", 0, MOST_WAITS - 1, 1, None, 0),
        (200, "cut short", None, 0, 1, 5, 0),
    ],
)
def test_what_follows_from_a_response(
    status: int,
    error: str,
    retry_after: float | None,
    tries: int,
    failures: int,
    retry_in: float | None,
    host_pause: float,
) -> None:
    found = pace(
        status, error, is_retryable=True, retry_after=retry_after, tries=tries, failures=failures
    )
    assert (found.retry_in, found.host_pause) == (retry_in, host_pause)


def test_what_will_never_work_is_not_tried_again() -> None:
    found = pace(0, "private address", is_retryable=False, retry_after=None, tries=0, failures=5)
    assert (found.retry_in, found.reason) == (None, "given up after 1 try")
    assert found.host_pause == 0, "other URLs of the host need not wait to fail"


@pytest.mark.parametrize(
    ("status", "is_retryable", "expected"),
    [(200, False, False), (404, False, False), (500, False, False), (500, True, False),
     (429, False, True), (503, False, True), (0, True, True), (0, False, False)],
)  # fmt: skip
def test_a_host_is_down_while_it_answers_nobody(
    status: int, *, is_retryable: bool, expected: bool
) -> None:
    assert is_down(status, is_retryable=is_retryable) == expected
