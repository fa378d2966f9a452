"""The records that a working layout implies, in plain Python, as Flapjack's second document has
them. It knows nothing of the product's own way from one to the other."""

import hashlib
import json
from itertools import pairwise
from typing import Any

from tests.alerting.consistency import Picture
from watchbell.alerting.model import split_id

CLASSES = (
    *("entity", "check", "check_state", "unscheduled_maintenance", "scheduled_maintenance"),
    *("contact", "medium", "notification_rule", "notification_block"),
)
"""The classes of records that a build makes; others are made with what is queued."""
ANY, MAYBE = "any number", "any number or none"
"""Stand for a number that depends on what happened before."""


def made_id(text: str) -> str:
    return hashlib.sha1(text.encode(errors="surrogateescape")).hexdigest()[:32]


def check_id(check: str) -> str:
    return made_id(f"check:{check}")


def medium_id(contact: str, medium: str) -> str:
    return made_id(f"medium:{contact}:{medium}")


def boolean(claim: bool) -> str:
    return "true" if claim else "false"


def escaped(value: str) -> str:
    return value.replace(" ", "%20").replace(":", "%3A")


class RecordModel:
    def __init__(self, picture: Picture) -> None:
        self.picture, self.keys, self.own = picture, picture.keys, picture.own
        self.records: dict[str, Any] = {}
        self.checks = self._checks()
        self.contacts = {
            contact: fields
            for contact, fields in picture.beginning(self.keys.contact("")).items()
            if "first_name" in fields
        }
        self.entity_names = self._entities()
        self.entity_ids = self._ids_by_name()
        self._of_checks()
        for drop, end in picture.scores(self.own.drops()).items():
            self._block(drop, end)
        for item in picture.queued(self.keys.notifications()):
            self._notification(item)
        for medium in ("email", "sms", "jabber", "slack", "webhook", "pagerduty"):
            for item in picture.queued(self.keys.queue(medium)):
                self._alert(item)
        for contact, fields in self.contacts.items():
            self._contact(contact, fields)
        for entity, name in self.entity_names.items():
            self._entity(entity, name)
        self.records = {key: content for key, content in self.records.items() if content}

    def _of_checks(self) -> None:
        for check in self.checks:
            self._check(check)
            self._states(check)
            for kind in ("scheduled", "unscheduled"):
                self._windows(check, kind)
        for check, media in self.picture.beginning(self.own.alerting_media.literals[0]).items():
            self._alerting(check, media)

    # --- what the document's keys look like

    def fields(self, key: str, **values: str | None) -> None:
        self.records[key] = {name: value for name, value in values.items() if value is not None}

    def members(self, key: str, *members: str) -> None:
        self.records.setdefault(key, set()).update(members)

    def score(self, key: str, member: str, score: int) -> None:
        self.records.setdefault(key, {})[member] = score

    def index(self, kind: str, field: str, value: str | None, record: str) -> None:
        if value is not None:
            self.members(f"{kind}::by_{field}:{escaped(value)}", record)

    # --- what there is

    def _checks(self) -> list[str]:
        found = set(self.picture.beginning(self.keys.current.literals[0]))
        found.update(name for name in self.picture.scores(self.keys.all_checks()) if ":" in name)
        for key in self.picture.beginning(self.picture.keys.prefix):
            for end in (":scheduled_maintenances", ":unscheduled_maintenances"):
                if key.endswith(end):
                    found.add(key.removesuffix(end))
        return sorted(found)

    def _entities(self) -> dict[str, str]:
        found = {
            entity: fields["name"]
            for entity, fields in self.picture.beginning(self.keys.entity("")).items()
            if "name" in fields
        }
        found |= self.picture.table(self.keys.entity_names())
        if self.picture.members(self.keys.entity_contacts("ALL")):
            found["ALL"] = "ALL"
        return found

    def _ids_by_name(self) -> dict[str, str]:
        names = set(self.entity_names.values()) - {"ALL"}
        table = self.picture.table(self.keys.entity_ids())
        found = {
            name: table.get(name) or self.picture.text(self.keys.entity_id(name)) for name in names
        }
        return {name: one for name, one in found.items() if one} | {"ALL": "ALL"}

    # --- records

    def _check(self, check: str) -> None:
        entity, name = split_id(check)
        record, current = check_id(check), self.picture.table(self.keys.current(entity, name))
        enabled = boolean(name in self.picture.scores(self.keys.current_checks(entity)))
        self.members("check::ids", record)
        self.fields(
            f"check:{record}:attrs",
            entity_name=entity,
            name=name,
            state=current.get("state"),
            summary=current.get("summary"),
            details=current.get("details"),
            last_update=current.get("last_update"),
            last_problem_alert=self.picture.text(self.keys.last_problem(entity, name)),
            enabled=enabled,
        )
        self.index("check", "entity_name", entity, record)
        self.index("check", "name", name, record)
        self.index("check", "enabled", enabled, record)
        self.index("check", "state", current.get("state"), record)
        entity_id = self.entity_ids.get(entity)
        if entity_id is not None:
            self.members(f"entity:{entity_id}:checks_ids", record)
            contacts = self.picture.members(self.keys.check_contacts(entity_id, name))
            self.members(f"check:{record}:contacts_ids", *contacts)

    def _states(self, check: str) -> None:
        keys, parts, picture = self.keys, split_id(check), self.picture
        stamps = picture.list(keys.states(*parts))
        for stamp, after in pairwise([*stamps, None]):
            assert stamp is not None
            record, state = (
                made_id(f"state:{check}:{stamp}"),
                picture.text(keys.state(*parts, stamp)),
            )
            family = keys.recoveries if state == "ok" else keys.problems
            told = any_between(picture.list(family(*parts)), stamp, after)
            count = picture.text(keys.count(*parts, stamp))
            self.members("check_state::ids", record)
            self.fields(
                f"check_state:{record}:attrs",
                state=state,
                summary=picture.text(keys.summary(*parts, stamp)),
                details=picture.text(keys.details(*parts, stamp)),
                count=count,
                timestamp=stamp,
                notified=boolean(told),
                last_notification_count=ANY if told else None,
            )
            self.fields(f"check_state:{record}:belongs_to", check_id=check_id(check))
            self.score(f"check:{check_id(check)}:states_ids", record, int(stamp))
            self.index("check_state", "state", state, record)
            self.index("check_state", "notified", boolean(told), record)
            if count is not None:
                self.records.setdefault("check_state::by_count", {})[count] = record

    def _windows(self, check: str, kind: str) -> None:
        keys, parts, name = self.keys, split_id(check), f"{kind}_maintenance"
        windows = self.picture.scores(getattr(keys, f"{kind}_windows")(*parts))
        starts = sorted(windows, key=int)
        for start, after in pairwise([*starts, None]):
            assert start is not None
            record, end = made_id(f"{kind}:{check}:{start}"), int(start) + windows[start]
            told: dict[str, str | None] = {}
            if kind == "unscheduled":
                is_told = any_between(
                    self.picture.list(keys.acknowledgements(*parts)), start, after
                )
                told = {
                    "notified": boolean(is_told),
                    "last_notification_count": MAYBE if is_told else None,
                }
                self.index(name, "notified", boolean(is_told), record)
            self.members(f"{name}::ids", record)
            self.fields(
                f"{name}:{record}:attrs",
                start_time=start,
                end_time=str(end),
                summary=self.picture.text(getattr(keys, f"{kind}_summary")(*parts, start)),
                **told,
            )
            owner = check_id(check)
            self.fields(
                f"{name}:{record}:belongs_to", check_by_start_id=owner, check_by_end_id=owner
            )
            self.score(f"check:{owner}:{name}s_by_start_ids", record, int(start))
            self.score(f"check:{owner}:{name}s_by_end_ids", record, end)

    def _alerting(self, check: str, media: set[str]) -> None:
        for one in media:
            contact, _, medium = one.rpartition(":media:")
            record = medium_id(contact, medium)
            self.members(f"check:{check_id(check)}:alerting_media_ids", record)
            self.members(f"medium:{record}:alerting_checks_ids", check_id(check))

    def _block(self, drop: str, end: int) -> None:
        record = made_id(f"block:{drop}")
        rest = drop.removeprefix(self.keys.rollup_drop.literals[0])
        check, state = None, None
        if rest != drop:
            contact, medium = rest.split(":")
        else:
            rest = drop.removeprefix(self.keys.state_drop.literals[0])
            contact, medium, rest = rest.split(":", 2)
            check, _, state = rest.rpartition(":")
        self.members("notification_block::ids", record)
        self.fields(
            f"notification_block:{record}:attrs",
            expire_at=str(end),
            rollup=boolean(check is None),
            state=state,
        )
        self.fields(
            f"notification_block:{record}:belongs_to",
            medium_id=medium_id(contact, medium),
            check_id=check and check_id(check),
        )
        self.index("notification_block", "rollup", boolean(check is None), record)
        self.index("notification_block", "state", state, record)
        self.score(f"medium:{medium_id(contact, medium)}:notification_blocks_ids", record, end)
        if check is not None:
            self.members(f"check:{check_id(check)}:notification_blocks_ids", record)

    def _notification(self, item: str) -> None:
        """In the state that its check had after the event of that number."""
        queued = self._payload(item)
        if queued is None:
            return
        check, keys, parts = queued["event_id"], self.keys, split_id(queued["event_id"])
        counts = {
            stamp: int(self.picture.text(keys.count(*parts, stamp)) or 0)
            for stamp in self.picture.list(keys.states(*parts))
        }
        past = [stamp for stamp, count in counts.items() if count <= queued["count"]]
        states = [made_id(f"state:{check}:{stamp}") for stamp in past]
        state, before = [None, None, *states][:-3:-1]
        self.members("notification::ids", item)
        self.members(f"check:{check_id(check)}:notifications_ids", item)
        names = ("state_duration", "severity", "type", "time", "duration")
        self.fields(f"notification:{item}:attrs", **_texts(queued, names))
        if queued["tags"]:
            self.members(f"notification:{item}:attrs:tags", *queued["tags"])
        self.fields(
            f"notification:{item}:belongs_to",
            check_id=check_id(check),
            state_id=state,
            previous_state_id=before,
        )
        if state is not None:
            self.members(f"check_state:{state}:current_notifications_ids", item)
        if before is not None:
            self.members(f"check_state:{before}:previous_notifications_ids", item)

    def _alert(self, item: str) -> None:
        queued = self._payload(item)
        if queued is None:
            return
        check, medium = (
            check_id(queued["event_id"]),
            medium_id(queued["contact_id"], queued["media"]),
        )
        names = (
            *("state", "summary", "details", "last_state", "last_summary", "event_count", "time"),
            *("notification_type", "state_duration", "rollup"),
        )
        fields = _texts(queued, names)
        if queued["duration"] is not None:
            fields["acknowledgement_duration"] = str(queued["duration"])
        self.members("alert::ids", item)
        self.fields(f"alert:{item}:attrs", **fields)
        self.fields(f"alert:{item}:belongs_to", medium_id=medium, check_id=check)
        self.members(f"check:{check}:alerts_ids", item)
        self.members(f"medium:{medium}:alerts_ids", item)
        for name, entry in queued["rollup_alerts"].items():
            one = made_id(f"rollup:{item}:{name}")
            self.members("rollup_alert::ids", one)
            self.index("rollup_alert", "state", entry["state"], one)
            self.fields(f"rollup_alert:{one}:attrs", **_texts(entry, ("state", "duration")))
            self.fields(f"rollup_alert:{one}:belongs_to", check_id=check_id(name), alert_id=item)
            self.members(f"check:{check_id(name)}:rollup_alerts_ids", one)
            self.members(f"alert:{item}:rollup_alerts_ids", one)

    def _payload(self, item: str) -> dict[str, Any] | None:
        """The JSON of an item that is an id."""
        if item.startswith("{"):
            return None
        return self.picture.opened(item)

    def _contact(self, contact: str, person: dict[str, str]) -> None:
        picture, keys = self.picture, self.keys
        names = ("first_name", "last_name", "email")
        self.members("contact::ids", contact)
        self.fields(
            f"contact:{contact}:attrs",
            **{name: person.get(name) for name in names},
            timezone=picture.text(keys.timezone(contact)),
        )
        credentials = picture.table(keys.pagerduty(contact))
        self.fields(f"contact:{contact}:attrs:pagerduty_credentials", **credentials)
        for tag, tagged in picture.beginning(keys.contact_tag("")).items():
            if contact in tagged:
                self.members(f"contact:{contact}:attrs:tags", tag)
        intervals = picture.table(keys.intervals(contact))
        thresholds = picture.table(keys.rollup_thresholds(contact))
        for medium, address in picture.table(keys.media(contact)).items():
            record = medium_id(contact, medium)
            self.members("medium::ids", record)
            self.members(f"contact:{contact}:media_ids", record)
            self.index("medium", "type", medium, record)
            self.fields(
                f"medium:{record}:attrs",
                type=medium,
                address=address,
                interval=intervals.get(medium),
                rollup_threshold=thresholds.get(medium),
            )
            self.fields(f"medium:{record}:belongs_to", contact_id=contact)
        for rule in picture.members(keys.rules(contact)):
            self._rule(contact, rule, picture.table(keys.rule(rule)))

    def _rule(self, contact: str, rule: str, fields: dict[str, str]) -> None:
        if not fields:
            return
        at, severities = f"notification_rule:{rule}", ("unknown", "warning", "critical")
        self.members("notification_rule::ids", rule)
        self.members(f"contact:{contact}:notification_rules_ids", rule)
        self.fields(
            f"{at}:attrs",
            time_restrictions_json=fields.get("time_restrictions"),
            **{f"{s}_blackhole": fields.get(f"{s}_blackhole", "false") for s in severities},
        )
        for name in ("entities", "tags", *(f"{s}_media" for s in severities)):
            self.members(f"{at}:attrs:{name}", *(json.loads(fields.get(name, "null")) or ()))
        self.fields(f"{at}:belongs_to", contact_id=contact)

    def _entity(self, entity: str, name: str) -> None:
        entities = self.picture.scores(self.keys.current_entities())
        enabled = boolean(name == "ALL" or name in entities)
        self.members("entity::ids", entity)
        self.fields(f"entity:{entity}:attrs", name=name, enabled=enabled)
        self.index("entity", "enabled", enabled, entity)
        if self.entity_ids.get(name) == entity:
            self.records.setdefault("entity::by_name", {})[name] = entity
        for contact in self.picture.members(self.keys.entity_contacts(entity)):
            self.members(f"entity:{entity}:contacts_ids", contact)
            self.members(f"contact:{contact}:entities_ids", entity)
        for tag, tagged in self.picture.beginning(self.keys.entity_tag("")).items():
            if entity in tagged:
                self.members(f"entity:{entity}:attrs:tags", tag)


def _texts(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, str | None]:
    return {name: str(fields[name]) for name in names if fields[name] is not None}


def any_between(times: list[str], start: str, end: str | None) -> bool:
    return any(int(start) <= int(one) and (end is None or int(one) < int(end)) for one in times)


def mistakes(picture: Picture) -> list[str]:
    """Where the records in the store are not those that the working layout implies."""
    expected, found = RecordModel(picture).records, picture.records
    wrong = []
    for key in sorted(expected.keys() | found.keys()):
        should, does = expected.get(key), found.get(key)
        if isinstance(should, dict) and isinstance(does, dict):
            should = _resolved(should, does)
        if should != does:
            wrong.append(f"{key} is {does}, but should be {should}")
    return wrong


def _resolved(should: dict[str, Any], does: dict[str, Any]) -> dict[str, Any]:
    """With what is there in place of any number."""
    found = {}
    for name, value in should.items():
        if value in (ANY, MAYBE) and str(does.get(name)).isdigit():
            found[name] = does[name]
        elif value != MAYBE or name in does:
            found[name] = value
    return found
