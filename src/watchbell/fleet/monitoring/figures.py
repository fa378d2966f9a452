"""The values of monitors in words. Pure."""

from watchbell.fleet.model import Monitor
from watchbell.units import in_bytes, in_words


def in_units(monitor: Monitor, value: float | None) -> str:
    """`1.5 GiB/sec`, `12 %`, or `-` where there is none."""
    if value is None:
        return "-"
    match monitor.data_type:
        case "bytes":
            words = in_bytes(int(value))
        case "seconds":
            words = in_words(int(value))
        case "milliseconds":
            words = f"{int(value):,} ms"
        case "integer":
            words = f"{int(value):,}"
        case _:
            words = f"{value:,.2f}"
    gap = "" if monitor.suffix[:1] in ("", "/") else " "
    return words + gap + monitor.suffix
