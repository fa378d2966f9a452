"""The key families of events and jobs. The document names no keys, so they are all ours; the values
are the document's."""

from watchbell.store.families import Channel, Hash, Keyspace, List, Set, SortedSet, Stream, String


class Jobs(Keyspace, document="watchbell"):
    events = Hash("{jobs}:events")
    categories = Hash("{jobs}:categories")
    plugins = Hash("{jobs}:plugins")
    channels = Hash("{jobs}:channels")
    tags = Hash("{jobs}:tags")
    revisions = List("{jobs}:revisions:KIND:ID", expires="sometimes")
    changes = Channel("{jobs}:changes")

    cursors = Hash("{jobs}:cursors")
    counts = Hash("{jobs}:counts")
    left_out = Hash("{jobs}:left_out")
    first_runs = Hash("{jobs}:first_runs")
    continuous = Hash("{jobs}:continuous")
    started = Hash("{jobs}:started")
    turns = Hash("{jobs}:turns")
    event_states = Hash("{jobs}:event_states")
    state_changes = SortedSet("{jobs}:state_changes")

    sequence = String("{jobs}:sequence")
    job = Hash("{jobs}:job:ID")
    live = SortedSet("{jobs}:live")
    ready = List("{jobs}:ready")
    delayed = SortedSet("{jobs}:delayed")
    queued = SortedSet("{jobs}:queued:EVENT")
    queued_events = Set("{jobs}:queued_events")
    occupied = Set("{jobs}:occupied:EVENT")
    waiting = SortedSet("{jobs}:waiting:TARGET")
    waiting_targets = Set("{jobs}:waiting_targets")
    server_jobs = Set("{jobs}:server_jobs:SERVER")
    finishing = List("{jobs}:finishing")
    archiving = List("{jobs}:archiving")
    actions = List("{jobs}:actions")
    actions_later = SortedSet("{jobs}:actions_later")
    channel_uses = Set("{jobs}:channel_uses:DATE:CHANNEL", expires=True)
    suspended = Set("{jobs}:suspended")

    log = Stream("{jobs}:log:ID")
    log_parts = List("{jobs}:log_parts:ID")
    seconds = List("{jobs}:seconds:ID")
    minutes = List("{jobs}:minutes:ID")
    news = Channel("{jobs}:news")

    finished = Hash("{jobs}:finished")
    done = SortedSet("{jobs}:done")
    counters = Hash("{jobs}:counters")
    done_by = SortedSet("{jobs}:done_by:FIELD:VALUE")
    launches_of_day = Hash("{jobs}:launches_of_day:DATE", expires=True)
    unreported = Hash("{jobs}:unreported")
    server_states = Hash("{jobs}:server_states")
    message = Hash("{jobs}:message:ID", expires=True)
