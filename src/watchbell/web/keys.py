"""The key families of the web: users, sessions, API keys, the audit log and the intake."""

from watchbell.store.families import Hash, Keyspace, Set, SortedSet, Stream, String


class Web(Keyspace, document="watchbell"):
    """DIGEST is the SHA-256 of a secret, which itself is not stored."""

    users = Hash("web_users")
    roles = Hash("web_roles")
    sign_ins = Hash("web_sign_ins")
    api_keys = Hash("web_api_keys")
    key_uses = Hash("web_key_uses")
    pings = Hash("web_pings")
    session = String("web_session:DIGEST", expires=True)
    sessions = SortedSet("web_sessions")
    view = String("web_view:DIGEST", expires=True)
    link = String("web_link:USER_ID", expires=True)
    tries = String("web_tries:DIGEST", expires=True)
    audit = Stream("web_audit")
    intake_ids = Set("intake_ids:DAY", expires=True)
    states = Hash("web_states")
    broker = String("web_broker", expires=True)
