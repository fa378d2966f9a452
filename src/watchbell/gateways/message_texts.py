"""The texts of alerts: the values that templates get, and the rendered texts of a medium."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.alerting.model import SEVERITY, Alert, RollupEntry, split_id
from watchbell.clock import SYSTEM, Clock
from watchbell.schedule.spoken import in_words

if TYPE_CHECKING:
    from watchbell.gateways.templates import Rendered, Templates, Wrong

HEADLINES = {
    "problem": "Problem",
    "recovery": "Recovery",
    "acknowledgement": "Acknowledgement",
    "test": "Test",
    "rollup_problem": "Problem summary",
    "rollup_recovery": "Problem summaries finishing",
}
KINDS = tuple(HEADLINES)
PARTS = ("subject", "text", "html")
SHAPES = {
    "critical": "■",
    "warning": "▲",
    "unknown": "◆",
    "ok": "●",
    "acknowledgement": "✓",
    "test": "○",
}
"""Shapes of the states, for people who can't tell colours apart."""

_NAME, _LINE, _DETAILS, _SUBJECT = 300, 1_000, 10_000, 250
"""Characters that are shown of a name, of a summary, of details, of a subject."""
_LIMITS = {"short": 159}
_REPORTS = 100
"""Errors of templates that one medium reports until it is restarted."""
# Control characters besides tab and newline, marks that change the direction of text, surrogates,
# and what XML does not allow.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PADDED = re.compile(r"%[^a-zA-Z%]*\d")


def kind_of(alert: Alert) -> str:
    return f"rollup_{alert.rollup}" if alert.rollup else alert.notification_type


def open_texts(
    medium: str,
    style: str,
    folder: str,
    link: Callable[[Alert], str],
    report: Callable[[str], None],
    clock: Clock = SYSTEM,
) -> "Texts":
    """The texts of a medium: by people's templates in `folder`/`medium`, else by ours of `style`.

    An error in a template is reported once. `link` gives the address at which an alert can be
    acknowledged, or nothing.
    """
    from watchbell.gateways.templates import Templates  # noqa: PLC0415  (slow to import)

    if folder and not Path(folder).is_dir():
        report(f"the template folder {folder} does not exist; the built-in texts are sent")
    return Texts(Templates(medium, style, folder, clock), style, link, report)


class Texts:
    """The texts of one medium's alerts."""

    def __init__(
        self,
        templates: "Templates",
        style: str,
        link: Callable[[Alert], str],
        report: Callable[[str], None],
    ) -> None:
        self._templates, self._link, self._report = templates, link, report
        self._longest = _LIMITS.get(style)
        self._reported: set[Wrong] = set()
        for wrong in templates.wrong:
            self._report_once(wrong)

    def __call__(self, part: str, alert: Alert) -> str:
        rendered = self.rendered(part, alert)
        if rendered.wrong is not None:
            self._report_once(rendered.wrong)
        return rendered.text

    def rendered(self, part: str, alert: Alert) -> "Rendered":
        """The text, and where it comes from."""
        rendered = self._templates.render(part, alert, self._link(alert))
        return rendered._replace(text=finished(rendered.text, part, self._longest))

    def _report_once(self, wrong: "Wrong") -> None:
        if wrong not in self._reported and len(self._reported) < _REPORTS:
            self._reported.add(wrong)
            self._report(f"{wrong}; the built-in text is sent instead")


def finished(text: str, part: str, longest: int | None = None) -> str:
    """A rendered text without invisible characters; a subject on one line."""
    if part == "subject":
        return cut(one_line(text, len(text)), _SUBJECT)
    text = text.strip()
    if _UNSEEN.search(text):
        text = _UNSEEN.sub("", _BREAK.sub("\n", text))
    return cut(text, longest) if longest and part == "text" else text


def names(alert: Alert, ack_url: str) -> dict[str, Any]:
    """The values that a template gets, all of them safe to show."""
    entity, check = split_id(alert.event_id)
    kind = kind_of(alert)
    rollup = Rollup(alert.rollup_alerts)
    tone = _tone(alert, rollup)
    return {
        "id": one_line(alert.id),
        "kind": kind,
        "headline": HEADLINES[kind],
        "tone": tone,
        "shape": SHAPES[tone],
        "entity": one_line(entity),
        "check": one_line(check),
        "state": in_title_case(alert.state),
        "summary": one_line(alert.summary, _LINE),
        "details": _details(alert.details),
        "time": alert.time,
        "duration": alert.duration,
        "state_duration": alert.state_duration,
        "last_state": in_title_case(alert.last_state),
        "last_summary": one_line(alert.last_summary, _LINE),
        "event_count": alert.event_count,
        "tags": [one_line(tag) for tag in islice(alert.tags, 100)],
        "media": one_line(alert.media),
        "address": one_line(alert.address),
        "contact_first_name": one_line(alert.contact_first_name),
        "contact_last_name": one_line(alert.contact_last_name),
        "rollup": rollup,
        "rollup_summary": rollup.summary,
        "rollup_threshold": alert.rollup_threshold,
        "ack_id": one_line(alert.event_hash),
        "ack_url": ack_url,
    }


