"""What an agent is sent besides the order itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from watchbell.jobs.big_numbers import SUSPECT, bounded
from watchbell.jobs.model import Plugin
from watchbell.jobs.orders import Order

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Parameters(msgspec.Struct):
    plugin: str = ""
    params: dict[str, Any] = {}
    env: dict[str, str] = {}


class _Hidden(msgspec.Struct, frozen=True):
    """Names of what a plugin keeps secret."""

    params: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()


class _Abort(msgspec.Struct):
    reason: str = ""
    retry_ok: bool = False


def record(order: Order) -> dict[str, Any]:
    """The job as its process gets it. A field that other programs spoiled is left out."""
    members = [b'"%s":%s' % (name.encode(), text) for name, text in order.fields.items()]
    whole = b"{%s}" % b",".join(members)
    try:
        if not SUSPECT.search(whole):
            return _decode(whole)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    found = {name: _parsed(text) for name, text in order.fields.items()}
    return {name: value for name, value in found.items() if value is not msgspec.UNSET}


def abort(reason: bytes) -> tuple[str, bool]:
    """The reason to abort, and whether the job may be retried."""
    try:
        found = msgspec.json.decode(reason, type=_Abort)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "the job was aborted", False
    return found.reason or "the job was aborted", found.retry_ok


def secrets(
    records: Sequence[dict[str, Any]], plugins: Mapping[str, bytes]
) -> list[dict[str, str]]:
    """For each job the values that its plugin keeps secret: of parameters, and of its
    environment."""
    hidden = {name: _secret_names(text) for name, text in plugins.items()}
    jobs = map(_parameters, records)
    return [_values(job, hidden.get(job.plugin, _Hidden())) for job in jobs]


def _values(job: _Parameters, hidden: _Hidden) -> dict[str, str]:
    params = {name: _text(value) for name, value in job.params.items() if name in hidden.params}
    env = {name: value for name, value in job.env.items() if name in hidden.env}
    return {name: value for name, value in {**params, **env}.items() if value}


def _text(value: Any) -> str:
    if value in (None, True, False):
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _parameters(job: dict[str, Any]) -> _Parameters:
    try:
        return msgspec.convert(job, _Parameters)
    except msgspec.ValidationError:
        return _Parameters()


def _secret_names(text: bytes) -> _Hidden:
    try:
        plugin = msgspec.json.decode(text, type=Plugin)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Hidden()
    params = frozenset(one.id for one in plugin.params if one.secret)
    return _Hidden(params, frozenset(plugin.env))


def _parsed(text: msgspec.Raw) -> Any:
    try:
        found = msgspec.json.decode(text)
        return bounded(found) if SUSPECT.search(text) else found
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.UNSET
