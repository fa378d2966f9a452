"""What a plugin gets: the job on its standard input, and the way to say how it went."""

import json
import sys
from typing import Any, NoReturn


def read() -> dict[str, Any]:
    """The job's record."""
    try:
        job = json.loads(sys.stdin.readline())
    except ValueError as error:
        finish(1, f"The job can't be read: {error}")
    return job if isinstance(job, dict) else {}


def params(job: dict[str, Any]) -> dict[str, Any]:
    found = job.get("params")
    return found if isinstance(found, dict) else {}


def number(value: Any, usual: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return usual


def is_on(value: Any) -> bool:
    return value in (True, 1, "1", "true", "yes", "on")


def send(**message: Any) -> None:
    print(json.dumps({"xy": 1, **message}), flush=True)


def finish(code: int | str, description: str = "", **more: Any) -> NoReturn:
    send(code=code, description=description, **more)
    sys.exit(0)
