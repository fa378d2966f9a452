"""When to try again, and when to leave a server alone. Pure: times and chance are arguments."""

from msgspec import Struct

FIRST, LONGEST = 1.0, 300.0
"""Seconds before the second try, and between the later ones at the most."""

_OPENS_AT = 5
_FIRST_REST, _LONGEST_REST = 2.0, 60.0


def backoff(tries: int, chance: float, asked: float = 0) -> float:
    """Seconds to wait after so many tries: doubled each time, spread by `chance` in [0, 1) so that
    what failed together does not come back together, and never sooner than the server `asked`."""
    pause = min(FIRST * 2.0 ** min(tries - 1, 16), LONGEST)
    return max(pause * (0.5 + chance / 2), asked)


class Circuit(Struct):
    """Opens after failures in a row that concern the server, not a message; then one message at
    a time asks whether it is back."""

    failures: int = 0
    rest: float = 0
    until: float = 0
    """When it may be asked again; 0 while closed."""

    def allows(self, now: float) -> int | None:
        """How many messages may go: none, one that tries, or any number (None)."""
        if not self.until:
            return None
        return int(now >= self.until)

    def succeeded(self) -> bool:
        """Whether it was open until now."""
        was_open = self.until > 0
        self.failures, self.rest, self.until = 0, 0, 0
        return was_open

    def failed(self, now: float) -> bool:
        """Whether it opens by this failure."""
        self.failures += 1
        if self.failures < _OPENS_AT or now < self.until:
            return False
        opens = not self.until
        self.rest = min(self.rest * 2, _LONGEST_REST) if self.rest else _FIRST_REST
        self.until = now + self.rest
        return opens


class Bucket(Struct):
    """A rate limit: `rate` messages a second on average, a second's worth at once."""

    rate: float
    tokens: float | None = None
    at: float = 0

    def wait(self, now: float) -> float:
        """Takes a token; returns the seconds to wait before it is used."""
        if not self.rate:
            return 0
        self._fill(now)
        self.tokens = (self.tokens or 0) - 1
        return max(0.0, -self.tokens / self.rate)

    def pause(self, now: float) -> float:
        """Takes a token and returns 0, or takes none and returns the seconds until there is one."""
        self._fill(now)
        tokens = self.tokens or 0
        if tokens < 1:
            return (1 - tokens) / self.rate
        self.tokens = tokens - 1
        return 0

    def _fill(self, now: float) -> None:
        most = max(self.rate, 1.0)
        tokens = most if self.tokens is None else self.tokens + (now - self.at) * self.rate
        self.tokens, self.at = min(most, tokens), now
