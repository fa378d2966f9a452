"""The key families of work queues, presence and the store's mark."""

from watchbell.store.families import Hash, Keyspace, List, Set, SortedSet, String


class StoreKeys(Keyspace, document="watchbell"):
    """QUEUE is a whole key, in braces where it brings no hash tag of its own, so that what belongs
    together lives in one slot of a cluster."""

    takers = SortedSet("QUEUE:takers")
    taken = List("QUEUE:taken:TAKER")
    held = Set("QUEUE:held:TAKER")
    batches = Hash("QUEUE:batches")
    attempts = Hash("QUEUE:attempts", expires=True)
    resting = String("QUEUE:resting", expires=True)
    mark = String("store_mark")
    processes = Hash("watchbell_processes")


def tagged(key: str) -> str:
    """The key with a hash tag: as it is where it has one, else in braces."""
    opening = key.find("{")
    closing = key.find("}", opening + 1)
    return key if 0 <= opening < closing - 1 else f"{{{key}}}"
