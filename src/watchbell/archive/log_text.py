"""A log entry as a line of text, for people and for the log in the archive. Pure."""

from datetime import UTC, datetime

from watchbell.archive.model import LogEntry


def line_of(entry: LogEntry) -> bytes:
    at = datetime.fromtimestamp(entry.ts, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z {words_of(entry)}\n".encode(
        errors="replace"
    )


def words_of(entry: LogEntry) -> str:
    match entry.type:
        case "download":
            code = entry.response_code or "---"
            problem = "" if entry.wget_code in ("", "OK") else f" ({entry.wget_code})"
            return f"{code} {entry.url}{problem}"
        case "ignore":
            return f"ignored {entry.url} by {entry.pattern}"
        case "stdout":
            return entry.message
