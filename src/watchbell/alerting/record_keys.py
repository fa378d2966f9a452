"""The key families of Flapjack's records, which can be kept beside the working layout.

A record has its fields in `…:attrs`; `X::ids` lists the records of a class, `X::by_…` indexes them,
`…_ids` has what belongs to a record, and `belongs_to` what it belongs to.
"""

from watchbell.store.families import Hash, Keyspace, Set, SortedSet, String


class Records(Keyspace, document="flapjack records"):
    entities = Set("entity::ids")
    entities_by_name = Hash("entity::by_name")
    entities_by_enabled = Set("entity::by_enabled:BOOLEAN")
    entity = Hash("entity:ENTITY_ID:attrs")
    entity_tags = Set("entity:ENTITY_ID:attrs:tags")
    entity_contacts = Set("entity:ENTITY_ID:contacts_ids")
    entity_checks = Set("entity:ENTITY_ID:checks_ids")

    checks = Set("check::ids")
    checks_by_entity_name = Set("check::by_entity_name:INDEXED")
    checks_by_name = Set("check::by_name:INDEXED")
    checks_by_enabled = Set("check::by_enabled:BOOLEAN")
    checks_by_state = Set("check::by_state:STATE")
    check = Hash("check:RECORD_ID:attrs")
    check_contacts = Set("check:RECORD_ID:contacts_ids")
    check_states = SortedSet("check:RECORD_ID:states_ids")
    check_scheduled_by_start = SortedSet("check:RECORD_ID:scheduled_maintenances_by_start_ids")
    check_scheduled_by_end = SortedSet("check:RECORD_ID:scheduled_maintenances_by_end_ids")
    check_unscheduled_by_start = SortedSet("check:RECORD_ID:unscheduled_maintenances_by_start_ids")
    check_unscheduled_by_end = SortedSet("check:RECORD_ID:unscheduled_maintenances_by_end_ids")
    check_blocks = Set("check:RECORD_ID:notification_blocks_ids")
    check_alerting_media = Set("check:RECORD_ID:alerting_media_ids")
    check_notifications = Set("check:RECORD_ID:notifications_ids")
    check_alerts = Set("check:RECORD_ID:alerts_ids")
    check_rollup_alerts = Set("check:RECORD_ID:rollup_alerts_ids")

    states = Set("check_state::ids")
    states_by_state = Set("check_state::by_state:STATE")
    states_by_notified = Set("check_state::by_notified:BOOLEAN")
    states_by_count = Hash("check_state::by_count")
    state = Hash("check_state:RECORD_ID:attrs")
    state_belongs = Hash("check_state:RECORD_ID:belongs_to")
    state_current_notifications = Set("check_state:RECORD_ID:current_notifications_ids")
    state_previous_notifications = Set("check_state:RECORD_ID:previous_notifications_ids")

    unscheduled = Set("unscheduled_maintenance::ids")
    unscheduled_by_notified = Set("unscheduled_maintenance::by_notified:BOOLEAN")
    unscheduled_window = Hash("unscheduled_maintenance:RECORD_ID:attrs")
    unscheduled_belongs = Hash("unscheduled_maintenance:RECORD_ID:belongs_to")
    scheduled = Set("scheduled_maintenance::ids")
    scheduled_window = Hash("scheduled_maintenance:RECORD_ID:attrs")
    scheduled_belongs = Hash("scheduled_maintenance:RECORD_ID:belongs_to")

    contacts = Set("contact::ids")
    contact = Hash("contact:CONTACT_ID:attrs")
    contact_pagerduty = Hash("contact:CONTACT_ID:attrs:pagerduty_credentials")
    contact_tags = Set("contact:CONTACT_ID:attrs:tags")
    contact_entities = Set("contact:CONTACT_ID:entities_ids")
    contact_media = Set("contact:CONTACT_ID:media_ids")
    contact_rules = Set("contact:CONTACT_ID:notification_rules_ids")

    media = Set("medium::ids")
    media_by_type = Set("medium::by_type:MEDIA")
    medium = Hash("medium:RECORD_ID:attrs")
    medium_belongs = Hash("medium:RECORD_ID:belongs_to")
    medium_alerting_checks = Set("medium:RECORD_ID:alerting_checks_ids")
    medium_alerts = Set("medium:RECORD_ID:alerts_ids")
    medium_blocks = SortedSet("medium:RECORD_ID:notification_blocks_ids")

    rules = Set("notification_rule::ids")
    rule = Hash("notification_rule:RULE_ID:attrs")
    rule_entities = Set("notification_rule:RULE_ID:attrs:entities")
    rule_tags = Set("notification_rule:RULE_ID:attrs:tags")
    rule_unknown_media = Set("notification_rule:RULE_ID:attrs:unknown_media")
    rule_warning_media = Set("notification_rule:RULE_ID:attrs:warning_media")
    rule_critical_media = Set("notification_rule:RULE_ID:attrs:critical_media")
    rule_belongs = Hash("notification_rule:RULE_ID:belongs_to")

    notifications = Set("notification::ids")
    notification = Hash("notification:RECORD_ID:attrs")
    notification_tags = Set("notification:RECORD_ID:attrs:tags")
    notification_belongs = Hash("notification:RECORD_ID:belongs_to")

    blocks = Set("notification_block::ids")
    blocks_by_rollup = Set("notification_block::by_rollup:BOOLEAN")
    blocks_by_state = Set("notification_block::by_state:STATE")
    block = Hash("notification_block:RECORD_ID:attrs")
    block_belongs = Hash("notification_block:RECORD_ID:belongs_to")

    alerts = Set("alert::ids")
    alert = Hash("alert:ALERT_ID:attrs")
    alert_belongs = Hash("alert:ALERT_ID:belongs_to")
    alert_rollup_alerts = Set("alert:ALERT_ID:rollup_alerts_ids")

    rollup_alerts = Set("rollup_alert::ids")
    rollup_alerts_by_state = Set("rollup_alert::by_state:STATE")
    rollup_alert = Hash("rollup_alert:RECORD_ID:attrs")
    rollup_alert_belongs = Hash("rollup_alert:RECORD_ID:belongs_to")

    lock_owner = String("CLASS::lock:owner", expires="sometimes")
    lock_expiry = String("CLASS::lock:expiry", expires="sometimes")


CLASSES = (
    *("entity", "check", "check_state", "unscheduled_maintenance", "scheduled_maintenance"),
    *("contact", "medium", "notification_rule", "notification", "notification_block"),
    *("alert", "rollup_alert"),
)
"""The classes of records, as their keys begin."""

_OF_CHECKS = "check:RECORD_ID:"

CHECK_KEYS = frozenset(
    family.pattern.removeprefix(_OF_CHECKS)
    for family in Records.families()
    if family.pattern.startswith(_OF_CHECKS)
)
"""How the keys of a check's record end: after an id, they are names that a check may not have."""

_DIGITS = frozenset("0123456789abcdef")
_ID_LENGTH = 32


def is_record(entity: str, check: str) -> bool:
    """Whether `check:ENTITY:CHECK` would be a key of a check's record."""
    return len(entity) == _ID_LENGTH and check in CHECK_KEYS and _DIGITS.issuperset(entity)


def escaped(value: str) -> str:
    """A value as it stands in the key of an index."""
    return value.replace(" ", "%20").replace(":", "%3A")
