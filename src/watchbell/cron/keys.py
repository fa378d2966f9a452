"""The key families of the leaderless cron: jobs, runs, results, locks and commands."""

from watchbell.store.families import Channel, Hash, Keyspace, List, Set, SortedSet, String


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


class CronUpstream(Keyspace, document="cronken"):
    """Keys that instances of Cronken add to the document's, or use in another form."""

    instances = SortedSet("{cronken}:instances")
    output_list = List("{cronken}:rundata:output:<run_id>", expires="sometimes")


class CronOwn(Keyspace, document="watchbell"):
    """Keys that we add to the document's; in the same cluster slot."""

    fired = Hash("{cronken}:watchbell:fired")
    pending = List("{cronken}:watchbell:pending")
    own_pending = List("{cronken}:watchbell:pending:<instance>")
    pools = Set("{cronken}:watchbell:pools")
    pool_pending = List("{cronken}:watchbell:pool:<sha1_of_placement>")
    retries = Hash("{cronken}:watchbell:retries")
    retries_due = SortedSet("{cronken}:watchbell:retries:due")
    answers = List("{cronken}:watchbell:answers:<trigger_id>", expires=True)
    backlog = Hash("{cronken}:watchbell:backlog")
    waiting = List("{cronken}:watchbell:waiting:<sha1_of_lock_name>")
    awaited = Set("{cronken}:watchbell:awaited")
    holder = String("{cronken}:watchbell:holder:<sha1_of_lock_name>", expires="sometimes")
    skipped = Hash("{cronken}:watchbell:skipped")
    overdue = Hash("{cronken}:watchbell:overdue")
    ahead = Hash("{cronken}:watchbell:ahead")
    unreported = Hash("{cronken}:watchbell:unreported")
    watchdog = String("{cronken}:watchbell:watchdog:<task>", expires=True)
    details = Hash("{cronken}:watchbell:rundata")
    omissions = List("{cronken}:watchbell:omissions")
    job_omissions = List("{cronken}:watchbell:omissions:<job_name>")
    triggers = SortedSet("{cronken}:watchbell:triggers:<job_name>", expires=True)
    instances = Hash("{cronken}:watchbell:instances")
    counters = Hash("{cronken}:watchbell:counters")
