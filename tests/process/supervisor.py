"""A supervisor to be killed: starts one shell script a line of its input, and tells their runs.

`python -m tests.process.supervisor OWNER GRACE LEASE [FAULT [FOLDER SECONDS]]`; a LEASE of 0 is
none. With a folder, runs are kept there for so many seconds after its death, and the line `adopt`
takes one over from there.
"""

import asyncio
import sys
from pathlib import Path

from watchbell import ids, probes
from watchbell.clock import SYSTEM
from watchbell.process.command import Command, Ending, Terms
from watchbell.process.runner import Runner


async def main(owner: str, grace: float, lease: float, folder: str, keep: float) -> None:
    async with Runner(owner, grace=grace, keep=Path(folder) if folder else None) as runner:
        for script in sys.stdin:
            if script == "adopt\n":
                [found], _ = await runner.adopt(Path(folder))
                print(found.run.id, "ready", sep="\n", flush=True)
                continue
            run = ids.token()
            print(run, flush=True)
            started = await runner.start(
                run,
                Command(argv=["sh", "-c", script]),
                Ending(linger=None),
                terms=Terms(keep_until=SYSTEM.monotonic() + keep, note=f"a note on {run}"),
            )
            async for _ in started.batches():  # it says something once it is ready
                break
            if lease:
                now = SYSTEM.monotonic()
                started.lease(now + lease, now + keep)
            print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    owner, grace, lease, fault, folder, keep = (*sys.argv[1:], "", "", "0")[:6]
    if fault:
        probes.arm(fault)
    asyncio.run(main(owner, float(grace), float(lease), folder, float(keep or 0)))