def _tone(alert: Alert, rollup: "Rollup") -> str:
    if alert.rollup:
        return rollup.worst
    return "test" if alert.state == "test_notifications" else alert.state


class RollupRow(Struct, frozen=True):
    """One check of a rollup."""

    entity: str
    check: str
    state: str
    tone: str
    shape: str
    duration: int | None
    summary: str


class Rollup(Sequence[RollupRow]):
    """The checks of a rollup, the latest change first."""

    def __init__(self, entries: dict[str, RollupEntry]) -> None:
        self._entries = sorted(entries.items(), key=lambda item: item[1].duration or 0)
        by_state: dict[str, list[str]] = {}
        for event_id, entry in self._entries:
            by_state.setdefault(entry.state, []).append(event_id)
        self._by_state = dict(
            sorted(by_state.items(), key=lambda item: SEVERITY.get(item[0], 0), reverse=True)
        )

    @overload
    def __getitem__(self, index: int) -> RollupRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[RollupRow]: ...
    def __getitem__(self, index: int | slice) -> RollupRow | list[RollupRow]:
        if isinstance(index, slice):
            return [_row(*item) for item in self._entries[index]]
        return _row(*self._entries[index])

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def worst(self) -> str:
        return next((state for state in self._by_state if state in SEVERITY), "ok")

    @property
    def summary(self) -> str:
        """`Critical: 2, Warning: 1`"""
        counts = self._by_state.items()
        return ", ".join(f"{in_title_case(state)}: {len(ids)}" for state, ids in counts)

    def detail(self, most: int) -> Iterator[str]:
        for state, ids in self._by_state.items():
            shown = [one_line(one) for one in ids[:most]] + ["..."] * (len(ids) > most)
            yield f"{in_title_case(state)}: {', '.join(shown)}"


def _row(event_id: str, entry: RollupEntry) -> RollupRow:
    entity, check = split_id(event_id)
    return RollupRow(
        entity=one_line(entity),
        check=one_line(check),
        state=in_title_case(entry.state),
        tone=entry.state if entry.state in SEVERITY else "unknown",
        shape=SHAPES.get(entry.state, SHAPES["unknown"]),
        duration=entry.duration,
        summary=one_line(entry.summary, _LINE),
    )


def in_title_case(state: str | None) -> str:
    if state == "ok":
        return "OK"
    return one_line(state).replace("_", " ").title()


def one_line(text: str | None, longest: int = _NAME) -> str:
    if not text:
        return ""
    if not text.isprintable():
        # Clean no more than may be shown.
        text = " ".join(_UNSEEN.sub("", _BREAK.sub(" ", text[: 4 * longest])).split())
    text = text.strip()
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _details(text: str | None) -> str:
    if not text:
        return ""
    shown = text[:_DETAILS]
    if not shown.isprintable():
        shown = _UNSEEN.sub("", _BREAK.sub("\n", shown))
    missing = len(text) - _DETAILS
    return shown.strip("\n") + (f"\n[… {missing:,} more characters]" if missing > 0 else "")


def cut(text: str, longest: int) -> str:
    """The text, shortened at a word with dots if it is too long."""
    if len(text) <= longest:
        return text
    head = text[: longest - 2]
    word_begins = max(head.rfind(" "), head.rfind("\n"))
    # A word that fills half of the text is cut in the middle.
    head = head[:word_begins] if word_begins >= longest // 2 else head[:-1]
    return head.rstrip(" \n,;:.") + "..."


@functools.cache
def filters(clock: Clock) -> dict[str, Callable[..., Any]]:
    """Our filters for templates, besides Jinja's own."""

    def ago(time: int | None) -> str:
        return "" if time is None else f"{in_words(max(int(clock.now()) - time, 0))} ago"

    return {"ago": ago, "cut": cut, "detail": _detail, "duration": _duration, "time": _time}


def _detail(rollup: Rollup, most: int) -> str:
    return "; ".join(rollup.detail(most))


def _duration(seconds: int | None) -> str:
    return "" if seconds is None else in_words(seconds)


def _time(time: int | None, zone: str = "UTC", form: str = "%Y-%m-%d %H:%M:%S %Z") -> str:
    if len(form) > 100 or _PADDED.search(form):
        raise ValueError(
            f"{form[:100]!r} is not a time format; expected, for example, '%d %b %H:%M'"
        )
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, ZoneInfo(zone)).strftime(form)
    except (OverflowError, OSError, ValueError) as error:
        if isinstance(error, ValueError) and "year" not in str(error):
            raise
        return f"@{time}"  # beyond the year 9999
