"""The two ways in which archives write an instant: in records, and in indexes and addresses."""

from datetime import UTC, datetime


def record_date(at: float) -> str:
    """`2026-11-16T19:30:51.000250Z`, for WARC-Date."""
    written = datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
    return written.removesuffix("+00:00") + "Z"


def read_record_date(text: str) -> float:
    """Of WARC/1.0 or 1.1, which may leave out the time. Raises ValueError for what is no date."""
    if len(text) in (4, 7, 10):
        whole = datetime.fromisoformat(
            text + "-01-01"[len(text) - 10 :] if len(text) < 10 else text
        )
        return whole.replace(tzinfo=UTC).timestamp()
    if not text.endswith("Z") or text[10:11] != "T":
        raise ValueError(f"{text!r} is no date")
    return datetime.fromisoformat(text).timestamp()


def timestamp(at: float) -> str:
    """Fourteen digits, as in an index."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")


def read_timestamp(digits: str) -> float:
    """Of 4 to 14 digits; what is missing is the earliest. Raises ValueError."""
    if not 4 <= len(digits) <= 14 or not digits.isdecimal():
        raise ValueError(f"{digits!r} is no timestamp")
    whole = digits + "00000101000000"[len(digits) :]
    return datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
