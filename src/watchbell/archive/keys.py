"""The key families of the archive: pipelines, jobs with their ignores and logs, counts."""

from watchbell.store.families import Channel, Hash, Keyspace, List, Set, SortedSet, String


class Archive(Keyspace, document="archivebot"):
    pipeline = Hash("pipeline:PIPELINE_ID")
    pipelines = List("pipelines")

    job = Hash("IDENT", expires="sometimes")
    ignores = Set("IDENT_ignores", expires="sometimes")
    log = SortedSet("IDENT_log", expires="sometimes")

    completed = String("jobs_completed")
    aborted = String("jobs_aborted")
    failed = String("jobs_failed")

    tweeted = SortedSet("tweets:done")
    tweets = SortedSet("tweets:queue")

    updates = Channel("updates")
    settings = Channel("archivebot:job:IDENT")
