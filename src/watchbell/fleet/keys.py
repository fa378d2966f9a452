"""The key families of servers and their agents."""

from watchbell.store.families import Channel, Hash, Keyspace, List, SortedSet, String


class Fleet(Keyspace, document="watchbell"):
    servers = Hash("{jobs}:servers")
    groups = Hash("{jobs}:groups")
    tokens = Hash("{jobs}:agent_tokens")
    seen = SortedSet("{jobs}:servers_seen")
    links = Hash("{jobs}:links")
    orders = List("{jobs}:orders:SERVER")
    orders_channel = Channel("{jobs}:orders")
    samples = Hash("{jobs}:samples")
    sample_minutes = List("{jobs}:sample_minutes:SERVER")
    sample_hours = List("{jobs}:sample_hours:SERVER")
    machines = Hash("{jobs}:machines")
    quick = List("{jobs}:quick:SERVER")
    command_requests = List("{jobs}:command_requests:SERVER", expires=True)
    command_answer = String("{jobs}:command_answer:REQUEST", expires=True)
    command_channel = Channel("{jobs}:commands")
    snapshots = SortedSet("{jobs}:snapshots")
    snapshot_heads = Hash("{jobs}:snapshot_heads")
    snapshot = String("{jobs}:snapshot:ID")
    watches = Hash("{jobs}:watches")
    watched = Hash("{jobs}:watched")
    changes = Channel("{jobs}:server_changes")

    monitoring = Hash("{jobs}:monitoring")
    series = String("{jobs}:series:SERVER:MONITOR", expires=True)
    monitor_errors = Hash("{jobs}:monitor_errors")
    alert_errors = Hash("{jobs}:alert_errors")
    alert = Hash("{jobs}:alert:ID")
    alerts = SortedSet("{jobs}:alerts")
    alerts_by = SortedSet("{jobs}:alerts_by:FIELD:VALUE")
    active_alerts = Hash("{jobs}:active_alerts")
    alert_snoozes = Hash("{jobs}:alert_snoozes")
