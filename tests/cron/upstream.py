"""An instance of Cronken itself: `python upstream.py HOST PORT CADENCE`, by a Python that has it.

Nothing of ours is imported here.
"""

import asyncio
import sys


async def main(host: str, port: int, cadence: int) -> None:
    from cronken import Cronken  # type: ignore[import-not-found]  # noqa: PLC0415

    instance = Cronken(
        {"host": host, "port": port},
        log_level="WARNING",
        heartbeat_cadence=cadence,
        output_cadence=1,
    )
    await (await instance.start())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
