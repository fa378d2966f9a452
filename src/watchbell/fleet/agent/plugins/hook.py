"""The stock plugin `hookplug`: posts the job, and the parameter `data`, to a web hook."""

import json
from typing import Any

from watchbell.fleet.agent.plugins import job_input
from watchbell.fleet.agent.plugins.http_request import Failed, sent
from watchbell.fleet.agent.plugins.job_input import finish

_TIMEOUT = 30.0
_FIELDS = ("id", "event", "category", "plugin", "now", "source", "username", "tags", "server")


def main() -> None:
    job = job_input.read()
    given = job_input.params(job)
    url = str(given.get("url") or "").strip()
    print(f"POST {url}", flush=True)
    headers = {"Content-Type": "application/json"}
    body = json.dumps(payload(job, given)).encode()
    try:
        answer = sent("POST", url, headers, body, timeout=_TIMEOUT)
    except Failed as error:
        finish(1, f"The web hook failed: {error}")
    status = f"HTTP {answer.status} {answer.reason}".strip()
    print(answer.body[: 64 << 10].decode(errors="replace"), flush=True)
    finish(0 if 200 <= answer.status < 300 else 1, status)


def payload(job: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    fields = {name: job[name] for name in _FIELDS if name in job}
    data = given.get("data")
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except ValueError:
            data = {"text": data} if data else {}
    return {**fields, **(data if isinstance(data, dict) else {"data": data})}


if __name__ == "__main__":
    main()
