"""The key families of alerting: events, checks, maintenance, notifications, alerts, contacts."""

from watchbell.alerting.record_keys import Records
from watchbell.store.families import Channel, Hash, Keyspace, List, Set, SortedSet, String


class Alerting(Keyspace, document="flapjack"):
    events = List("events")
    archive = List("events_archive:YYYYMMDDHH", expires=True)
    archives = Set("known_events_archive_keys")
    rejected = List("events_rejected:YYYYMMDDHH", expires=True)
    wakes = List("events_actions")
    notifications = List("notifications")
    queue = List("MEDIA_notifications")
    jabber_queue = List("jabber_notifications")
    pagerduty_queue = List("pagerduty_notifications")

    # Checks, as they are and as they were
    current = Hash("check:ENTITY:CHECK")
    states = List("ENTITY:CHECK:states")
    state = String("ENTITY:CHECK:TIMESTAMP:state")
    summary = String("ENTITY:CHECK:TIMESTAMP:summary")
    details = String("ENTITY:CHECK:TIMESTAMP:details")
    count = String("ENTITY:CHECK:TIMESTAMP:count")
    latency = String("ENTITY:CHECK:TIMESTAMP:check_latency")
    state_times = SortedSet("ENTITY:CHECK:sorted_state_timestamps")
    actions = Hash("ENTITY:CHECK:actions")
    failed_checks = SortedSet("failed_checks")
    current_checks = SortedSet("current_checks:ENTITY")
    current_entities = SortedSet("current_entities")
    all_checks = SortedSet("all_checks")
    entity_checks = SortedSet("all_checks:ENTITY")
    checks_by_hash = Hash("checks_by_hash")
    hashes_by_check = Hash("check_hashes_by_id")

    # Maintenance
    unscheduled = String("ENTITY:CHECK:unscheduled_maintenance", expires=True)
    unscheduled_windows = SortedSet("ENTITY:CHECK:unscheduled_maintenances")
    unscheduled_summary = String("ENTITY:CHECK:TIMESTAMP:unscheduled_maintenance:summary")
    unscheduled_times = SortedSet("ENTITY:CHECK:sorted_unscheduled_maintenance_timestamps")
    scheduled = String("ENTITY:CHECK:scheduled_maintenance", expires=True)
    scheduled_windows = SortedSet("ENTITY:CHECK:scheduled_maintenances")
    scheduled_summary = String("ENTITY:CHECK:TIMESTAMP:scheduled_maintenance:summary")
    scheduled_times = SortedSet("ENTITY:CHECK:sorted_scheduled_maintenance_timestamps")

    # Notifications
    last_problem = String("ENTITY:CHECK:last_problem_notification")
    last_unknown = String("ENTITY:CHECK:last_unknown_notification")
    last_warning = String("ENTITY:CHECK:last_warning_notification")
    last_critical = String("ENTITY:CHECK:last_critical_notification")
    last_recovery = String("ENTITY:CHECK:last_recovery_notification")
    last_acknowledgement = String("ENTITY:CHECK:last_acknowledgement_notification")
    last_test = String("ENTITY:CHECK:last_test_notification")
    problems = List("ENTITY:CHECK:problem_notifications")
    unknowns = List("ENTITY:CHECK:unknown_notifications")
    warnings = List("ENTITY:CHECK:warning_notifications")
    criticals = List("ENTITY:CHECK:critical_notifications")
    recoveries = List("ENTITY:CHECK:recovery_notifications")
    acknowledgements = List("ENTITY:CHECK:acknowledgement_notifications")
    tests = List("ENTITY:CHECK:test_notifications")

    # Alerts
    contact_drop = String("drop_alerts_for_contact:CONTACT_ID", expires=True)
    medium_drop = String("drop_alerts_for_contact:CONTACT_ID:MEDIA", expires=True)
    check_drop = String("drop_alerts_for_contact:CONTACT_ID:MEDIA:ENTITY:CHECK", expires=True)
    state_drop = String("drop_alerts_for_contact:CONTACT_ID:MEDIA:ENTITY:CHECK:STATE", expires=True)
    rollup_drop = String("drop_rollup_alerts_for_contact:CONTACT_ID:MEDIA", expires=True)
    alert = Hash("alert:ALERT_ID", expires=True)
    alerts = SortedSet("alerts")
    alerts_by_contact = SortedSet("alerts_by_contact:CONTACT_ID")
    alerts_by_medium = SortedSet("alerts_by_contact:CONTACT_ID:MEDIA")
    alerts_by_check = SortedSet("alerts_by_check:ENTITY:CHECK")
    alerts_by_date = SortedSet("alerts_by_time:DATE", expires=True)
    alerting_checks = SortedSet("contact_alerting_checks:CONTACT_ID:media:MEDIA")

    # Contacts, entities and rules
    contact = Hash("contact:CONTACT_ID")
    media = Hash("contact_media:CONTACT_ID")
    timezone = String("contact_tz:CONTACT_ID")
    intervals = Hash("contact_media_intervals:CONTACT_ID")
    rollup_thresholds = Hash("contact_media_rollup_thresholds:CONTACT_ID")
    pagerduty = Hash("contact_pagerduty:CONTACT_ID")
    contact_tag = Set("contact_tag:TAG")
    entity_contacts = Set("contacts_for:ENTITY_ID")
    check_contacts = Set("contacts_for:ENTITY_ID:CHECK")
    entity = Hash("entity:ENTITY_ID")
    entity_id = String("entity_id:ENTITY")
    entity_ids = Hash("all_entity_ids_by_name")
    entity_names = Hash("all_entity_names_by_id")
    entity_tag = Set("entity_tag:TAG")
    check_tag = Set("check_tag:TAG")
    known_tags = Set("known_tags:KIND")
    rules = Set("contact_notification_rules:CONTACT_ID")
    rule = Hash("notification_rule:RULE_ID")

    # Processors
    counters = Hash("event_counters")
    instance = Hash("executive_instance:HOSTIDENT:PID", expires=True)
    instance_counters = Hash("event_counters:HOSTIDENT:PID", expires=True)


