"""The key families of PagerDuty's acknowledgements."""

from watchbell.store.families import Keyspace, Set, String


class PagerDutyKeys(Keyspace, document="flapjack"):
    acks_running = String("sem_pagerduty_acks_running", expires=True)


class PagerDutyOwn(Keyspace, document="watchbell"):
    acks = Set("pagerduty_acks:ENTITY:CHECK", expires=True)
