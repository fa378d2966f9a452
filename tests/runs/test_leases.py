"""Leases of runs, renewed by a carrier that is no store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable
from watchbell.runs.leases import LOCK_LOST, OVER, Renewal, RunLeases, Verdict
from watchbell.runs.running import Running


class Link:
    """Answers renewals from a list, the last answer again and again; None is no answer."""

    def __init__(self, *answers: Renewal | None) -> None:
        self._answers = list(answers)
        self.asked: list[list[str]] = []

    async def renew(self, runs: Sequence[Running]) -> list[Renewal]:
        self.asked.append([run.id for run in runs])
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            raise StoreUnavailable("the link is cut")
        return [answer for _ in runs]


@asynccontextmanager
async def keeping(link: Link) -> AsyncIterator[RunLeases]:
    leases = RunLeases(link.renew, 30, SYSTEM, role="agent")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(leases.run())
        yield leases
        task.cancel()


def run(name: str = "r") -> Running:
    return Running(name, "backup", lock="backup", ttl=60_000, grace=1)


async def test_adopted_runs_are_renewed_at_once_and_together() -> None:
    link, one, other = Link(Renewal(Verdict.RENEWED)), run("one"), run("other")
    async with keeping(link) as leases:
        leases.adopt(one)
        leases.adopt(other)
        await one.secured()
        await other.secured()
    assert link.asked == [["one", "other"]]
    assert (one.reason, one.lease_until is not None) == ("", True)


@pytest.mark.parametrize(
    ("verdict", "reason"), [(Verdict.OVER, OVER), (Verdict.LOCK_LOST, LOCK_LOST)]
)
async def test_a_run_that_is_no_longer_ours_is_ended(verdict: Verdict, reason: str) -> None:
    link, lost = Link(Renewal(verdict)), run()
    async with keeping(link) as leases:
        leases.adopt(lost)
        await eventually(lambda: lost.reason == reason)
        assert list(leases.runs) == ["r"], "until its result is written"
        leases.end(lost)
    assert not leases.runs


async def test_a_carrier_that_does_not_answer_is_asked_again() -> None:
    link, adopted = Link(None, Renewal(Verdict.RENEWED)), run()
    async with keeping(link) as leases:
        leases.adopt(adopted)
        await adopted.secured()
    assert (len(link.asked), adopted.reason) == (2, "")


async def test_a_refusal_with_a_promise_is_as_good_as_a_lease() -> None:
    link, adopted = Link(Renewal(Verdict.REFUSED, left=50)), run()
    async with keeping(link) as leases:
        leases.adopt(adopted)
        await adopted.secured()
        assert adopted.gives_up <= SYSTEM.monotonic() + 50
    assert adopted.reason == ""
