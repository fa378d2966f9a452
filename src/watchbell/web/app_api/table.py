"""All handlers of the app API, by their names."""

from watchbell.web.app_api.api_keys import API_KEYS
from watchbell.web.app_api.bulk_deletion import DELETION
from watchbell.web.app_api.calls import Handler
from watchbell.web.app_api.definitions import (
    ALERTS,
    CATEGORIES,
    CHANNELS,
    MONITORS,
    PLUGINS,
    TAGS,
)
from watchbell.web.app_api.events import EVENTS
from watchbell.web.app_api.job_logs import LOGS
from watchbell.web.app_api.jobs import JOBS
from watchbell.web.app_api.misc import MISC
from watchbell.web.app_api.monitoring import INVOCATIONS, SAMPLES
from watchbell.web.app_api.running import RUNS
from watchbell.web.app_api.search import SEARCH
from watchbell.web.app_api.servers import GROUPS, SERVERS
from watchbell.web.app_api.snapshots import SNAPSHOTS
from watchbell.web.app_api.stored_files import FILES
from watchbell.web.app_api.users import ROLES, USERS

HANDLERS: dict[str, Handler] = {
    handler.name: handler
    for group in (
        *(EVENTS, RUNS, JOBS, LOGS, CATEGORIES, CHANNELS, PLUGINS, TAGS, SERVERS, GROUPS),
        *(MONITORS, ALERTS, SAMPLES, INVOCATIONS, SNAPSHOTS),
        *(USERS, ROLES, API_KEYS, SEARCH, DELETION, FILES, MISC),
    )
    for handler in group.handlers
}
