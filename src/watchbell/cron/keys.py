"""The key families of the leaderless cron: jobs, runs, results, locks and commands."""

from watchbell.store.families import Channel, Hash, Keyspace, Set, SortedSet, String


class Cron(Keyspace, document="cronken"):
    jobs = Hash("{cronken}:jobs")
    paused = Set("{cronken}:jobs:paused")
    runs = Hash("{cronken}:rundata")
    active = SortedSet("{cronken}:rundata:active")
    output = SortedSet("{cronken}:rundata:output:<run_id>", expires=True)
    results = SortedSet("{cronken}:results:<success/fail>")
    job_results = SortedSet("{cronken}:results:<job_name>:<success/fail>")
    lock = String("{cronken}:locks:<sha1_of_lock_name>", expires=True)
    reaper_lock = String("{cronken}:locks:__reaper__", expires=True)
    commands = Channel("{cronken}:__events__")
