"""Acknowledgements on PagerDuty, copied to our checks: each once, by one process at a time."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from watchbell import logs
from watchbell.alerting import contact_links, contacts, history
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.decide.maintenance import IS_OPEN
from watchbell.alerting.event import acknowledge, encode
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, Contact, short_id, split_id
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed, LockLost, Refused, StoreUnavailable
from watchbell.gateways import over_http
from watchbell.gateways.over_http import Reach
from watchbell.gateways.pagerduty_keys import PagerDutyKeys, PagerDutyOwn
from watchbell.gateways.retries import backoff
from watchbell.http.answer import one_line
from watchbell.http.client import Request, basic, header
from watchbell.settings import Secret
from watchbell.store.client import Argument, Store
from watchbell.store.lock import locked
from watchbell.store.script import Script

DURATION = 4 * 3600
_LEASE = 60.0
_PAGE, _PAGES = 100, 100
_MOST = 8 << 20
_AT_ONCE = 500
_ACCOUNTS = 10
_REMEMBERED = 30 * 86_400
_SUBDOMAIN = re.compile("[a-z0-9][a-z0-9-]{0,62}(\\.eu)?", re.IGNORECASE)

# given[1] now. 1 where it fails and may be acknowledged: enabled, and in no maintenance.
_OPEN = CheckScript(
    IS_OPEN
    + """
local state = redis.call('HGET', key('current', entity, check), 'state')
if not state or state == 'ok' then return 0 end
if not redis.call('ZSCORE', key('current_checks', entity), check) then return 0 end
for _, kind in ipairs({'scheduled', 'unscheduled'}) do
  local windows = key(kind .. '_windows', entity, check)
  if is_open(key(kind, entity, check), windows, tonumber(given[1])) then return 0 end
