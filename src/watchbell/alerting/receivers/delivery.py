"""The last step of every receiver: valid events are pushed, others are reported and counted."""

from collections.abc import Callable, Iterable

from watchbell.alerting.event import NOOP, encode
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.errors import StoreUnavailable
from watchbell.store.client import Store, patiently


class Delivery:
    """Waits for a store that is away, until it is stopped.

    Where the store's answer to a push is lost, the push is repeated: a result may come twice, but
    none is lost.
    """

    def __init__(self, store: Store, report: Callable[[str], None]) -> None:
        self.sent = self.skipped = 0
        self.is_stopping = False
        self.store, self._report = store, report
        self._is_waiting = False

    async def deliver(self, results: Iterable[tuple[str, CheckEvent | Rejection]]) -> None:
        """Results, each with a description of its source."""
        items = []
        for where, result in results:
            if result is NOOP:
                continue
            if isinstance(result, Rejection):
                self.skipped += 1
                self._report(f"{where}: {result.reason}")
            else:
                items.append(encode(result))
        if items:
            await patiently(
                lambda: submit_raw(self.store, items), lambda error: self._wait(error, len(items))
            )
            self.sent += len(items)
            self._is_waiting = False

    def summary(self) -> str:
        return f"{self.sent:,} sent, {self.skipped:,} skipped"

    def _wait(self, error: StoreUnavailable, count: int) -> None:
        if self.is_stopping:
            raise StoreUnavailable(f"{error}; {count:,} results could not be sent") from error
        if not self._is_waiting:
            self._report(f"{error}; waiting for it")
        self._is_waiting = True
