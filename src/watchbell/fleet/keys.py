"""The key families of servers and their agents."""

from watchbell.store.families import Channel, Hash, Keyspace, List, SortedSet


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
    changes = Channel("{jobs}:server_changes")
