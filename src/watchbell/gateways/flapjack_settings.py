"""Translates the settings of Flapjack 1.x into ours, and lists what has no counterpart."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.units import duration

_BARE = re.compile("[A-Za-z0-9_-]+")
_IGNORED = {
    *("pid_dir", "log_dir", "daemonize", "logger", "enabled"),
    *("timeout", "access_log", "auto_refresh", "notification_log_file"),
}
"""What is meant for how Flapjack itself runs."""

Value = str | int | bool | list[str]
Tables = dict[str, dict[str, Value]]


class Translated(Struct):
    tables: Tables = {}
    """Ours, by section."""
    left: list[str] = []
    """What has no counterpart, with the reason where there is one."""

    def put(self, section: str, name: str, value: Value) -> None:
        self.tables.setdefault(section, {})[name] = value

    def toml(self) -> str:
        parts = []
        for section, values in self.tables.items():
            lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
            parts.append("\n".join([f"[{section}]", *lines]))
        return "\n\n".join(parts) + "\n" if parts else ""


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\u{ord(one[0]):04x}", escaped)
    return f'"{escaped}"'


def translate(document: Any, environment: str) -> Translated:
    """`document` is what the YAML file says. Raises Refused where there is no such environment."""
    chosen = document.get(environment) if isinstance(document, dict) else None
    if not isinstance(chosen, dict):
        names = ", ".join(map(str, document)) if isinstance(document, dict) else "none"
        reason = f"there is no environment {environment!r}; the file has {names}"
        raise Refused(reason, field="environment")
    found = Translated()
    for name in ("redis", "processor", "notifier", "gateways"):
        if not isinstance(chosen.get(name) or {}, dict):
            found.left.append(f"{name}: {_NO_TABLE}")
    _redis(found, _table(chosen, "redis"))
    _processor(found, _table(chosen, "processor"))
    _notifier(found, _table(chosen, "notifier"))
    for name, values in _table(chosen, "gateways").items():
        if isinstance(values or {}, dict):
            _gateway(found, str(name), values or {})
        else:
            found.left.append(f"gateways.{name}: {_NO_TABLE}")
    known = {"redis", "processor", "notifier", "gateways", *_IGNORED}
    for name in chosen:
        if name not in known:
            found.left.append(f"{name}: {_WHY.get(str(name), _NO_COUNTERPART)}")
    return found


_NO_TABLE = "expected names with values below it"
_NO_COUNTERPART = "Watchbell has no such setting"
_WHY = {
    "nagios-receiver": "run `watchbell receive nagios FIFO`",
    "nsca-receiver": "run `watchbell receive nsca FIFO`",
    "executive": "settings of Flapjack before 0.8",
}


def _table(given: Mapping[Any, Any], name: str) -> dict[Any, Any]:
    found = given.get(name)
    return found if isinstance(found, dict) else {}


def _redis(found: Translated, given: dict[Any, Any]) -> None:
    if not given:
        return
    if given.get("path"):
        url = f"unix://{given['path']}"
    else:
        url = f"redis://{given.get('host') or '127.0.0.1'}:{given.get('port') or 6379}"
        url += f"/{given.get('db') or 0}"
    found.left.append(
        f"redis: Watchbell has its own store; to go on with Flapjack's, add [store] url = {url!r}, "
        "and a password if it has one"
    )


_LONGEST = 1 << 33


def _seconds(value: object) -> int | None:
    """A number, or words as `100 years`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if 0 <= value < _LONGEST else None  # not nan, of which neither is true
    try:
        return int(duration(str(value)))
    except (Refused, ValueError):
        return None


def _processor(found: Translated, given: dict[Any, Any]) -> None:
    usual = {"queue": "events", "events_queue": "events", "notifier_queue": "notifications"}
    _queues(found, "processor", given, usual)
    for name, value in given.items():
        if name == "archive_events":
            found.put("alerting", "archive", bool(value))
        elif name in _DELAYS:
            seconds = _seconds(value)
            if seconds is None:
                found.left.append(f"processor.{name}: {value!r} is no length of time")
            else:
                found.put("alerting", _DELAYS[name], seconds)
        elif name == "new_check_scheduled_maintenance_ignore_tags":
            tags = value if isinstance(value, list) else [value]
            found.put("alerting", "new_check_ignore_tags", [str(tag) for tag in tags])
        elif not _is_elsewhere(name):
            found.left.append(f"processor.{name}: {_NO_COUNTERPART}")


def _is_elsewhere(name: object) -> bool:
    return name in _IGNORED or _is_queue(name)


def _is_queue(name: object) -> bool:
    return name == "queue" or str(name).endswith("_queue")


def _queues(found: Translated, place: str, given: dict[Any, Any], usual: Mapping[str, str]) -> None:
    """Queues have their usual names here."""
    for name, value in given.items():
        ours = usual.get(name, f"{str(name).removesuffix('_queue')}_notifications")
        if _is_queue(name) and value != ours:
            found.left.append(f"{place}.{name}: {value!r}; Watchbell's is {ours!r}")


_DELAYS = {
    "events_archive_maxage": "archive_seconds",
    "new_check_scheduled_maintenance_duration": "new_check_maintenance",
    "default_initial_failure_delay": "initial_failure_delay",
    "default_repeat_failure_delay": "repeat_failure_delay",
    "default_initial_recovery_delay": "initial_recovery_delay",
}


