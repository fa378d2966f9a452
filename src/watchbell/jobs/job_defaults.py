"""What the settings add to all jobs: variables, limits and actions."""

from collections.abc import Mapping
from typing import Any

from watchbell.errors import BadSettings, Refused
from watchbell.jobs import validation
from watchbell.jobs.decide.launch import Defaults
from watchbell.settings import Settings


def of(settings: Settings) -> Defaults:
    """A table `env` has variables. Each other table is a limit, or an action if it has a
    `trigger`. Raises BadSettings."""
    tables = settings.job_defaults.content
    named = [(f"job_defaults.{name}", table) for name, table in tables.items() if name != "env"]
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
                if "trigger" in table
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
