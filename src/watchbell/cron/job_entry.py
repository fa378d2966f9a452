"""A job as one instance has it in its agenda, and its fires as they are stored."""

import msgspec
from msgspec import UNSET

from watchbell.cron.model import Fire, Job, Why, lock_of
from watchbell.schedule.agenda import Entry


class JobEntry(Entry):
    __slots__ = ("_items", "digest", "is_elsewhere", "is_kept", "is_paused", "job")

    def __init__(self, job: Job, *, mark: int, digest: int = 0, is_kept: bool = True) -> None:
        super().__init__(job.name, job.schedule, mark)
        self.job = job
        self.digest = digest
        """Of the definition's text, to notice a change."""
        self.is_kept = is_kept
        """Whether the job is in the store; others were only announced on the channel."""
        self.is_paused = job.is_paused
        self.is_elsewhere = False
        """Whether only other instances may run it."""
        self._items: dict[Why, str] = {}

    @property
    def is_idle(self) -> bool:
        return self.is_paused or self.is_elsewhere

    def item(self, fire: int, why: Why, trigger: str = "") -> str:
        """A fire of the job as the store has it. All but its time is made once, unless the sender
        of a trigger waits for an answer."""
        if trigger:
            made = fire_of(self.job, fire, why, is_kept=self.is_kept)
            return msgspec.json.encode(msgspec.structs.replace(made, trigger=trigger)).decode()
        end = self._items.get(why)
        if end is None:
            made = fire_of(self.job, 0, why, is_kept=self.is_kept)
            end = self._items[why] = msgspec.json.encode(made).decode().removeprefix('{"fire":0')
        return f'{{"fire":{fire}{end}'


def fire_of(job: Job, fire: int, why: Why, *, is_kept: bool = True) -> Fire:
    is_made_up_for = why == "late" and job.options.missed == "all" and job.overlap != "allow"
    attempts, placement = job.options.retrying.attempts, job.options.placement
    return Fire(
        fire=fire,
        why=why,
        job=job.name,
        lock=lock_of(job.lock),
        ttl=job.ttl * 1000 if job.lock else 0,
        overlap="each" if is_made_up_for else job.overlap,
        is_kept=is_kept,
        attempt=1 if attempts > 1 else UNSET,
        attempts=attempts if attempts > 1 else UNSET,
        pool=msgspec.json.encode(placement).decode() if placement else UNSET,
    )