def _notifier(found: Translated, given: dict[Any, Any]) -> None:
    _queues(found, "notifier", given, {"queue": "notifications"})
    for name, value in given.items():
        if name == "default_contact_timezone":
            found.put("alerting", "timezone", str(value))
        elif not _is_elsewhere(name):
            found.left.append(f"notifier.{name}: {_NO_COUNTERPART}")


def _gateway(found: Translated, name: str, given: dict[Any, Any]) -> None:
    """One that was off is left out."""
    if not given.get("enabled", False):
        return
    translated = _GATEWAYS.get(name)
    if translated is None:
        found.left.append(f"gateways.{name}: {_GATEWAYS_LEFT.get(name, _NO_COUNTERPART)}")
        return
    _queues(found, f"gateways.{name}", given, {"queue": f"{name}_notifications"})
    translated(found, {key: value for key, value in given.items() if not _is_elsewhere(key)})


_GATEWAYS_LEFT = {
    "hipchat": "the service ended; use `slack`, `webhook` or `apprise`",
    "oobetet": "see `[oobetet]` in the settings; it is a process of its own",
}


def _renamed(
    section: str, names: Mapping[str, str], **fixed: Value
) -> Callable[[Translated, dict[Any, Any]], None]:
    """A gateway whose settings only have other names."""

    def translated(found: Translated, given: dict[Any, Any]) -> None:
        for name, value in fixed.items():
            found.put(section, name, value)
        for name, value in given.items():
            if name == "port" and name in names:
                _port(found, section, value)
            elif name in names:
                found.put(section, names[name], _plain(value))
            else:
                found.left.append(f"{section}.{name}: {_NO_COUNTERPART}")

    return translated


def _port(found: Translated, section: str, value: object, place: str = "") -> None:
    """YAML may have it in quotes."""
    if str(value).isdecimal() and 0 < int(str(value)) < 1 << 16:
        found.put(section, "port", int(str(value)))
    else:
        found.left.append(f"{place or section}.port: {value!r} is no port")


def _plain(value: object) -> Value:
    if isinstance(value, bool | int):
        return value
    return [str(one) for one in value] if isinstance(value, list) else str(value)


_SMTP = {
    "host": "host",
    "port": "port",
    "from": "from_address",
    "reply_to": "reply_to",
    "domain": "hello",
}


def _email(found: Translated, given: dict[Any, Any]) -> None:
    smtp, section = _table(given, "smtp_config"), "gateways.email"
    found.tables.setdefault(section, {})
    for name in ("host", "port", "domain", "from", "reply_to"):
        if name == "port" and smtp.get(name):
            _port(found, section, smtp[name], f"{section}.smtp_config")
        elif smtp.get(name):
            found.put(section, _SMTP[name], _plain(smtp[name]))
    if smtp.get("starttls"):
        found.put(section, "tls", "starttls")
    account = _table(smtp, "auth")
    for name, ours in (("username", "user"), ("password", "password")):
        if account.get(name):
            found.put(section, ours, str(account[name]))
    others = [f"smtp_config.{name}" for name in smtp if name not in {*_SMTP, "starttls", "auth"}]
    others += [str(name) for name in given if name not in ("smtp_config", "templates")]
    found.left += [f"{section}.{name}: {_NO_COUNTERPART}" for name in others]
    if "templates" in given:
        found.left.append(f"{section}.templates: write them anew as Jinja templates")


def _web(found: Translated, given: dict[Any, Any]) -> None:
    if given.get("base_url"):
        found.put("web", "url", str(given["base_url"]))
    if given.get("port"):
        found.left.append(f"gateways.web.port: {given['port']}; Watchbell's is web.port, 8180")


def _jsonapi(found: Translated, given: dict[Any, Any]) -> None:
    _port(found, "flapjack_api", given.get("port") or 3081, "gateways.jsonapi")
    found.left.append("gateways.jsonapi: its clients now need an API key, or allow_loopback")


def _slack(found: Translated, given: dict[Any, Any]) -> None:
    found.tables.setdefault("gateways.slack", {})
    if given:
        names = ", ".join(map(str, given))
        found.left.append(f"gateways.slack: {names}; see `slack` in the documentation of media")


def _pagerduty(found: Translated, given: dict[Any, Any]) -> None:
    found.tables.setdefault("gateways.pagerduty", {})
    for name in given:
        found.left.append(f"gateways.pagerduty.{name}: {_NO_COUNTERPART}")


_GATEWAYS: dict[str, Callable[[Translated, dict[Any, Any]], None]] = {
    "email": _email,
    "web": _web,
    "jsonapi": _jsonapi,
    "api": _jsonapi,
    "slack": _slack,
    "pagerduty": _pagerduty,
    "sms": _renamed(
        "gateways.sms", {"username": "username", "password": "password", "endpoint": "url"}
    ),
    "sms_twilio": _renamed(
        "gateways.sms_twilio",
        {"account_sid": "account", "auth_token": "token", "from": "from_number"},
        kind="twilio",
    ),
    "sms_nexmo": _renamed(
        "gateways.sms_nexmo",
        {"api_key": "api_key", "secret": "api_secret", "from": "from_number"},
        kind="vonage",
    ),
    "sns": _renamed(
        "gateways.sns",
        {"access_key": "access_key", "secret_key": "secret_key", "region_name": "region"},
    ),
    "jabber": _renamed(
        "gateways.jabber",
        {
            "server": "host",
            "port": "port",
            "jabberid": "jid",
            "password": "password",
            "alias": "alias",
            "identifiers": "identifiers",
            "rooms": "rooms",
        },
    ),
}
