"""What the settings add to all jobs: variables, limits and actions; also actions of alerts."""

from collections.abc import Mapping
from typing import Any

from watchbell.errors import BadSettings, Refused
from watchbell.jobs import validation
from watchbell.jobs.action_rules import ALERT_TRIGGERS
from watchbell.jobs.decide.launch import Defaults
from watchbell.settings import Settings


def of(settings: Settings) -> Defaults:
    """A table `env` has variables. Each other table is a limit, or an action if it has a
    `trigger`. Raises BadSettings."""
    tables = settings.job_defaults.content
    named = [(f"job_defaults.{name}", table) for name, table in tables.items() if name != "env"]
    of_alerts = [one for one in named if one[1].get("trigger") in ALERT_TRIGGERS]
    try:
        return Defaults(
            env=_variables(tables.get("env", {})),
            limits=tuple(
                validation.limit(table, field, strict=True)
                for field, table in named
                if "trigger" not in table
            ),
            actions=tuple(
                validation.action(table, field, strict=True)
                for field, table in named
                if "trigger" in table and (field, table) not in of_alerts
            ),
            alert_actions=tuple(
                validation.alert_action({**table}, field, strict=True) for field, table in of_alerts
            ),
        )
    except Refused as error:
        raise BadSettings(str(error)) from None


def _variables(table: Mapping[str, Any]) -> dict[str, str]:
    for name, value in table.items():
        if not isinstance(value, str):
            raise Refused(f"expected text, got {value!r}", field=f"job_defaults.env.{name}")
        if not name or "=" in name or "\0" in name + value:
            raise Refused("expected a name without =, and no NUL", field=f"job_defaults.env.{name}")
    return dict(table)
