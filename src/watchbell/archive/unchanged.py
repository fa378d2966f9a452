"""For how long values have not changed, as we watched them."""

from collections.abc import Mapping


class Unchanged:
    """A value whose last change is known only by another clock: that clock may be set, and whoever
    writes the value could not do so while the store was unavailable. So nothing is concluded from a
    value that we have not watched for a while ourselves."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[float | None, float]] = {}

    def watch(self, values: Mapping[str, float | None], now: float) -> dict[str, float]:
        """Seconds for which each value has been the same; `now` is monotonic."""
        before, self._since = self._since, {}
        for name, value in values.items():
            known = before.get(name)
            self._since[name] = known if known and known[0] == value else (value, now)
        return {name: now - since for name, (_, since) in self._since.items()}

    def restart(self) -> None:
        """The store was not available."""
        self._since = {}
