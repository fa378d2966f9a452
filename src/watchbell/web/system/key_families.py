"""All key families: those of every domain, and the web's own."""

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.record_keys import Records
from watchbell.archive.keys import Archive, Crawls
from watchbell.cron.keys import Cron, CronOwn, CronUpstream
from watchbell.fleet.keys import Fleet
from watchbell.gateways.keys import Gateways
from watchbell.gateways.pagerduty_keys import PagerDutyKeys, PagerDutyOwn
from watchbell.jobs.keys import Jobs
from watchbell.store.families import Keyspace
from watchbell.store.keys import StoreKeys
from watchbell.web.keys import Web

KEYSPACES: list[type[Keyspace]] = [
    *(Alerting, Records, PagerDutyKeys, Cron, CronUpstream, Archive, StoreKeys, AlertingOwn),
    *(Gateways, PagerDutyOwn, CronOwn, Fleet, Jobs, Crawls, Web),
]
