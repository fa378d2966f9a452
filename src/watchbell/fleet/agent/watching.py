"""Watches over the jobs of an agent: usage, limits, lease."""

import asyncio
from typing import TYPE_CHECKING

from watchbell import logs
from watchbell.clock import Clock
from watchbell.fleet.agent import usage_sampler
from watchbell.fleet.agent.job_process import JobProcess
from watchbell.fleet.agent.link import Link
from watchbell.fleet.messages import JobUsage, Usages
from watchbell.process import usage
from watchbell.process.runner import Runner

if TYPE_CHECKING:
    from watchbell.fleet.agent.agent import Agent

UNREACHABLE = "Aborted: its server could not be reached for too long."
_SECOND = 1.0
_CONNECTIONS_EVERY = 10
"""Seconds between looks at the connections of jobs, which cost more than the rest."""


async def watch(agent: "Agent", link: Link, runner: Runner, clock: Clock) -> None:
    tick = 0
    while True:
        await asyncio.sleep(_SECOND)
        tick += 1
        try:
            if agent.lease.is_over:
                agent.jobs.abort_all(UNREACHABLE)
            usages = _sampled_jobs(
                agent, runner, clock, with_connections=not tick % _CONNECTIONS_EVERY
            )
            if usages:
                link.send_soon(Usages(usages=tuple(usages)))
        except OSError:
            logs.get(role="agent").exception("the usage of jobs could not be read")


def _sampled_jobs(
    agent: "Agent", runner: Runner, clock: Clock, *, with_connections: bool
) -> list[JobUsage]:
    running = agent.jobs.running()
    if not running:
        return []
    mains = {process.pid: job.id for job, process in running}
    orphans = usage_sampler.orphans(runner.wardens, mains)
    return [
        _sampled(job, [process.pid, *orphans.get(job.id, ())], clock, with_connections)
        for job, process in running
    ]


def _sampled(job: JobProcess, roots: list[int], clock: Clock, with_connections: bool) -> JobUsage:
    processes = usage.tree(roots, usage_sampler.MOST_READ)
    job.meter.add(clock.monotonic(), processes)
    job.sample(job.meter.cpu.current, job.meter.mem.current)
    connections = usage_sampler.connections(processes) if with_connections else ()
    if with_connections:
        job.meter.add_connections(len(connections))
    return JobUsage(
        job=job.id,
        at=clock.now(),
        cpu=job.meter.cpu.shown(),
        mem=job.meter.mem.shown(),
        procs=usage_sampler.shown(processes, job.meter.shares, job.masker),
        conns=connections,
    )