end
return 1
"""
)

# KEYS[1] acknowledgements that were passed on, KEYS[2] events, KEYS[3] the check, KEYS[4] its
# unscheduled maintenance; ARGV[1] the event, ARGV[2] seconds for which acknowledgements are
# remembered, ARGV[3…] those of the check. Returns 1 where they are passed on, as one event: the
# check fails, nobody has acknowledged it here, and one of them was not passed on before.
_PASS_ON = Script("""
local state = redis.call('HGET', KEYS[3], 'state')
if not state or state == 'ok' or redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local new = redis.call('SADD', KEYS[1], unpack(ARGV, 3))
redis.call('EXPIRE', KEYS[1], ARGV[2])
if new == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[1])
return 1
""")


class Account(Struct, frozen=True):
    """A PagerDuty account: a token, or a name and password."""

    token: str = ""
    subdomain: str = ""
    username: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Account({self.subdomain or 'token'})"


class Acknowledged(Struct, frozen=True):
    """An incident that somebody has acknowledged on PagerDuty."""

    incident: str
    key: str
    at: str
    by: str


class Acknowledgements:
    def __init__(
        self,
        name: str,
        settings: Reach,
        every: float,
        api_url: str,
        account_url: str,
        dedup_key: Callable[[str], str],
    ) -> None:
        self.client = over_http.client(settings, is_service=True, connections=_ACCOUNTS, most=_MOST)
        self._every, self._dedup_key = every, dedup_key
        self._api_url, self._account_url = api_url.rstrip("/"), account_url.rstrip("/")
        self._failures: dict[Account, tuple[int, float]] = {}
        """How often an account failed in a row, and when it is tried again."""
        self._told: set[str] = set()
        self._log = logs.get(role=f"gateway {name}")

    async def watch(self, store: Store) -> None:
        """Runs until cancelled. One process at a time asks PagerDuty; others take over."""
        if not self._every:
            await asyncio.Event().wait()
        key = PagerDutyKeys(store.prefix).acks_running()
        while True:
            try:
                async with locked(store, key, _LEASE):
                    while True:
                        await self.look(store)
                        await asyncio.sleep(self._every)
            except (Refused, LockLost, StoreUnavailable):
                pass
            except Exception:  # noqa: BLE001 alerts are sent all the same
                self._log.exception("could not ask PagerDuty for acknowledgements")
            await asyncio.sleep(self._every)

    async def look(self, store: Store) -> int:
        """Passes on what was acknowledged since the last look; returns how many."""
        accounts = await self._accounts(store)
        now = SYSTEM.monotonic()
        due = [one for one in accounts if self._failures.get(one, (0, 0.0))[1] <= now]
        room = asyncio.Semaphore(_ACCOUNTS)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._asked(account, room)) for account in due]
        found: dict[str, list[Acknowledged]] = {}
        for account, task in zip(due, tasks, strict=True):
            keys = {self._dedup_key(event_id): event_id for event_id in accounts[account]}
            for one in task.result():
                if one.key in keys:  # of a check that this account's owner is linked to
                    found.setdefault(keys[one.key], []).append(one)
        return await _passed_on(store, found)

    async def _accounts(self, store: Store) -> dict[Account, set[str]]:
        """The accounts of contacts of failing checks, each with those checks."""
        failing = [event_id for event_id, _ in await history.failing(store)]
        asked = _OPEN.over(store, failing, [int(SYSTEM.now())], _AT_ONCE)
        waiting = [event_id async for event_id, is_open in asked if is_open]
        found = dict[Account, set[str]]()
        for first in range(0, len(waiting), _AT_ONCE):
            some = waiting[first : first + _AT_ONCE]
            linked = await contact_links.interested_in(store, some)
            people = await contacts.load(store, {one for each in linked.values() for one in each})
            accounts = {one: self._account(person) for one, person in people.items()}
            for event_id, ids in linked.items():
                for account in filter(None, map(accounts.get, ids)):
                    found.setdefault(account, set()).add(event_id)
        return found

    def _account(self, person: Contact) -> Account | None:
        try:
            return account_of(person.pagerduty)
        except (BadSettings, Refused) as error:
            self._tell(f"contact {person.id}: {error}")
            return None

    async def _asked(self, account: Account, room: asyncio.Semaphore) -> list[Acknowledged]:
        try:
            async with room:
                found = [one async for one in self._incidents(account)]
        except DeliveryFailed as error:
            tries = self._failures.get(account, (0, 0.0))[0] + 1
            pause = backoff(tries, random.random(), error.retry_after)
            self._failures[account] = (tries, SYSTEM.monotonic() + pause)
            self._tell(f"{account!r}: {error}")
            return []
        self._failures.pop(account, None)
        return found

    async def _incidents(self, account: Account) -> AsyncIterator[Acknowledged]:
        for page in range(_PAGES):
            request = self._request(account, page * _PAGE)
            answer = (await self.client.send(request)).json()
            incidents = answer.get("incidents")
            if not isinstance(incidents, list):
                raise DeliveryFailed("the answer has no incidents in it")
            for one in acknowledged(incidents):
                yield one
            if not _has_more(answer, (page + 1) * _PAGE):
                return

    def _request(self, account: Account, offset: int) -> Request:
        page = {"date_range": "all", "limit": _PAGE, "offset": offset}
        if account.token:
            query = urlencode({"statuses[]": "acknowledged", **page})
            return Request(
                url=f"{self._api_url}/incidents?{query}",
                method="GET",
                headers={"Accept": "application/vnd.pagerduty+json;version=2"},
                private={"Authorization": f"Token token={account.token}"},
                secrets=(account.token,),
            )
        query = urlencode({"status": "acknowledged", **page})
        base = self._account_url.replace("{subdomain}", account.subdomain)
        return Request(
            url=f"{base}/api/v1/incidents?{query}",
            method="GET",
            private=basic(account.username, account.password),
            secrets=(account.password,),
        )

    def _tell(self, reason: str) -> None:
        """Once, since the same will be found at every look."""
        if reason not in self._told and len(self._told) < 1_000:
            self._told.add(reason)
            self._log.warning("acknowledgements on PagerDuty can't be read", reason=reason)


async def _passed_on(store: Store, found: Mapping[str, list[Acknowledged]]) -> int:
    """One event for each check that fails still and may be acknowledged."""
    now, count = int(SYSTEM.now()), 0
    keys, own = Alerting(store.prefix), PagerDutyOwn(store.prefix)
    for status in await history.check_states(store, list(found), now):
        if status.state not in FAILING or status.maintenance is not None:
            continue
        (entity, check), given = split_id(status.id), found[status.id]
        event = acknowledge(
            entity,
            check,
            summary=f"Acknowledged on PagerDuty by {max(given, key=_when).by}",
            duration=DURATION,
            acknowledgement_id=short_id(status.id),
            time=now,
        )
        places = [own.acks(entity, check), keys.events()]
        places += [keys.current(entity, check), keys.unscheduled(entity, check)]
        args: list[Argument] = [encode(event), _REMEMBERED]
        args += sorted({f"{one.incident} {one.at}" for one in given})
        count += await _PASS_ON(store, places, args)
    return count


def _when(one: Acknowledged) -> str:
    return one.at


def account_of(fields: Mapping[str, str]) -> Account | None:
    """The account that a contact's fields are of, or None; BadSettings where a secret that they
    refer to can't be read, Refused where they can't be an account's."""
    secrets = {name: Secret(fields.get(name, "")) for name in contacts.SECRET}
    if secrets["token"]:
        token = secrets["token"].reveal()
        if header(token) != token:  # it could say more than it should
            raise Refused("expected printable ASCII characters", field="pagerduty.token")
        return Account(token=token)
    subdomain, username = fields.get("subdomain", ""), fields.get("username", "")
    if not (subdomain and username and secrets["password"]):
        return None
    if not _SUBDOMAIN.fullmatch(subdomain):  # the password would go to another's server
        raise Refused(
            f"{one_line(subdomain, 100)!r} is not a subdomain", field="pagerduty.subdomain"
        )
    return Account(
        subdomain=subdomain.lower(), username=username, password=secrets["password"].reveal()
    )


def acknowledged(incidents: Iterable[Any]) -> Iterable[Acknowledged]:
    """Incidents that a person has acknowledged, in either version of the API. Those that our own
    acknowledgements caused are left out."""
    for incident in incidents:
        if not isinstance(incident, dict):
            continue
        given = incident.get("acknowledgements") or incident.get("acknowledgers") or []
        people = [one for one in map(_person, given if isinstance(given, list) else []) if one]
        key = incident.get("incident_key")
        if people and isinstance(key, str) and incident.get("status") == "acknowledged":
            at, name = max(people)
            yield Acknowledged(one_line(str(incident.get("id")), 100), key, at, name)


def _person(given: Any) -> tuple[str, str] | None:
    """When and by whom; None if it was not a person."""
    who = (given.get("acknowledger") or given.get("object")) if isinstance(given, dict) else None
    if not isinstance(who, dict) or not str(who.get("type", "")).startswith("user"):
        return None
    name = who.get("summary") or who.get("name") or who.get("email") or "somebody"
    return one_line(str(given.get("at")), 100), one_line(str(name), 100)


def _has_more(answer: Mapping[str, Any], done: int) -> bool:
    total = answer.get("total")
    return answer.get("more") is True or (isinstance(total, int) and total > done)
