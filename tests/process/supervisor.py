"""A supervisor to be killed: starts one shell script a line of its input, and tells their runs.

`python -m tests.process.supervisor OWNER GRACE LEASE [FAULT]`; a LEASE of 0 is none.
"""

import asyncio
import sys

from watchbell import ids, probes
from watchbell.process.command import Command, Ending
from watchbell.process.runner import Runner


async def main(owner: str, grace: float, lease: float) -> None:
    async with Runner(owner, grace=grace) as runner:
        for script in sys.stdin:
            run = ids.token()
            print(run, flush=True)
            started = await runner.start(
                run, Command(argv=["sh", "-c", script]), Ending(linger=None)
            )
            async for _ in started.batches():  # it says something once it is ready
                break
            if lease:
                started.lease(lease)
            print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) > 4:
        probes.arm(sys.argv[4])
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
