"""What a site's robots.txt allows a crawl that obeys it."""

import re

from ada_url import join_url
from protego import Protego

from watchbell.archive.fetching.decoding import decoded
from watchbell.archive.fetching.model import Fetched

MOST = 512 << 10
_MOST_LINES = 10_000
_MOST_NAMES = 10
_MOST_WILDCARDS = 1_000
_LONGEST_DELAY = 60.0
_AGENT = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*([^#]*)", re.IGNORECASE)


class Robots:
    """The rules for one user agent."""

    def __init__(self, text: str, agent: str) -> None:
        self._agent = agent
        self._rules = Protego.parse(_relevant(text, agent.lower()))

    def allows(self, url: str) -> bool:
        return bool(self._rules.can_fetch(url, self._agent))

    @property
    def delay(self) -> float:
        """Seconds between two requests that the site asks for. 0: none."""
        asked = self._rules.crawl_delay(self._agent)
        return min(float(asked or 0), _LONGEST_DELAY)

    @property
    def sitemaps(self) -> list[str]:
        return list(self._rules.sitemaps)


def robots_url(url: str) -> str:
    """Where the rules for this URL are."""
    return str(join_url(url, "/robots.txt"))


def robots(fetched: Fetched, agent: str) -> Robots:
    """As RFC 9309 has it: no file, no rules; a server that can't say is left alone."""
    if 200 <= fetched.status < 300:
        return Robots(decoded(fetched, MOST).body.decode("utf-8-sig", "replace"), agent)
    if 300 <= fetched.status < 500 and fetched.status != 429:
        return Robots("", agent)
    return Robots("User-agent: *\nDisallow: /", agent)


def _relevant(text: str, agent: str) -> str:
    """The text with one name for all other agents. The library gives each agent of a group a list
    of its own of all the group's rules, which for thousands of agents would fill the memory; and it
    tries each rule with a wildcard on each URL."""
    lines = []
    wildcards = 0
    names: set[str] = set()
    for line in text.splitlines()[:_MOST_LINES]:
        found = _AGENT.match(line)
        if found:
            name = found[1].strip().lower().strip("*")
            if len(names) < _MOST_NAMES and name in agent:
                names.add(name)
            lines.append(f"User-agent: {(name or '*') if name in names else 'others'}")
        elif wildcards < _MOST_WILDCARDS or "*" not in line:
            wildcards += "*" in line
            lines.append(line)
    return "\n".join(lines)
