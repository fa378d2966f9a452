"""The key families of the archive: pipelines, crawls, their ignores and logs, queues, counts."""

from watchbell.store.families import Channel, Hash, Keyspace, List, Set, SortedSet, String


class Archive(Keyspace, document="archivebot"):
    """The document's, and those that it leaves out."""

    pipeline = Hash("pipeline:PIPELINE_ID")
    pipelines = List("pipelines")
    pipeline_updates = Channel("archivebot:pipeline_updates")

    job = Hash("IDENT", expires="sometimes")
    ignores = Set("IDENT_ignores", expires="sometimes")
    log = SortedSet("IDENT_log", expires="sometimes")

    pending = List("pending")
    pending_ao = List("pending-ao")
    pending_large = List("pending-large")
    pending_for = List("pending:TAG")
    working = List("working")
    finish_notifications = List("finish_notifications")

    completed = String("jobs_completed")
    aborted = String("jobs_aborted")
    failed = String("jobs_failed")

    tweeted = SortedSet("tweets:done")
    tweets = SortedSet("tweets:queue")

    updates = Channel("updates")
    settings = Channel("archivebot:job:IDENT")


class Crawls(Keyspace, document="watchbell"):
    """Ours, beside the document's."""

    crawl = Hash("watchbell_archive:crawl:IDENT", expires="sometimes")
    leases = SortedSet("watchbell_archive:leases")
    fences = String("watchbell_archive:fences")
    claims = Hash("watchbell_archive:claims")
    queues = Set("watchbell_archive:queues")
    recent = List("watchbell_archive:recent:IDENT", expires="sometimes")
    matches = Hash("watchbell_archive:matches:IDENT", expires="sometimes")
    hosts = Hash("watchbell_archive:hosts:IDENT", expires="sometimes")
    minutes = Hash("watchbell_archive:minutes:IDENT", expires="sometimes")
    history = Hash("watchbell_archive:history")
    ended = SortedSet("watchbell_archive:ended")
    ended_by_ident = SortedSet("watchbell_archive:ended_by_ident")
    failing = Hash("watchbell_archive:failing")
    unreported = Hash("watchbell_archive:unreported")
    archivist = String("watchbell_archive:archivist", expires=True)
    irc = String("watchbell_archive:irc", expires=True)
    announcer = String("watchbell_archive:announcer:MEDIUM", expires=True)
    pipelines_seen = SortedSet("watchbell_archive:pipelines_seen")
    pipelines_gone = Hash("watchbell_archive:pipelines_gone")
    capacities = Hash("watchbell_archive:capacities")
    stopping = Set("watchbell_archive:stopping")
    ignore_sets = Hash("watchbell_archive:ignore_sets")
    entries = Channel("watchbell_archive:entries")
    news = Channel("watchbell_archive:news")
