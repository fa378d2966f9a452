"""Check events about crawls and pipelines: `archive:IDENT` and `pipelines:NICK`. Pure."""

from typing import NamedTuple

from watchbell.alerting.event import encode
from watchbell.alerting.model import CheckEvent, State

CRAWLS, PIPELINES = "archive", "pipelines"
"""The entities."""


class CheckReport(NamedTuple):
    check: str
    """`ENTITY:CHECK`."""
    event: bytes


def crawl_ended(ident: str, url: str, words: str, now: float, *, has_failed: bool) -> CheckReport:
    return _report(CRAWLS, ident, "critical" if has_failed else "ok", f"{url}: {words}", now)


def crawl_in_trouble(ident: str, url: str, reason: str, now: float) -> CheckReport:
    return _report(CRAWLS, ident, "critical", f"{url}: {reason}", now)


def crawl_goes_on(ident: str, url: str, now: float) -> CheckReport:
    return _report(CRAWLS, ident, "ok", f"{url}: the crawl goes on", now)


def crawl_gone(ident: str, now: float) -> CheckReport:
    """Its record was deleted, so that nobody can do anything about it."""
    return _report(CRAWLS, ident, "ok", "the record of the crawl was deleted", now)


def pipeline_gone(nickname: str, silent: float, now: float) -> CheckReport:
    """`silent`: seconds since its last sign of life."""
    return _report(PIPELINES, nickname, "critical", f"no sign of life for {silent:.0f} s", now)


def pipeline_back(nickname: str, words: str, now: float) -> CheckReport:
    return _report(PIPELINES, nickname, "ok", words, now)


def _report(entity: str, check: str, state: State, summary: str, now: float) -> CheckReport:
    event = CheckEvent(
        type="service",
        state=state,
        entity=entity,
        check=check,
        time=int(now),
        summary=summary,
        initial_failure_delay=0,  # a crawl that has failed reports no second time
    )
    return CheckReport(f"{entity}:{check}", encode(event))
