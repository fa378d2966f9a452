"""Which payloads were recorded before, so that a repeated one is written as a revisit."""

MOST = 100_000


class PayloadIndex:
    """Digest -> a number that leads to the first record. It keeps the `most` digests that were
    added or found last: what repeats on a site mostly does so soon."""

    def __init__(self, most: int = MOST) -> None:
        self._half = max(most // 2, 1)
        self._new: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def add(self, digest: str, place: int) -> None:
        """The first one added under a digest counts."""
        if self.find(digest) is None:
            self._keep(hash(digest), place)

    def find(self, digest: str) -> int | None:
        """Only a hash of the digest is compared, to save memory: the caller compares the rest."""
        key = hash(digest)
        place = self._new.get(key)
        if place is None:
            place = self._old.pop(key, None)
            if place is not None:
                self._keep(key, place)
        return place

    def _keep(self, key: int, place: int) -> None:
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = place
