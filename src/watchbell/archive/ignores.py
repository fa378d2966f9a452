"""Ignore patterns: which URLs a crawl leaves out, and because of which pattern.

All patterns are matched at once, in linear time, by one set of RE2. The few that RE2 can't compile
(backreferences, lookarounds) run one by one under a time limit, and are switched off when they
take too much time.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import re2  # type: ignore[import-untyped]
import regex  # type: ignore[import-untyped]

from watchbell.clock import SYSTEM
from watchbell.errors import Refused

LONGEST = 2_000
"""Characters of a pattern."""
_MOST_SECONDS = 0.05
"""Seconds that one pattern may take for one URL."""
_BUDGET = 0.25
"""Seconds that one pattern may take beyond its share."""
_SHARE = 0.000_2
"""Seconds that each URL adds to that budget."""
_MEMORY = 16 << 20
"""Bytes that one set may take."""
_MEMORY_OF_ONE = 1 << 20
"""Bytes that RE2 may take for one pattern; a larger one runs under the time limit. It is much less
than a set may take, so a set of one can always be made."""
_ROOT_NAMES = ("{primary_url}", "{primary_netloc}")
_MOST_REPEATS = 100_000
"""Beyond RE2, repetitions within repetitions take time and memory to compile."""
_REPEAT = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}", re.ASCII)
_OPEN_REPEAT = re.compile(r"(?<!\\)\{,(\d+)\}")


def check(pattern: str) -> None:
    """Raises Refused, with the position of what is wrong, unless the pattern can be used."""
    if not pattern or len(pattern) > LONGEST:
        raise Refused(f"expected a pattern of 1 to {LONGEST} characters", field="pattern")
    expanded = _expanded(pattern, "", "")
    if _suits_re2(expanded):
        return
    problem = _problem(expanded)
    if problem:
        # Placeholders are longer or shorter than their values, so the position is the one in the
        # pattern as it was written.
        raise Refused(_problem(pattern) or problem, field="pattern", code="pattern")


class IgnoreSet:
    """The patterns of one crawl."""

    def __init__(
        self,
        patterns: Iterable[str],
        primary_url: str,
        primary_netloc: str,
        switched_off: Mapping[str, str],
        monotonic: Callable[[], float],
    ) -> None:
        self.patterns = tuple(sorted(set(patterns)))
        self.switched_off = {
            pattern: why for pattern, why in switched_off.items() if pattern in self.patterns
        }
        """Patterns that are not used, with the reason."""
        self._root = primary_url, primary_netloc
        self._monotonic = monotonic
        self._sets: list[tuple[_Matcher, tuple[int, ...]]] = []
        self._limited: list[_Limited] = []
        self._compile()

    def match(self, url: str) -> str | None:
        """The first of the sorted patterns that occurs in the URL."""
        data = url.encode(errors="replace")
        best = len(self.patterns)
        for matcher, numbers in self._sets:
            found = matcher.first(data)
            if found is not None:
                best = min(best, numbers[found])
        if self._limited:
            best = self._match_limited(url, best)
        return self.patterns[best] if best < len(self.patterns) else None

    def changed(self, patterns: Iterable[str]) -> "IgnoreSet":
        """The same with other patterns. What was switched off stays so."""
        return IgnoreSet(patterns, *self._root, self.switched_off, self._monotonic)

    def _compile(self) -> None:
        shared: list[int] = []
        own: list[int] = []
        for number, pattern in enumerate(self.patterns):
            if pattern in self.switched_off:
                continue
            expanded = _expanded(pattern, *self._root)
            if _suits_re2(expanded):
                (own if expanded != pattern else shared).append(number)
            elif problem := _problem(expanded):
                self.switched_off[pattern] = problem
            else:
                self._limited.append(_Limited(number, regex.compile(expanded)))
        for numbers in (shared, own):
            if numbers:
                texts = tuple(_expanded(self.patterns[n], *self._root) for n in numbers)
                self._sets.append((_matcher(texts), tuple(numbers)))

    def _match_limited(self, url: str, best: int) -> int:
        for limited in list(self._limited):
            if limited.number > best:
                break
            started = self._monotonic()
            try:
                if limited.pattern.search(url, timeout=_MOST_SECONDS):
                    best = limited.number
            except TimeoutError:
                pass
            limited.budget = min(_BUDGET, limited.budget + _SHARE - (self._monotonic() - started))
            if limited.budget < 0:
                self._limited.remove(limited)
                self.switched_off[self.patterns[limited.number]] = (
                    f"switched off: it took too long, last on {url[:200]}"
                )
        return best


def compile(  # noqa: A001 - as `re` names it
    patterns: Iterable[str],
    primary_url: str = "",
    primary_netloc: str = "",
    *,
    monotonic: Callable[[], float] = SYSTEM.monotonic,
) -> IgnoreSet:
    """`primary_url` and `primary_netloc` are the root of the crawl, or of the entry of a list."""
    return IgnoreSet(patterns, primary_url, primary_netloc, {}, monotonic)


class _Limited:
    """A pattern that RE2 can't compile, with the time that it has left."""

    def __init__(self, number: int, pattern: "regex.Pattern[str]") -> None:
        self.number, self.pattern, self.budget = number, pattern, _BUDGET


class _Matcher:
    """Patterns that RE2 can compile, in sets of as many as fit into memory together."""

    def __init__(self, patterns: tuple[str, ...], memory: int = _MEMORY) -> None:
        self._sets = _compiled(patterns, memory)

    def first(self, data: bytes) -> int | None:
        """The lowest number of those that occur."""
        offset = 0
        for each, size in self._sets:
            if found := each.Match(data):
                return offset + int(min(found))
            offset += size
        return None


@lru_cache(maxsize=64)
def _matcher(patterns: tuple[str, ...]) -> _Matcher:
    """Crawls with the same patterns share one."""
    return _Matcher(patterns)


def _compiled(patterns: tuple[str, ...], memory: int) -> list[tuple[re2.Set, int]]:
    """Sets with their sizes."""
    made = re2.Set.SearchSet(_options(memory))
    for pattern in patterns:
        made.Add(pattern)
    try:
        made.Compile()  # it also makes sure that there is enough memory to match
    except re2.error:
        if len(patterns) == 1:
            raise
        half = len(patterns) // 2
        return _compiled(patterns[:half], memory) + _compiled(patterns[half:], memory)
    return [(made, len(patterns))]


def _options(memory: int) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory
    return options


@lru_cache(maxsize=20_000)
def _suits_re2(pattern: str) -> bool:
    try:
        re2.compile(pattern, _options(_MEMORY_OF_ONE))
    except (re2.error, UnicodeEncodeError):
        return False
    return True


def _problem(pattern: str) -> str:
    repeats = 1
    for found in _REPEAT.finditer(pattern):
        repeats *= max(1, int(found[1]), int(found[2] or 0))
    if repeats > _MOST_REPEATS:
        return f"its repetitions multiply to more than {_MOST_REPEATS:,}"
    try:
        regex.compile(pattern)
    except regex.error as error:
        return f"{error.msg} at position {error.pos}"
    except RecursionError:
        return "it is nested too deeply"
    except (UnicodeError, OverflowError) as error:
        return str(error)
    return ""


def _expanded(pattern: str, primary_url: str, primary_netloc: str) -> str:
    for name, value in zip(_ROOT_NAMES, (primary_url, primary_netloc), strict=True):
        if name in pattern:
            pattern = pattern.replace(name, re.escape(value))
    # For RE2, `{,3}` is text.
    return _OPEN_REPEAT.sub(r"{0,\1}", pattern)
