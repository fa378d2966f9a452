"""The stock plugin `httpplug`: a web request, with its answer in the log.

Parameters: method, url, headers (a line each), data, timeout, follow, ssl_cert_bypass,
success_match and error_match (regular expressions that the answer must match, or must not).
"""

import re
from typing import Any

from watchbell.fleet.agent.plugins import job_input
from watchbell.fleet.agent.plugins.http_request import Answer, Failed, sent
from watchbell.fleet.agent.plugins.job_input import finish, is_on

_USUAL_TIMEOUT = 30.0
_MOST_SHOWN = 256 << 10


def main() -> None:
    given = job_input.params(job_input.read())
    method = str(given.get("method") or "GET").upper()
    data = given.get("data")
    body = str(data).encode() if data and method not in ("GET", "HEAD") else None
    url = str(given.get("url") or "").strip()
    print(f"{method} {url}", flush=True)
    try:
        answer = sent(
            method,
            url,
            _headers(str(given.get("headers") or "")),
            body,
            timeout=job_input.number(given.get("timeout"), _USUAL_TIMEOUT),
            follows=is_on(given.get("follow")),
            verifies=not is_on(given.get("ssl_cert_bypass")),
        )
    except Failed as error:
        finish(1, f"The request failed: {error}")
    _show(answer)
    code, description = judged(answer, given)
    finish(code, description, data={"status": answer.status, "headers": dict(answer.headers)})


def judged(answer: Answer, given: dict[str, Any]) -> tuple[int, str]:
    text = answer.body.decode(errors="replace")
    status = f"HTTP {answer.status} {answer.reason}".strip()
    if not 200 <= answer.status < 400:
        return 1, status
    wanted, unwanted = given.get("success_match"), given.get("error_match")
    try:
        if wanted and not re.search(str(wanted), text):
            return 1, f"{status}, but the answer does not match {wanted!r}."
        if unwanted and re.search(str(unwanted), text):
            return 1, f"{status}, but the answer matches {unwanted!r}."
    except re.error as error:
        return 1, f"A regular expression is not valid: {error}"
    return 0, status


def _headers(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _show(answer: Answer) -> None:
    print(f"HTTP {answer.status} {answer.reason}")
    for name, value in answer.headers:
        print(f"{name}: {value}")
    print()
    print(answer.body[:_MOST_SHOWN].decode(errors="replace"), flush=True)


if __name__ == "__main__":
    main()