class AlertingOwn(Keyspace, document="watchbell"):
    """What alerting keeps beside the document's keys."""

    rejections = List("rejections:YYYYMMDDHH", expires=True)
    decisions = List("decisions:ENTITY:CHECK", expires=True)
    check_settings = Hash("check_settings")
    event_tags = Hash("event_tags")
    open_problems = Set("open_problems")
    silence = SortedSet("silence")
    alerting_media = Set("alerting_media:ENTITY:CHECK")
    rollups = Set("rollups")
    drops = SortedSet("drops")
    drop_expiries = Hash("drop_expiries")
    parked = List("parked_notifications", expires=True)
    purging = String("purging", expires=True)
    rebuilding = String("rebuilding", expires=True)
    notification_counters = Hash("notification_counters")
    records = String("records")
    record_build = String("record_build")
    record_builder = String("record_builder", expires=True)
    record_ids = Hash("record_ids")
    record_stamps = Hash("record_stamps")
    record_watcher = String("record_watcher", expires=True)
    payload = String("payload:RECORD_ID")
    changed_checks = Channel("changed_checks")
    changed_windows = Channel("changed_windows")


NOTIFICATIONS = {
    "problem": "problems",
    "unknown": "unknowns",
    "warning": "warnings",
    "critical": "criticals",
    "recovery": "recoveries",
    "acknowledgement": "acknowledgements",
    "test": "tests",
}
"""The family of keys that has the times of each kind of notification."""

# Words that keys of other domains begin with, and in which names that people choose come last.
_ELSEWHERE = ("pagerduty_acks", "pending", "watchbell_archive")

RESERVED_ENTITIES = frozenset(_ELSEWHERE).union(
    word
    for space in (Alerting, AlertingOwn, Records)
    for family in space.families()
    for word, colon, _ in [family.literals[0].partition(":")]
    if colon
)
"""Names that no entity may have: `check:a:b:states` would be the states of one check and all of
another, and a search by prefix would find keys of others."""
RESERVED_BEGINNING = "{"
"""Prefixes that no entity's name may have, since keys of other domains have them."""

RESERVED_MEDIA = frozenset(
    family.pattern.removesuffix(Alerting.queue.literals[-1])
    for family in AlertingOwn.families()
    if family.pattern.endswith(Alerting.queue.literals[-1])
).union({"finish"})
"""Names that no medium may have, since its queue would be another list."""


def is_reserved(entity: str) -> bool:
    """Whether an entity may not have this name, given in lower case."""
    return entity.startswith(RESERVED_BEGINNING) or entity in RESERVED_ENTITIES


ALL = "ALL"
"""The id to link contacts to every entity."""
